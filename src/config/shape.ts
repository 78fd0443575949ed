import type * as z from "zod";
import type { Path } from "./diagnostics.ts";
import type { Located } from "./document.ts";
import { shapeIssues } from "./issues.ts";
import type { ShapeIssue } from "./issues.ts";
import { at, plain } from "./located.ts";
import type { TeamSchemas } from "./schema.ts";

/**
 * Checks a value against its schema and reports every mistake; wrong parts then count as absent, so that the checks
 * across sections still see the rest. Null if nothing usable remains.
 */
export const parseLeniently = <Schema extends z.ZodType>(
  schema: Schema,
  root: Located,
  path: Path,
  report: (issue: ShapeIssue) => void,
  schemas?: TeamSchemas,
): z.output<Schema> | null => {
  const node = at(root, path);
  const raw = node === undefined ? undefined : plain(node);
  for (let round = 0; round < 20; round++) {
    const result = schema.safeParse(raw);
    if (result.success) return result.data;
    const { issues } = result.error;
    const reported = round === 0 ? issues : issues.filter(({ code }) => code === "custom");
    shapeIssues(reported, path, root, schemas).forEach(report);
    const targets = issues.flatMap((issue) => targetsOf(raw, issue));
    if (targets.includes(null)) return null;
    for (const target of targets) if (target !== null) Reflect.deleteProperty(target.map, target.key);
  }
  return null;
};

interface Target {
  readonly map: object;
  readonly key: string;
}

const step = (value: unknown, part: string | number): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string | number, unknown>)[part] : undefined;

/** The keys to remove for an issue; null stands for the whole value. */
const targetsOf = (raw: unknown, issue: z.core.$ZodIssue): (Target | null)[] => {
  const path = issue.path as Path;
  const map = path.reduce<unknown>(step, raw);
  if (issue.code === "unrecognized_keys" && typeof map === "object" && map !== null) {
    return issue.keys.map((key) => ({ map, key }));
  }
  return [nearest(raw, path)];
};

/** The value at `path`, or the nearest value around it that is the value of a key. */
const nearest = (raw: unknown, path: Path): Target | null => {
  for (let length = path.length; length > 0; length--) {
    const key = path[length - 1];
    const map = path.slice(0, length - 1).reduce<unknown>(step, raw);
    if (typeof key === "string" && typeof map === "object" && map !== null && Object.hasOwn(map, key)) {
      return { map, key };
    }
  }
  return null;
};
