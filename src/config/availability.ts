import type { Path } from "./document/diagnostics.ts";
import type { Located } from "./document/document.ts";
import { nodeAt, itemsOf, plainValueOf, scalarTextOf } from "./document/located.ts";

/**
 * Lists parts of the team file that this release checks but cannot run. Each use that an author wrote is one
 * `not_available` diagnostic; a use that only a default implies is not reported. A part that is implemented loses
 * its lines here.
 */

interface UnavailablePart {
  /** Path of the part: `*` is any entry. */
  readonly path: string;
  /** Returns whether a value found there uses the part; by default any value does. */
  readonly used?: (value: unknown) => boolean;
  /** End of the sentence "this release cannot …". */
  readonly cannot: string;
  /** What to do instead; by default "remove <path>". */
  readonly instead?: string;
}

const isOtherThan =
  (...off: readonly unknown[]) =>
  (value: unknown): boolean =>
    !off.includes(value);
const isFilled = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0
    : typeof value === "object" && value !== null && Object.keys(value).length > 0;

/** All unavailable parts. */
export const unavailableParts: readonly UnavailablePart[] = [
  { path: "webhooks.*", cannot: "deliver webhooks", instead: "remove this webhook" },
  { path: "schedules.*", cannot: "run schedules", instead: "remove this schedule" },
  {
    path: "browser.endpoint",
    cannot: "use a browser elsewhere",
    instead: "remove endpoint and bind BROWSER in wrangler.toml",
  },
  { path: "sandbox.idle", cannot: "put a sandbox away; a resting one holds nothing" },
  { path: "sandbox.egress", used: isFilled, cannot: "let commands reach the network" },
  { path: "sandbox.allow_open_egress", used: isOtherThan(false), cannot: "let commands reach the network" },
  { path: "sandbox.credentials", used: isFilled, cannot: "let commands reach the network" },
  { path: "retention.event_days", used: isOtherThan("off"), cannot: "delete old events" },
  { path: "observability.content", used: isOtherThan("none"), cannot: "log texts; a middleware logger can" },
  { path: "observability.metrics", used: isOtherThan(false), cannot: "write metrics" },
];

export interface UnavailableUse {
  readonly path: Path;
  readonly which: "key" | "value";
  readonly message: string;
  readonly hint: string;
}

const expandPath = (root: Located, pattern: readonly string[], path: Path = []): Path[] => {
  const [head, ...rest] = pattern;
  if (head === undefined) return [path];
  const node = nodeAt(root, path);
  if (node === undefined) return [];
  if (head !== "*") return nodeAt(node, [head]) === undefined ? [] : expandPath(root, rest, [...path, head]);
  return itemsOf(node).flatMap((_, index) => expandPath(root, rest, [...path, index]));
};

/** Finds every use of an unavailable part in a team's own text, before defaults are filled in. */
export const findUnavailable = (root: Located): UnavailableUse[] =>
  unavailableParts.flatMap(({ path: pattern, used, cannot, instead }) =>
    expandPath(root, pattern.split("."))
      .filter((path) => {
        const node = nodeAt(root, path);
        return node !== undefined && (used?.(plainValueOf(node)) ?? true);
      })
      .map((path) => {
        const last = path.at(-1);
        const key = typeof last === "number" ? null : last;
        const what = key === null ? `"${scalarTextOf(nodeAt(root, path)) ?? "this entry"}"` : String(key);
        return {
          path,
          which: key === null ? ("value" as const) : ("key" as const),
          message: `this release cannot ${cannot}`,
          hint: instead ?? `remove ${what}`,
        };
      }),
  );
