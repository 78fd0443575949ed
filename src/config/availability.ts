import type { Path } from "./document/diagnostics.ts";
import type { Located } from "./document/document.ts";
import { nodeAt, itemsOf, plainValueOf, scalarTextOf } from "./document/located.ts";

/**
 * Parts of the team file that this release checks but cannot run. Each use that an author wrote is one `not_available`
 * diagnostic; a use that only a default implies is not reported. Implementing a part means deleting its lines here.
 */

interface UnavailablePart {
  /** The path where it is written: `*` is any entry; `agent` is both `agents.*` and `defaults`. */
  readonly path: string;
  /** Whether a value found there uses the part; by default any value does. */
  readonly used?: (value: unknown) => boolean;
  /** The end of the sentence "this release cannot …". */
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

const unbuiltToolboxes: Readonly<Record<string, string>> = {
  git: "offer the git toolbox",
  http: "offer the http toolbox",
  browser: "offer the browser toolbox",
};

const unavailableToolboxes: readonly UnavailablePart[] = Object.entries(unbuiltToolboxes).flatMap(
  ([name, cannot]) => [
    { path: "agent.toolboxes.*", used: (value) => value === name, cannot },
    { path: "agent.toolboxes.*.name", used: (value) => value === name, cannot },
  ],
);

const unbuiltProviders: readonly string[] = ["workers-ai"];

const unavailableOptions: readonly UnavailablePart[] = [
  { path: "no_progress_turns", used: isOtherThan(0), cannot: "end a run without progress" },
  { path: "checkpoints", used: isFilled, cannot: "give notes at checkpoints" },
  { path: "reflect_on_error", used: isOtherThan(false), cannot: "ask for a reflection after failed calls" },
  { path: "verify_after_edit", used: isOtherThan(false), cannot: "verify edits" },
  { path: "verify_command", used: isOtherThan(""), cannot: "verify edits" },
  { path: "verify_broad_command", used: isOtherThan(""), cannot: "verify edits" },
  { path: "max_verify_retries", cannot: "verify edits" },
  { path: "verify_on_breach", used: isOtherThan(false), cannot: "verify edits" },
  { path: "plan_before_execute", used: isOtherThan(false), cannot: "plan before it executes" },
  { path: "localize", used: isOtherThan(false), cannot: "look for the files that an input is about" },
].map((entry) => ({ ...entry, path: `agent.options.${entry.path}` }));

const unavailableForAgents: readonly UnavailablePart[] = [
  {
    path: "agent.permissions.after_untrusted",
    used: isOtherThan("off"),
    cannot: "offer the tools that this is for",
  },
];

const unavailableForTeam: readonly UnavailablePart[] = [
  {
    path: "providers.*.kind",
    used: (value) => unbuiltProviders.includes(String(value)),
    cannot: "speak to Workers AI",
    instead: "use openai-compatible with the address of its gateway",
  },
  { path: "providers.*.binding", cannot: "speak to Workers AI" },
  { path: "mcp_servers.*", cannot: "use MCP servers", instead: "remove this server" },
  { path: "webhooks.*", cannot: "deliver webhooks", instead: "remove this webhook" },
  { path: "schedules.*", cannot: "run schedules", instead: "remove this schedule" },
  { path: "git", used: isFilled, cannot: "offer the git toolbox" },
  { path: "http", used: isFilled, cannot: "offer the http toolbox" },
  { path: "browser.endpoint", cannot: "offer the browser toolbox" },
  { path: "browser.search_url", cannot: "offer the browser toolbox" },
  { path: "egress.allow", used: isFilled, cannot: "offer the tools that this list is for" },
  {
    path: "permissions.after_untrusted",
    used: isOtherThan("off"),
    cannot: "offer the tools that this is for",
  },
  { path: "sandbox.idle", cannot: "put a sandbox away; a resting one holds nothing" },
  { path: "sandbox.egress", used: isFilled, cannot: "let commands reach the network" },
  { path: "sandbox.allow_open_egress", used: isOtherThan(false), cannot: "let commands reach the network" },
  { path: "sandbox.credentials", used: isFilled, cannot: "let commands reach the network" },
  { path: "sessions.revision", used: isOtherThan("pin"), cannot: "move sessions to a new revision" },
  { path: "retention.event_days", used: isOtherThan("off"), cannot: "delete old events" },
  { path: "observability.content", used: isOtherThan("none"), cannot: "log texts; a middleware logger can" },
  { path: "observability.metrics", used: isOtherThan(false), cannot: "write metrics" },
  { path: "debug.raw", used: isOtherThan("off"), cannot: "show providers' raw frames" },
];

/** All unavailable parts. */
export const unavailableParts: readonly UnavailablePart[] = [
  ...unavailableForTeam,
  ...unavailableForAgents,
  ...unavailableToolboxes,
  ...unavailableOptions,
];

/** Kinds and toolboxes that cannot be used yet, for `limpet explain --kinds`. */
export const unavailableNames: ReadonlySet<string> = new Set([
  ...Object.keys(unbuiltToolboxes),
  ...unbuiltProviders,
]);

/** The export lists of `extensions.ts` that this release accepts. */
export const availableExtensions: readonly string[] = [
  "toolboxes",
  "providers",
  "effects",
  "guards",
  "checks",
  "agents",
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

/** The paths in a team file that the path of an unavailable part stands for. */
export const teamPathsOf = (path: string): readonly string[] =>
  path.startsWith("agent.")
    ? [path.replace("agent.", "agents.*."), path.replace("agent.", "defaults.")]
    : [path];

/** Finds every use of an unavailable part in a team's own text, before defaults are filled in. */
export const findUnavailable = (root: Located): UnavailableUse[] =>
  unavailableParts.flatMap(({ path: pattern, used, cannot, instead }) =>
    teamPathsOf(pattern)
      .flatMap((one) => expandPath(root, one.split(".")))
      .filter((path) => {
        const node = nodeAt(root, path);
        return node !== undefined && (used?.(plainValueOf(node)) ?? true);
      })
      .map((path) => {
        const last = path.at(-1);
        const key = last === "name" || last === "kind" || typeof last === "number" ? null : last;
        const what = key === null ? `"${scalarTextOf(nodeAt(root, path)) ?? "this entry"}"` : String(key);
        return {
          path,
          which: key === null ? ("value" as const) : ("key" as const),
          message: `this release cannot ${cannot}`,
          hint: instead ?? `remove ${what}`,
        };
      }),
  );
