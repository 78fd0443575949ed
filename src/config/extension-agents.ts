import type { MapEntry, Located } from "./document/document.ts";
import { withEntries } from "./document/located.ts";

/** Adds agents from a team's extensions to those of the team file, which are checked alike. */

/** Offset of everything in `extensions.ts`, which has no position in the team file. */
export const extensionOffset = -1;

const everyOffset = extensionOffset;

/** Converts a value to a located value as if a team file held it; returns null if a team file cannot hold it. */
const locateValue = (value: unknown): Located | null => {
  if (value === null || ["string", "number", "boolean"].includes(typeof value))
    return { kind: "scalar", value: value as string | number | boolean | null, at: everyOffset };
  if (typeof value !== "object") return null;
  if (Array.isArray(value)) {
    const items = value.map(locateValue).filter((item) => item !== null);
    return items.length < value.length ? null : { kind: "list", items, at: everyOffset };
  }
  const pairs = Object.entries(value).filter(([, each]) => each !== undefined);
  const entries = new Map<string, MapEntry>();
  for (const [key, each] of pairs) {
    const node = locateValue(each);
    if (node === null) return null;
    entries.set(key, { keyAt: everyOffset, node });
  }
  return { kind: "map", entries, at: everyOffset };
};

/** Reads the agents of an export; invalid ones are reported to `problem`. */
export const readAgents = (
  value: readonly unknown[],
  problem: (path: string, message: string) => void,
): Located[] =>
  value.flatMap((agent, index) => {
    const node = locateValue(agent);
    if (node?.kind === "map") return [node];
    problem(`agents[${index}]`, "an agent is an object with the keys of a team file, as plain values");
    return [];
  });

/** Appends the agents of the extensions to those of a team's body. */
export const withAgents = (body: Located, agents: readonly Located[]): Located => {
  if (agents.length === 0 || body.kind !== "map") return body;
  const own = body.entries.get("agents");
  if (own !== undefined && own.node.kind !== "list") return body;
  const items = [...(own?.node.kind === "list" ? own.node.items : []), ...agents];
  const node: Located = { kind: "list", items, at: own?.node.at ?? everyOffset };
  return withEntries(body, new Map([["agents", { keyAt: own?.keyAt ?? everyOffset, node }]]));
};
