import { guardKeys } from "../sections/agents.ts";
import type { Path } from "./diagnostics.ts";
import type { MapEntry, Located } from "./document.ts";
import { childOf, mapEntryOf, filterKeys, withEntries } from "./located.ts";

/** Converts alternative spellings and shared keys of a team file to the form that the schema describes. */

interface UnwrappedTeam {
  /** Whole file without its `x-` keys. */
  readonly file: Located;
  readonly body: Located;
  /** Path of the body in the file: `["config"]` inside the wrapper `config:`. */
  readonly prefix: Path;
}

const dropHidden = (node: Located): Located => filterKeys(node, (key) => !key.startsWith("x-"));

/** Finds the body in `template / config / embedded_skills`, and drops `x-` keys. */
export const unwrapTeam = (root: Located): UnwrappedTeam => {
  const file = dropHidden(root);
  const config = mapEntryOf(file, "config")?.node;
  const wrapped = config?.kind === "map" && mapEntryOf(file, "providers") === undefined;
  if (!wrapped) return { file, body: file, prefix: [] };
  return { file, body: dropHidden(config), prefix: ["config"] };
};

const toSnakeCase = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type ReportTwice = (path: Path, offset: number) => void;

/** Renames keys like `historySize` to `history_size`; two spellings of one key are reported through `twice`. */
const toSnakeKeys = (node: Located, path: Path, twice: ReportTwice): Located => {
  if (node.kind !== "map") return node;
  const entries = new Map<string, MapEntry>();
  for (const [key, entry] of node.entries) {
    const name = /^[a-z]+([A-Z][a-z]*)+$/.test(key) ? toSnakeCase(key) : key;
    if (entries.has(name)) twice([...path, name], entry.keyAt);
    else entries.set(name, entry);
  }
  return { ...node, entries };
};

const mapEntry = (node: Located, key: string, change: (node: Located) => Located): Located => {
  const entry = mapEntryOf(node, key);
  return entry === undefined
    ? node
    : withEntries(node, new Map([[key, { ...entry, node: change(entry.node) }]]));
};

const mapItems = (node: Located, change: (item: Located, index: number) => Located): Located =>
  node.kind === "list" ? { ...node, items: node.items.map(change) } : node;

/** Renames the camel-case spellings of guard keys. */
export const normaliseGuards = (body: Located, twice: ReportTwice): Located => {
  const guards = (agent: Located, path: Path): Located =>
    mapEntry(agent, "guards", (node) => {
      const base = [...path, "guards"];
      return guardKeys.reduce(
        (all, key) => mapEntry(all, key, (own) => toSnakeKeys(own, [...base, key], twice)),
        toSnakeKeys(node, base, twice),
      );
    });
  const listed = mapEntry(body, "agents", (agents) =>
    mapItems(agents, (agent, index) => guards(agent, ["agents", index])),
  );
  return mapEntry(listed, "defaults", (defaults) => guards(defaults, ["defaults"]));
};

const mergedKeys: Readonly<Record<string, number>> = { options: 1, delegation: 1, reasoning: 1, guards: 2 };

const mergeDefaults = (own: Located, base: Located, depth: number): Located => {
  if (depth === 0 || own.kind !== "map" || base.kind !== "map") return own;
  const entries = new Map(base.entries);
  for (const [key, entry] of own.entries) {
    const below = base.entries.get(key)?.node;
    entries.set(
      key,
      below === undefined ? entry : { ...entry, node: mergeDefaults(entry.node, below, depth - 1) },
    );
  }
  return { ...own, entries };
};

/** Two ways to set a model's effort of thinking: an agent that writes one of them inherits neither from `defaults`. */
const effortKeys: readonly string[] = ["effort", "budget_tokens"];

const baseFor = (key: string, own: Located, base: Located): Located =>
  key === "reasoning" && effortKeys.some((each) => mapEntryOf(own, each) !== undefined)
    ? filterKeys(base, (each) => !effortKeys.includes(each))
    : base;

const withDefaults = (agent: Located, defaults: Located): Located => {
  if (agent.kind !== "map" || defaults.kind !== "map") return agent;
  const entries = new Map(agent.entries);
  for (const [key, entry] of defaults.entries) {
    const own = agent.entries.get(key);
    if (own === undefined) entries.set(key, entry);
    else {
      const base = baseFor(key, own.node, entry.node);
      entries.set(key, { ...own, node: mergeDefaults(own.node, base, mergedKeys[key] ?? 0) });
    }
  }
  return { ...agent, entries };
};

/** Gives every agent the keys of `defaults` that it does not set. */
export const applyDefaults = (body: Located): Located => {
  const defaults = childOf(body, "defaults");
  return defaults === undefined
    ? body
    : mapEntry(body, "agents", (agents) => mapItems(agents, (agent) => withDefaults(agent, defaults)));
};
