import { parseAst } from "vite";
import { childrenOf, findIn, isFunction, isLoop, isNode, nameOf, nodesIn } from "./syntax.ts";
import type { SyntaxIndex, Node, Use } from "./syntax.ts";

/**
 * Writes the meter (`src/sandbox/worker/meter.ts`) into the code of the embedded shell, which has none: each round of a
 * loop pays for its work, async functions and their loops yield when it is time, and what is stored in a variable is
 * counted. A function that loops and is called only where the caller can wait becomes async, so that it yields, too.
 * Text is inserted at positions of the syntax tree, and nothing else changes. Code without the expected shape fails the
 * build.
 */

interface Insertion {
  readonly at: number;
  readonly text: string;
}

const isAsync = (node: Node): boolean => node["async"] === true;

/** Finds functions at the top of the program whose name is bound once, with all of their uses. */
const findPlainFunctions = (program: Node, { bound, uses }: SyntaxIndex): Map<Node, Use[]> => {
  const plain = nodesIn(program["body"]).filter(
    (node) => node.type === "FunctionDeclaration" && !isAsync(node) && node["generator"] !== true,
  );
  const named = plain.map((node) => [node, nameOf(node["id"])] as const);
  const unique = named.filter(([, name]) => bound.get(name) === 1);
  return new Map(unique.map(([node, name]) => [node, uses.get(name) ?? []]));
};

/** Finds functions that become async: they loop or call one that does, and every caller of theirs can wait. */
const findAsyncable = (program: Node, found: SyntaxIndex): Map<Node, Use[]> => {
  const able = findPlainFunctions(program, found);
  const canWait = ({ call, within }: Use): boolean =>
    call !== null && within !== null && (isAsync(within) || able.has(within));
  for (let before = -1; before !== able.size;) {
    before = able.size;
    for (const [node, calls] of able) if (!calls.every(canWait)) able.delete(node);
  }
  const wanted = new Set(found.loops.map(({ within }) => within));
  for (const node of wanted) {
    for (const { within } of (node && able.get(node)) ?? []) wanted.add(within);
  }
  return new Map([...able].filter(([node]) => wanted.has(node)));
};

/** Returns the units that a round costs, without inner loops and functions; reading a character is nearly free. */
const costOf = (node: Node): number => {
  const isCall = /^(Call|New)Expression$/.test(node.type);
  const isRead = isCall && isNode(node["callee"]) && nameOf(node["callee"]["property"]) === "charCodeAt";
  const inside = childrenOf(node).filter((child) => !isFunction(child) && !isLoop(child));
  return inside.reduce((sum, child) => sum + costOf(child), isCall && !isRead ? 3 : 0);
};

const methodsOf = (node: Node): Map<string, Node> =>
  new Map(nodesIn((node["body"] as Node)["body"]).map((member) => [nameOf(member["key"]), member]));

/** Finds the constructor of a compiled pattern, and the function that holds the whole regex engine. */
const findEngine = ({ classes }: SyntaxIndex): { readonly constructor: Node; readonly room: Node } => {
  const [engine, ...more] = classes.filter(({ node }) => methodsOf(node).has("doExecuteNFA"));
  const constructor = engine && methodsOf(engine.node).get("constructor");
  if (constructor === undefined || !engine?.within || more.length > 0)
    throw new Error("the code of the shell has no regex engine where one is expected");
  return { constructor, room: engine.within };
};

/** Finds values stored in variables, each with the code of its state, as in `….state.env.set(name, value)`. */
const findStores = (
  code: string,
  { calls }: SyntaxIndex,
): { readonly value: Node; readonly state: string }[] =>
  calls.flatMap((call) => {
    const callee = code.slice((call["callee"] as Node).start, (call["callee"] as Node).end);
    const [, value] = nodesIn(call["arguments"]);
    const state = /^([\w$.]+\.state)\.env\.set$/.exec(callee)?.[1];
    if (value === undefined || (state === undefined && !callee.endsWith(".elements.set"))) return [];
    return [{ value, state: state ?? "null" }];
  });

const giveWay = "if($meter.due)await $meter.giveWay();";

const payments = (found: SyntaxIndex, room: Node, asyncable: ReadonlyMap<Node, unknown>): Insertion[] =>
  found.loops.map(({ node, within }) => {
    const waits = within !== null && (isAsync(within) || asyncable.has(within));
    // Each round of the regex engine steps through several functions that recur and do not loop.
    const weight = node.start > room.start && node.end < room.end ? 4 : 1;
    const pay = `if(($meter.left-=${(2 + costOf(node)) * weight})<0)$meter.spend();`;
    return {
      at: (node["body"] as Node).start,
      text: `{${pay}${waits ? giveWay : ""}`,
    };
  });

const passings = (code: string, { catches }: SyntaxIndex): Insertion[] =>
  catches.flatMap((node) => {
    const { param, body } = node as unknown as { param: Node | null; body: Node };
    const name = param === null ? "$error" : code.slice(param.start, param.end);
    const named = param === null ? [{ at: body.start, text: "($error)" }] : [];
    return [...named, { at: body.start + 1, text: `$meter.passOn(${name});` }];
  });

/** Inserts texts at positions; texts for the same position keep their order. */
const insertAll = (code: string, insertions: Insertion[]): string => {
  let from = 0;
  const parts = insertions
    .sort((a, b) => a.at - b.at)
    .flatMap(({ at, text }) => [code.slice(from, (from = at)), text]);
  return parts.join("") + code.slice(from);
};

/** Returns the shell's code with the meter in it, which it imports from `meter`. */
export const instrument = (code: string, meter: string): string => {
  const program = parseAst(code) as unknown as Node;
  const found = findIn(program);
  const asyncable = findAsyncable(program, found);
  const stores = findStores(code, found);
  const { constructor, room } = findEngine(found);
  const shape = [found.loops.length, asyncable.size, found.catches.length, stores.length];
  if ([1500, 200, 100, 100].some((least, index) => (shape[index] ?? 0) < least))
    throw new Error(`the code of the shell has not the expected shape: ${shape.join(", ")}`);
  const starts = found.functions
    .filter((node) => isAsync(node) || asyncable.has(node))
    .flatMap((node) => nodesIn(node["body"]).filter(({ type }) => type === "BlockStatement"));
  const calls = [...asyncable.values()].flat().flatMap(({ call }) => (call === null ? [] : [call]));
  // Texts that open at one position go from the outer to the inner, and those that close there the other way round.
  return insertAll(code, [
    { at: 0, text: `import{meter as $meter}from${JSON.stringify(meter)};\n` },
    ...payments(found, room, asyncable),
    ...[...asyncable.keys()].map((node) => ({ at: node.start, text: "async " })),
    ...stores.map(({ value, state }) => ({ at: value.start, text: `$meter.hold(${state},` })),
    ...calls.map((call) => ({ at: call.start, text: "(await " })),
    ...[...calls, ...stores.map(({ value }) => value)].map(({ end }) => ({ at: end, text: ")" })),
    ...found.loops.map(({ node }) => ({ at: (node["body"] as Node).end, text: "}" })),
    ...passings(code, found),
    ...starts.map(({ start }) => ({ at: start + 1, text: giveWay })),
    { at: constructor.end - 1, text: ";$meter.admit(this.numberOfInstructions(),this.expr);" },
  ]);
};
