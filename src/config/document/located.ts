import type { Path } from "./diagnostics.ts";
import type { MapEntry, Located } from "./document.ts";

/** Walks located values: to plain values, to positions, and over all of them. */

export const mapEntryOf = (node: Located | undefined, key: string): MapEntry | undefined =>
  node?.kind === "map" ? node.entries.get(key) : undefined;

/** Returns the child node at a key or index. */
export const childOf = (node: Located | undefined, part: string | number): Located | undefined =>
  typeof part === "number"
    ? node?.kind === "list"
      ? node.items[part]
      : undefined
    : mapEntryOf(node, part)?.node;

export const nodeAt = (node: Located | undefined, path: Path): Located | undefined =>
  path.reduce<Located | undefined>((current, part) => childOf(current, part), node);

export const itemsOf = (node: Located | undefined): readonly Located[] =>
  node?.kind === "list" ? node.items : [];

export const scalarTextOf = (node: Located | undefined): string | undefined =>
  node?.kind === "scalar" && typeof node.value === "string" ? node.value : undefined;

/** Converts to a plain value; maps have no prototype. */
export const plainValueOf = (node: Located): unknown => {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(plainValueOf);
  const map = Object.create(null) as Record<string, unknown>;
  for (const [key, entry] of node.entries) map[key] = plainValueOf(entry.node);
  return map;
};

/** Returns the offset where a missing key is reported: that of a map's first key, or of the value itself. */
const firstKey = (node: Located): number => {
  if (node.kind !== "map") return node.at;
  for (const entry of node.entries.values()) return entry.keyAt;
  return node.at;
};

/** Where `path` was written: its key, its value, or for a missing part the first key of the nearest parent. */
export const offsetOf = (root: Located, path: Path, which: "key" | "value" | "missing"): number => {
  let node = root;
  let keyAt: number | undefined;
  for (const part of path) {
    const next = childOf(node, part);
    if (next === undefined) return firstKey(node);
    keyAt = typeof part === "string" ? mapEntryOf(node, part)?.keyAt : undefined;
    node = next;
  }
  if (which === "missing") return firstKey(node);
  return which === "key" ? (keyAt ?? node.at) : node.at;
};

/** Calls `visit` for every scalar text with its path. */
export const visitTexts = (
  node: Located,
  visit: (path: Path, text: string) => void,
  path: Path = [],
): void => {
  if (node.kind === "scalar") {
    if (typeof node.value === "string") visit(path, node.value);
  } else if (node.kind === "list") {
    node.items.forEach((item, index) => visitTexts(item, visit, [...path, index]));
  } else {
    for (const [key, entry] of node.entries) visitTexts(entry.node, visit, [...path, key]);
  }
};

/** Copies a map with these entries replacing those of the same keys. */
export const withEntries = (node: Located, changes: ReadonlyMap<string, MapEntry>): Located =>
  node.kind === "map" ? { ...node, entries: new Map([...node.entries, ...changes]) } : node;

/** Copies a map with only the keys that `isKept` accepts. */
export const filterKeys = (node: Located, isKept: (key: string) => boolean): Located =>
  node.kind === "map"
    ? { ...node, entries: new Map([...node.entries].filter(([key]) => isKept(key))) }
    : node;
