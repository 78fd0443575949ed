import { isFunction, isNode, nameOf, nodesIn } from "../syntax.ts";
import type { SyntaxIndex, Node } from "../syntax.ts";

/**
 * Finds calls of the platform's functions that walk a whole text or list, which no loop of the code pays for: their
 * inputs or results pass through a function of the meter that charges by length.
 */

interface Wrap {
  readonly node: Node;
  readonly by: "make" | "spread" | "walk" | "note" | "found";
}

/** Functions that search for something and stop where they find it. */
const finders = ["indexOf", "lastIndexOf", "includes"];
/** Functions whose result is as long as their input. */
const makers = [
  "split",
  "replace",
  "replaceAll",
  "match",
  "matchAll",
  "search",
  "toUpperCase",
  "toLowerCase",
  "toLocaleUpperCase",
  "toLocaleLowerCase",
  "normalize",
  "localeCompare",
  "concat",
  "reverse",
];
/** Functions that call another one for each item. */
const walkers = ["map", "flatMap", "filter", "forEach", "reduce", "sort"];
/** Functions that cost as much as their result is long. */
const results = ["repeat", "padStart", "padEnd", "join", "stringify"];
/** Functions that walk their first argument. */
const readers = ["encode", "decode", "parse"];

/** Returns whether an expression may stop early because a part of its chain is missing. */
const isOptional = (node: Node): boolean => {
  if (node["optional"] === true) return true;
  const before = node.type === "MemberExpression" ? node["object"] : node["callee"];
  return /^(Member|Call)Expression$/.test(node.type) && isNode(before) && isOptional(before);
};

/** Returns whether a regex literal has to walk a whole text, which an anchored one has not. */
const isWalkingRegex = (node: Node | undefined): boolean => {
  const regex = node?.["regex"] as { pattern: string; flags: string } | null | undefined;
  return regex != null && !regex.pattern.startsWith("^") && !/[gy]/.test(regex.flags);
};

const isBoundRegex = (node: Node | undefined): boolean => {
  const regex = node?.["regex"] as { pattern: string } | null | undefined;
  return regex != null && regex.pattern.startsWith("^");
};

/** Returns the wrappers of a function's first argument, which it walks. */
const wrapsOfArgument = (object: Node, name: string, first: Node | undefined): Wrap[] => {
  if (first === undefined || first.type === "SpreadElement") return [];
  if (name === "from") return [{ node: first, by: "spread" }];
  const reads = readers.includes(name) || (/^(test|exec)$/.test(name) && isWalkingRegex(object));
  return reads ? [{ node: first, by: "make" }] : [];
};

const wrapsOfMethod = (call: Node, object: Node, name: string, [first, second]: Node[]): Wrap[] => {
  if (finders.includes(name)) {
    return [
      { node: call, by: "found" },
      { node: object, by: "note" },
    ];
  }
  if (results.includes(name)) return [{ node: call, by: "make" }];
  if (walkers.includes(name)) return [{ node: object, by: "walk" }];
  if (!makers.includes(name)) return wrapsOfArgument(object, name, first);
  if (isBoundRegex(first)) return [];
  const calls = name.startsWith("replace") && second !== undefined && isFunction(second);
  return [{ node: object, by: calls ? "walk" : "make" }];
};

const wrapsOf = (call: Node): Wrap[] => {
  const callee = call["callee"] as Node;
  const object = callee["object"];
  if (callee.type !== "MemberExpression" || callee["computed"] === true || !isNode(object)) return [];
  if (object.type === "Super" || isOptional(call)) return [];
  return wrapsOfMethod(call, object, nameOf(callee["property"]), nodesIn(call["arguments"]));
};

/** Returns the opening and closing texts around each call. */
export const findNatives = ({ calls, spreads }: SyntaxIndex) => {
  const spread = spreads.map((node): Wrap => ({ node: node["argument"] as Node, by: "spread" }));
  // Parentheses keep a sequence as one argument, and the space separates it from a word before it.
  return [...calls.flatMap(wrapsOf), ...spread].map(({ node, by }) => ({
    opening: { at: node.start, text: ` $meter.${by}((` },
    closing: { at: node.end, text: "))" },
  }));
};
