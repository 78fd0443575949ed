import type { Alias, CST, Document, Node, Scalar, YAMLMap, YAMLSeq } from "yaml";
import { Composer, isAlias, isMap, isScalar, isSeq, Parser } from "yaml";
import type { ErrorCode, SourcePlace } from "./diagnostics.ts";
import { createPlacer } from "./place.ts";
import type { DocumentFinding } from "./safety.ts";
import { explainAlias, explainDash, explainSign, explainSyntax } from "./syntax-faults.ts";
import { decodeText, findUnsafe, maximumBytes, maximumDepth, maximumNodes } from "./safety.ts";

/** Reads one YAML file as plain values with their positions. */

/** Value and the offset at which it was written. Maps keep the offsets of their keys too. */
export type Located = {
  readonly at: number;
} & (
  | { readonly kind: "scalar"; readonly value: string | number | boolean | null }
  | { readonly kind: "list"; readonly items: readonly Located[] }
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, MapEntry> }
);

export interface MapEntry {
  readonly keyAt: number;
  readonly node: Located;
}

export interface ReadDocument {
  /** Root value; null if no part of the file can be used. */
  readonly root: Located | null;
  readonly findings: readonly DocumentFinding[];
  /** Returns the line and column of an offset. */
  readonly place: (offset: number) => SourcePlace;
}

const maximumAliases = 100;

const reservedKeys = new Set(["__proto__", "constructor", "prototype"]);

const coreTags = new Set(
  ["str", "int", "float", "bool", "null", "map", "seq"].map((name) => `tag:yaml.org,2002:${name}`),
);

/** Error that ends the walk; it is always caught in this file. */
class DocumentRefusal extends Error {
  readonly finding: DocumentFinding;
  constructor(finding: DocumentFinding) {
    super(finding.message);
    this.finding = finding;
  }
}

interface DocumentWalk {
  readonly text: string;
  readonly place: (offset: number) => SourcePlace;
  readonly findings: DocumentFinding[];
  /** Value of each anchor with its number of nodes; aliases count as often as they are used. */
  readonly anchors: Map<string, { readonly located: Located; readonly size: number } | "open">;
  /** Path of the node that is read. */
  readonly path: (string | number)[];
  aliases: number;
  nodes: number;
}

const offsetOf = (node: Node | null): number => node?.range?.[0] ?? 0;

/** Records a mistake at a node, or at a key of it, without ending the walk. */
const noteFinding = (
  { findings, path }: DocumentWalk,
  node: Node | null,
  code: ErrorCode,
  message: string,
  ...key: readonly string[]
): void => {
  findings.push({ code, offset: offsetOf(node), message, path: [...path, ...key] });
};

const refuseNode = ({ path }: DocumentWalk, node: Node | null, code: ErrorCode, message: string): never => {
  throw new DocumentRefusal({ code, offset: offsetOf(node), message, path: [...path] });
};

const countNodes = (walk: DocumentWalk, node: Node | null, nodes: number): void => {
  walk.nodes += nodes;
  if (walk.nodes > maximumNodes) {
    refuseNode(
      walk,
      node,
      "yaml_nodes",
      `the file has more than ${maximumNodes} values, aliases counted as used`,
    );
  }
};

const readAlias = (walk: DocumentWalk, alias: Alias): Located => {
  walk.aliases += 1;
  if (walk.aliases > maximumAliases) {
    refuseNode(walk, alias, "yaml_alias", `more than ${maximumAliases} aliases`);
  }
  const target = walk.anchors.get(alias.source);
  if (target === undefined) {
    const message = /^[\w-]+$/.test(alias.source)
      ? explainAlias(walk.text, offsetOf(alias), alias.source)
      : explainSign(walk.text, offsetOf(alias));
    return refuseNode(walk, alias, "yaml_alias", message);
  }
  if (target === "open") return refuseNode(walk, alias, "yaml_cycle", `&${alias.source} contains itself`);
  countNodes(walk, alias, target.size);
  return target.located;
};

/** Reports a number that cannot be kept exactly. */
const checkNumber = (walk: DocumentWalk, node: Scalar, value: number): void => {
  if (!Number.isFinite(value)) {
    noteFinding(walk, node, "invalid_value", "infinite and undefined numbers are not allowed");
    return;
  }
  const whole = /^[-+]?(\d+|0x[\da-fA-F]+|0o[0-7]+)$/.test(node.source ?? "");
  if (!whole || Number.isSafeInteger(value)) return;
  const message =
    "whole numbers beyond 9007199254740991 are not exact; write a smaller one or a text in quotes";
  noteFinding(walk, node, "out_of_range", message);
};

const readScalar = (walk: DocumentWalk, node: Scalar): Located => {
  const at = offsetOf(node);
  const { value } = node;
  if (typeof value === "number") checkNumber(walk, node, value);
  if (
    typeof value === "number" ||
    typeof value === "string" ||
    typeof value === "boolean" ||
    value === null
  ) {
    return { kind: "scalar", at, value };
  }
  return { kind: "scalar", at, value: typeof value === "symbol" ? "<<" : null };
};

/** Reads the key as text; returns null, with a finding, if it cannot be a key. */
const readKey = (walk: DocumentWalk, key: unknown): string | null => {
  if (isScalar(key) && typeof key.value === "string") {
    countNodes(walk, key, 1);
    if (!reservedKeys.has(key.value)) return key.value;
    noteFinding(walk, key, "reserved_key", `"${key.value}" cannot be used as a key`, key.value);
    return null;
  }
  noteFinding(walk, key as Node | null, "wrong_type", "a key must be a text; write it in quotes");
  return null;
};

const isMergeKey = (key: unknown): boolean =>
  isScalar(key) && (typeof key.value === "symbol" || (key.value === "<<" && key.type === "PLAIN"));

const mergeFrom = (
  walk: DocumentWalk,
  target: Map<string, MapEntry>,
  source: Located,
  node: Node | null,
): void => {
  const sources = source.kind === "list" ? source.items : [source];
  for (const one of sources) {
    if (one.kind !== "map") {
      noteFinding(walk, node, "wrong_type", "<< needs a map, or a list of maps");
      return;
    }
    for (const [key, entry] of one.entries) {
      if (!target.has(key)) target.set(key, entry);
    }
  }
};

const readMap = (walk: DocumentWalk, map: YAMLMap): Located => {
  const own = new Map<string, MapEntry>();
  const merges: { source: Located; node: Node | null }[] = [];
  for (const pair of map.items) {
    const value = pair.value as Node | null;
    if (isMergeKey(pair.key)) {
      merges.push({ source: readNode(walk, value, pair.key as Node), node: value });
      continue;
    }
    const key = readKey(walk, pair.key);
    const node = readChild(walk, key ?? "", value, pair.key as Node);
    if (key === null) continue;
    const keyAt = offsetOf(pair.key as Node);
    const first = own.get(key);
    if (first === undefined) own.set(key, { keyAt, node });
    // Items without a space after their dash look like keys; the check that expects the list reports them.
    else if (explainDash(key) === undefined) {
      const message = `"${key}" is used twice here, first in line ${walk.place(first.keyAt).line} and again in line ${walk.place(keyAt).line}`;
      noteFinding(walk, pair.key as Node, "duplicate_key", message, key);
    }
  }
  for (const { source, node } of merges) mergeFrom(walk, own, source, node);
  return { kind: "map", at: offsetOf(map), entries: own };
};

const readSeq = (walk: DocumentWalk, seq: YAMLSeq): Located => {
  const items = seq.items.map((item, index) => readChild(walk, index, item as Node | null, seq));
  return { kind: "list", at: offsetOf(seq), items };
};

const readChild = (
  walk: DocumentWalk,
  part: string | number,
  node: Node | null,
  parent: Node | null,
): Located => {
  walk.path.push(part);
  const located = readNode(walk, node, parent);
  walk.path.pop();
  return located;
};

/** Reads one node; an absent one (`key:` without a value) is null at the position of its key. */
const readNode = (walk: DocumentWalk, node: Node | null, parent: Node | null): Located => {
  if (walk.path.length > maximumDepth) {
    refuseNode(
      walk,
      node ?? parent,
      "yaml_depth",
      `collections are nested deeper than ${maximumDepth} levels`,
    );
  }
  if (node === null || node === undefined) {
    countNodes(walk, parent, 1);
    return { kind: "scalar", at: offsetOf(parent), value: null };
  }
  if (isAlias(node)) return readAlias(walk, node);
  const before = walk.nodes;
  countNodes(walk, node, 1);
  if (node.tag !== undefined && !coreTags.has(node.tag)) {
    refuseNode(walk, node, "yaml_tag", explainTag(node.tag));
  }
  const anchor = (node as Scalar).anchor;
  if (anchor !== undefined) walk.anchors.set(anchor, "open");
  const located = isMap(node)
    ? readMap(walk, node)
    : isSeq(node)
      ? readSeq(walk, node)
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

const documentRefusal = "a file holds one document; remove this separator and what follows";

/** Explains that a tag is refused, and what to write instead of those by which other programs read files or secrets. */
const explainTag = (tag: string): string => {
  if (/^!(?:include|import|file)(?![a-z])/.test(tag))
    return "another file cannot be included; write here what it holds";
  return /^!(?:env|secret)(?![a-z])/.test(tag)
    ? "a secret is written ${NAME}, in quotes inside of braces"
    : "a tag is not allowed here; quote a text that begins with !";
};

/** Returns the first error of the first document, or the error that there is a second one. */
const problemOf = (
  document: Document.Parsed,
  another: Document.Parsed | undefined,
  text: string,
  lexemes: readonly string[],
): DocumentFinding | null => {
  const [error] = document.errors;
  if (error === undefined && another !== undefined)
    return { code: "yaml_documents", offset: another.range[0], message: documentRefusal };
  const problem = error ?? document.warnings[0];
  if (problem === undefined) return null;
  const code = yamlCodes[problem.code] ?? "yaml_syntax";
  if (code === "yaml_syntax") return { code, ...explainSyntax(problem, text, lexemes) };
  const [offset] = problem.pos;
  if (code === "yaml_alias" && problem.message.endsWith("cannot be an empty string"))
    return { code, offset, message: explainSign(text, offset) };
  const [tag = ""] = /!\S*/.exec(problem.message) ?? [];
  return { code, offset, message: code === "yaml_tag" ? explainTag(tag) : problem.message };
};

function* cstOf(lexemes: readonly string[]): Generator<CST.Token> {
  const parser = new Parser();
  for (const lexeme of lexemes) yield* parser.next(lexeme);
  yield* parser.end();
}

const composeOptions = {
  version: "1.2",
  schema: "core",
  merge: true,
  uniqueKeys: false,
  strict: true,
} as const;

/** Parses the first two documents of a file. */
const parseDocuments = (text: string, lexemes: readonly string[]): readonly Document.Parsed[] => {
  try {
    const [first, second] = new Composer(composeOptions).compose(cstOf(lexemes), true, text.length);
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
  const place = createPlacer(file, text);
  const only = (code: ErrorCode, offset: number, message: string): ReadDocument => ({
    root: null,
    findings: [{ code, offset, message }],
    place,
  });
  const lexemes: string[] = [];
  const unsafe = finding ?? findUnsafe(text, lexemes);
  if (unsafe !== null) return only(unsafe.code, unsafe.offset, unsafe.message);
  const [document, another] = parseDocuments(text, lexemes);
  if (document === undefined) return only("yaml_syntax", 0, "the file could not be read as YAML");
  const problem = problemOf(document, another, text, lexemes);
  if (problem !== null) return only(problem.code, problem.offset, problem.message);
  const walk: DocumentWalk = {
    text,
    place,
    findings: [],
    anchors: new Map(),
    path: [],
    aliases: 0,
    nodes: 0,
  };
  try {
    const root = readNode(walk, document.contents, null);
    return { root, findings: walk.findings, place };
  } catch (error) {
    if (error instanceof DocumentRefusal) return { root: null, findings: [error.finding], place };
    throw error;
  }
};
