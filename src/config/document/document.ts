import type { Alias, CST, Document, Node, Scalar, YAMLMap, YAMLSeq } from "yaml";
import { Composer, isAlias, isMap, isScalar, isSeq, Parser } from "yaml";
import type { ErrorCode, Place } from "./diagnostics.ts";
import { placer } from "./place.ts";
import type { Finding } from "./safety.ts";
import { decodeText, findUnsafe, maximumBytes, maximumDepth, maximumNodes } from "./safety.ts";

/** One YAML file as plain values that know where they were written. */

/** A value and the offset at which it was written. Maps keep the offsets of their keys too. */
export type Located = {
  readonly at: number;
} & (
  | { readonly kind: "scalar"; readonly value: string | number | boolean | null }
  | { readonly kind: "list"; readonly items: readonly Located[] }
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, Entry> }
);

export interface Entry {
  readonly keyAt: number;
  readonly node: Located;
}

export interface ReadDocument {
  /** Null if nothing of the file can be used. */
  readonly root: Located | null;
  readonly findings: readonly Finding[];
  /** Line and column of an offset. */
  readonly place: (offset: number) => Place;
}

const maximumAliases = 100;

const reservedKeys = new Set(["__proto__", "constructor", "prototype"]);

const coreTags = new Set(
  ["str", "int", "float", "bool", "null", "map", "seq"].map((name) => `tag:yaml.org,2002:${name}`),
);

/** Thrown inside the walk to leave it; never leaves this file. */
class Refused extends Error {
  readonly finding: Finding;
  constructor(finding: Finding) {
    super(finding.message);
    this.finding = finding;
  }
}

interface Walk {
  readonly place: (offset: number) => Place;
  readonly findings: Finding[];
  /** The value of an anchor and how many nodes it has, aliases counted as often as they are used. */
  readonly anchors: Map<string, { readonly located: Located; readonly size: number } | "open">;
  aliases: number;
  nodes: number;
}

const offsetOf = (node: Node | null): number => node?.range?.[0] ?? 0;

/** Notes what is wrong at a node; what else is read then stands for it. */
const note = (walk: Walk, node: Node | null, code: ErrorCode, message: string): void => {
  walk.findings.push({ code, offset: offsetOf(node), message });
};

const refuse = (node: Node | null, code: ErrorCode, message: string): never => {
  throw new Refused({ code, offset: offsetOf(node), message });
};

const count = (walk: Walk, node: Node | null, nodes: number): void => {
  walk.nodes += nodes;
  if (walk.nodes > maximumNodes) {
    refuse(node, "yaml_nodes", `the file has more than ${maximumNodes} values, aliases counted as used`);
  }
};

const readAlias = (walk: Walk, alias: Alias): Located => {
  walk.aliases += 1;
  if (walk.aliases > maximumAliases) {
    refuse(alias, "yaml_alias", `more than ${maximumAliases} aliases`);
  }
  const target = walk.anchors.get(alias.source);
  if (target === undefined) {
    return refuse(alias, "yaml_alias", `the anchor &${alias.source} is not defined before this place`);
  }
  if (target === "open") return refuse(alias, "yaml_cycle", `&${alias.source} contains itself`);
  count(walk, alias, target.size);
  return target.located;
};

const readNumber = (walk: Walk, node: Scalar, value: number): number => {
  if (!Number.isFinite(value)) {
    note(walk, node, "invalid_value", "infinite and undefined numbers are not allowed");
    return 0;
  }
  const whole = /^[-+]?(\d+|0x[\da-fA-F]+|0o[0-7]+)$/.test(node.source ?? "");
  if (whole && !Number.isSafeInteger(value)) {
    const message =
      "whole numbers beyond 9007199254740991 are not exact; write a smaller one or a text in quotes";
    note(walk, node, "out_of_range", message);
    return 0;
  }
  return value;
};

const readScalar = (walk: Walk, node: Scalar): Located => {
  const at = offsetOf(node);
  const { value } = node;
  if (typeof value === "number") return { kind: "scalar", at, value: readNumber(walk, node, value) };
  if (typeof value === "string" || typeof value === "boolean" || value === null) {
    return { kind: "scalar", at, value };
  }
  return { kind: "scalar", at, value: typeof value === "symbol" ? "<<" : null };
};

/** The key as a text; null, with a finding, if it cannot be one. */
const readKey = (walk: Walk, key: unknown): string | null => {
  if (isScalar(key) && typeof key.value === "string") {
    count(walk, key, 1);
    if (!reservedKeys.has(key.value)) return key.value;
    note(walk, key, "reserved_key", `"${key.value}" cannot be used as a key`);
    return null;
  }
  note(walk, key as Node | null, "wrong_type", "a key must be a text; write it in quotes");
  return null;
};

const isMergeKey = (key: unknown): boolean =>
  isScalar(key) && (typeof key.value === "symbol" || (key.value === "<<" && key.type === "PLAIN"));

const mergeFrom = (walk: Walk, target: Map<string, Entry>, source: Located, node: Node | null): void => {
  const sources = source.kind === "list" ? source.items : [source];
  for (const one of sources) {
    if (one.kind !== "map") {
      note(walk, node, "wrong_type", "<< takes a map, or a list of maps");
      return;
    }
    for (const [key, entry] of one.entries) {
      if (!target.has(key)) target.set(key, entry);
    }
  }
};

const readMap = (walk: Walk, map: YAMLMap, depth: number): Located => {
  const own = new Map<string, Entry>();
  const merges: { source: Located; node: Node | null }[] = [];
  for (const pair of map.items) {
    const value = pair.value as Node | null;
    if (isMergeKey(pair.key)) {
      merges.push({ source: read(walk, value, pair.key as Node, depth + 1), node: value });
      continue;
    }
    const key = readKey(walk, pair.key);
    const node = read(walk, value, pair.key as Node, depth + 1);
    if (key === null) continue;
    const keyAt = offsetOf(pair.key as Node);
    const first = own.get(key);
    if (first === undefined) own.set(key, { keyAt, node });
    else {
      const message = `"${key}" stands here twice, first in line ${walk.place(first.keyAt).line} and again in line ${walk.place(keyAt).line}`;
      note(walk, pair.key as Node, "duplicate_key", message);
    }
  }
  for (const { source, node } of merges) mergeFrom(walk, own, source, node);
  return { kind: "map", at: offsetOf(map), entries: own };
};

const readSeq = (walk: Walk, seq: YAMLSeq, depth: number): Located => {
  const items = seq.items.map((item) => read(walk, item as Node | null, seq, depth + 1));
  return { kind: "list", at: offsetOf(seq), items };
};

/** Reads one node; an absent one (`key:` with nothing behind) is null and stands where its key stands. */
const read = (walk: Walk, node: Node | null, parent: Node | null, depth: number): Located => {
  if (depth > maximumDepth) {
    refuse(node ?? parent, "yaml_depth", `collections are nested deeper than ${maximumDepth} levels`);
  }
  if (node === null || node === undefined) {
    count(walk, parent, 1);
    return { kind: "scalar", at: offsetOf(parent), value: null };
  }
  if (isAlias(node)) return readAlias(walk, node);
  const before = walk.nodes;
  count(walk, node, 1);
  if (node.tag !== undefined && !coreTags.has(node.tag)) {
    refuse(node, "yaml_tag", noTag);
  }
  const anchor = (node as Scalar).anchor;
  if (anchor !== undefined) walk.anchors.set(anchor, "open");
  const located = isMap(node)
    ? readMap(walk, node, depth)
    : isSeq(node)
      ? readSeq(walk, node, depth)
      : readScalar(walk, node);
  if (anchor !== undefined) walk.anchors.set(anchor, { located, size: walk.nodes - before });
  return located;
};

const yamlCodes: Readonly<Record<string, ErrorCode>> = {
  TAG_RESOLVE_FAILED: "yaml_tag",
  BAD_ALIAS: "yaml_alias",
  BAD_DIRECTIVE: "yaml_directive",
  BAD_PROP_ORDER: "yaml_syntax",
};

const oneDocument = "a file holds one document; remove this separator and what follows";

const noTag = "this tag is not allowed; write the plain value";

/** What is wrong with the first document, or that there is another. */
const problemOf = (document: Document.Parsed, another: Document.Parsed | undefined): Finding | null => {
  const [error] = document.errors;
  if (error === undefined && another !== undefined)
    return { code: "yaml_documents", offset: another.range[0], message: oneDocument };
  const problem = error ?? document.warnings[0];
  if (problem === undefined) return null;
  const code = yamlCodes[problem.code] ?? "yaml_syntax";
  return { code, offset: problem.pos[0], message: code === "yaml_tag" ? noTag : problem.message };
};

function* cstOf(lexemes: readonly string[]): Generator<CST.Token> {
  const parser = new Parser();
  for (const lexeme of lexemes) yield* parser.next(lexeme);
  yield* parser.end();
}

const composed = { version: "1.2", schema: "core", merge: true, uniqueKeys: false, strict: true } as const;

/** The documents of a file, the first two at most. */
const parse = (text: string, lexemes: readonly string[]): readonly Document.Parsed[] => {
  try {
    const [first, second] = new Composer(composed).compose(cstOf(lexemes), true, text.length);
    return [first, second].filter((each) => each !== undefined);
  } catch {
    return [];
  }
};

/** Reads one YAML file. Every input yields findings or a root, never an exception. */
export const readDocument = (
  file: string,
  content: string | Uint8Array,
  maximum = maximumBytes,
): ReadDocument => {
  const { text, finding } = decodeText(content, maximum);
  const place = placer(file, text);
  const only = (code: ErrorCode, offset: number, message: string): ReadDocument => ({
    root: null,
    findings: [{ code, offset, message }],
    place,
  });
  const lexemes: string[] = [];
  const unsafe = finding ?? findUnsafe(text, lexemes);
  if (unsafe !== null) return only(unsafe.code, unsafe.offset, unsafe.message);
  const [document, another] = parse(text, lexemes);
  if (document === undefined) return only("yaml_syntax", 0, "the file could not be read as YAML");
  const problem = problemOf(document, another);
  if (problem !== null) return only(problem.code, problem.offset, problem.message);
  const walk: Walk = { place, findings: [], anchors: new Map(), aliases: 0, nodes: 0 };
  try {
    const root = read(walk, document.contents, null, 0);
    return { root, findings: walk.findings, place };
  } catch (error) {
    if (error instanceof Refused) return { root: null, findings: [error.finding], place };
    throw error;
  }
};
