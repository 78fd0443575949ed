import { childrenOf, nameOf, nodesIn } from "../syntax.ts";
import type { Node, SyntaxIndex } from "../syntax.ts";

/** Finds places in the code of the embedded shell, and says what is inserted there. */

export interface Insertion {
  readonly at: number;
  readonly text: string;
}

export const around = (node: Node, before: string, after: string): Insertion[] => [
  { at: node.start, text: before },
  { at: node.end, text: after },
];

export const codeOf = (code: string, node: Node | undefined): string =>
  node === undefined ? "undefined" : code.slice(node.start, node.end);

export const argumentsOf = (call: Node): Node[] => nodesIn(call["arguments"]);

/** Returns the calls of a method: `….name(…)`. */
export const callsOf = ({ methodCalls }: SyntaxIndex, name: string): readonly Node[] =>
  methodCalls.get(name) ?? [];

/** Returns all nodes of a type at or below a node. */
export const allOf = (node: Node, type: string): Node[] => [
  ...(node.type === type ? [node] : []),
  ...childrenOf(node).flatMap((child) => allOf(child, type)),
];

export const only = (found: readonly Node[], what: string): Node => {
  const [node, ...more] = found;
  if (node === undefined || more.length > 0)
    throw new Error(`the code of the shell has ${found.length} places where it ${what}; one is expected`);
  return node;
};

/** Returns the method of a name that only one class has, and that class. */
export const methodOf = (
  { classes }: SyntaxIndex,
  name: string,
): { readonly owner: Node; readonly method: Node } => {
  const owners = classes.flatMap(({ node }) =>
    nodesIn((node["body"] as Node)["body"])
      .filter((member) => nameOf(member["key"]) === name)
      .map((method) => ({ owner: node, method })),
  );
  const method = only(
    owners.map((each) => each.method),
    `has a method ${name}`,
  );
  return { owner: owners[0]?.owner ?? method, method };
};

/** Returns the name of a class in its module: of its variable, or its own. */
export const nameOfClass = (code: string, node: Node): string =>
  /([\w$]+)\s*=\s*$/.exec(code.slice(0, node.start).slice(-80))?.[1] ?? nameOf(node["id"]);

/** Returns the innermost function that holds a text. */
export const functionWith = (code: string, found: SyntaxIndex, text: string): Node => {
  const [node] = found.functions
    .filter((each) => codeOf(code, each).includes(text))
    .sort((a, b) => a.end - a.start - (b.end - b.start));
  return node ?? only([], `has ${text}`);
};

/** Returns the calls of a method inside a function. */
export const callsIn = ({ start, end }: Node, found: SyntaxIndex, name: string): readonly Node[] =>
  callsOf(found, name).filter((call) => call.start > start && call.end < end);
