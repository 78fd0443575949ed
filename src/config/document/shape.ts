import type * as z from "zod";
import { findMeantBranch } from "../../schema.ts";
import type { Path } from "./diagnostics.ts";
import type { Located } from "./document.ts";
import type { ShapeIssue } from "./issues.ts";
import { shapeIssues } from "./issues.ts";
import { nodeAt, plainValueOf } from "./located.ts";
import type { RemovedEntries } from "./removed-entries.ts";
import { removeEntries, writtenPath } from "./removed-entries.ts";

interface ShapeOptions {
  /** Schema of the whole document, whose keys are suggested; the team file's if absent. */
  readonly whole?: z.ZodType;
  /** Entries removed from lists; the result's paths need them (`writtenPath`). */
  readonly removed?: RemovedEntries;
}

/**
 * Checks a value against its schema and reports every mistake; wrong keys and entries then count as absent, so that
 * the checks across sections still see the rest. Returns null if nothing usable remains.
 */
export const parseLeniently = <Schema extends z.ZodType>(
  schema: Schema,
  root: Located,
  path: Path,
  report: (issue: ShapeIssue) => void,
  { whole, removed = new Map() }: ShapeOptions = {},
): z.output<Schema> | null => {
  const node = nodeAt(root, path);
  const raw = node === undefined ? undefined : plainValueOf(node);
  /** Returns whether an issue is new, and not a consequence of a wrong key or entry that was removed. */
  const isNew = ({ code, path: inner }: z.core.$ZodIssue): boolean => {
    const written = nodeAt(root, writtenPath(removed, [...path, ...(inner as Path)]));
    const value = valueAt(raw, inner as Path);
    return code === "custom" && (value === undefined ? written === undefined : isWhole(value, written));
  };
  for (let round = 0; round < 20; round++) {
    const result = schema.safeParse(raw);
    if (result.success) return result.data;
    const { issues } = result.error;
    const reported = round === 0 ? issues : issues.filter(isNew);
    shapeIssues(reported, path, root, whole).forEach((issue) =>
      report({ ...issue, path: writtenPath(removed, issue.path) }),
    );
    const targets = issues.flatMap((issue) => targetsOf(raw, issue));
    if (targets.includes(null)) return null;
    removeTargets(
      raw,
      path,
      targets.filter((target) => target !== null),
      removed,
    );
  }
  return null;
};

const valueBelow = (value: unknown, part: string | number): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string | number, unknown>)[part] : undefined;

const valueAt = (raw: unknown, path: Path): unknown => path.reduce<unknown>(valueBelow, raw);

/** Returns whether no key of a map was removed. */
const isWhole = (value: unknown, written: Located | undefined): boolean =>
  written?.kind !== "map" || [...written.entries.keys()].every((key) => valueBelow(value, key) !== undefined);

/** Returns the paths of the keys and entries to remove for an issue; null stands for the whole value. */
const targetsOf = (raw: unknown, issue: z.core.$ZodIssue): (Path | null)[] => {
  const path = issue.path as Path;
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => [...path, key]);
  const branch = issue.code === "invalid_union" ? findMeantBranch(issue) : undefined;
  if (branch === undefined) return [findNearestPath(raw, path)];
  return branch.flatMap((inner) => targetsOf(raw, { ...inner, path: [...issue.path, ...inner.path] }));
};

/** Finds the value at `path`, or the nearest enclosing value that is in a map or a list. */
const findNearestPath = (raw: unknown, path: Path): Path | null => {
  for (let length = path.length; length > 0; length--) {
    const holder = valueAt(raw, path.slice(0, length - 1));
    const key = path[length - 1];
    if (typeof holder === "object" && holder !== null && key !== undefined && Object.hasOwn(holder, key)) {
      return path.slice(0, length);
    }
  }
  return null;
};

const removeTargets = (raw: unknown, base: Path, targets: readonly Path[], removed: RemovedEntries): void => {
  const lists = new Map<unknown[], { readonly path: Path; readonly places: Set<number> }>();
  for (const target of targets) {
    const path = target.slice(0, -1);
    const holder = valueAt(raw, path);
    const key = target.at(-1);
    if (key === undefined || typeof holder !== "object" || holder === null) continue;
    if (!Array.isArray(holder)) Reflect.deleteProperty(holder, key);
    else {
      const found = lists.get(holder) ?? { path: [...base, ...path], places: new Set() };
      lists.set(holder, found);
      found.places.add(Number(key));
    }
  }
  const inner = [...lists].toSorted(([, a], [, b]) => b.path.length - a.path.length);
  for (const [list, { path, places }] of inner) removeEntries(removed, list, path, places);
};
