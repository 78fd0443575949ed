import { isFunction, isNode, nameOf, nodesIn } from "../syntax.ts";
import type { SyntaxIndex, Node } from "../syntax.ts";

/**
 * Calls of the platform's functions that walk a whole text or list, which no loop of the code pays for: what they walk or
 * make goes through a function of the meter that charges by length and hands it on.
 */

interface Wrap {
  readonly node: Node;
  readonly by: "make" | "spread" | "walk" | "note" | "found";
}

/** Functions that look for something and stop where they find it. */
const finders = ["indexOf", "lastIndexOf", "includes"];
/** Functions that make something as long as what they walk. */
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
/** Functions whose result is what costs. */
const results = ["repeat", "padStart", "padEnd", "join", "stringify"];
/** Functions that walk their first argument. */
const readers = ["encode", "decode", "parse"];

/** Whether an expression may end before its end because something in its chain is missing. */
const isOptional = (node: Node): boolean => {
  if (node["optional"] === true) return true;
  const before = node.type === "MemberExpression" ? node["object"] : node["callee"];
  return /^(Member|Call)Expression$/.test(node.type) && isNode(before) && isOptional(before);
};

/** The text of a regex literal that has to walk all of a text: not one that is bound to a place. */
const isWalkingRegex = (node: Node | undefined): boolean => {
  const regex = node?.["regex"] as { pattern: string; flags: string } | null | undefined;
  return regex != null && !regex.pattern.startsWith("^") && !/[gy]/.test(regex.flags);
};

const isBoundRegex = (node: Node | undefined): boolean => {
  const regex = node?.["regex"] as { pattern: string } | null | undefined;
  return regex != null && regex.pattern.startsWith("^");
};

/** What walks its first argument. */
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

/** What opens and what closes around each of them. */
export const findNatives = ({ calls, spreads }: SyntaxIndex) => {
  const spread = spreads.map((node): Wrap => ({ node: node["argument"] as Node, by: "spread" }));
  // Parentheses keep a sequence one argument, and the space stands between it and a word before.
  return [...calls.flatMap(wrapsOf), ...spread].map(({ node, by }) => ({
    opening: { at: node.start, text: ` $meter.${by}((` },
    closing: { at: node.end, text: "))" },
  }));
};
