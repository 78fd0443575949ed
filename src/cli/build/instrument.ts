import { parseAst } from "vite";
import { findMends, keepBytesOfGit } from "./mends.ts";
import { findNatives } from "./natives.ts";
import { childrenOf, findIn, isFunction, isLoop, isNode, nameOf, nodesIn } from "../syntax.ts";
import type { SyntaxIndex, Node, Use } from "../syntax.ts";

/**
 * Writes the meter (`src/sandbox/worker/meter.ts`) into the code of the embedded shell, which has none: each round of a
 * loop pays for its work, async functions and their loops give way when it is time, and what is stored in a variable is
 * counted. A function that loops and is called only where the caller can wait becomes async, so that it gives way, too.
 * In the same way, a redirection that the file system refuses is made to fail its own command, where the shell would end
 * the whole script. Text is inserted at positions of the syntax tree, nothing else of the code changes. Code that has not
 * the expected shape is an error of the build.
 */

interface Insertion {
  readonly at: number;
  readonly text: string;
}

const isAsync = (node: Node): boolean => node["async"] === true;

/** Functions at the top of the program whose name is bound once, with all of their uses. */
const findPlainFunctions = (program: Node, { bound, uses }: SyntaxIndex): Map<Node, Use[]> => {
  const plain = nodesIn(program["body"]).filter(
    (node) => node.type === "FunctionDeclaration" && !isAsync(node) && node["generator"] !== true,
  );
  const named = plain.map((node) => [node, nameOf(node["id"])] as const);
  const unique = named.filter(([, name]) => bound.get(name) === 1);
  return new Map(unique.map(([node, name]) => [node, uses.get(name) ?? []]));
};

/**
 * Returns the functions that become async: they loop, or call one that does, and every use is a call whose caller
 * can wait.
 */
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

/** Returns the units that a round costs, without loops and functions inside it; reading a character is nearly free. */
const costOf = (node: Node): number => {
  const isCall = /^(Call|New)Expression$/.test(node.type);
  const isRead = isCall && isNode(node["callee"]) && nameOf(node["callee"]["property"]) === "charCodeAt";
  const inside = childrenOf(node).filter((child) => !isFunction(child) && !isLoop(child));
  return inside.reduce((sum, child) => sum + costOf(child), isCall && !isRead ? 3 : 0);
};

const methodsOf = (node: Node): Map<string, Node> =>
  new Map(nodesIn((node["body"] as Node)["body"]).map((member) => [nameOf(member["key"]), member]));

/** Constructor of a compiled pattern, and the function that holds the whole regex engine. */
interface Engine {
  readonly constructor: Node;
  readonly room: Node;
}

const findEngine = ({ classes }: SyntaxIndex): Engine | null => {
  const [engine, ...more] = classes.filter(({ node }) => methodsOf(node).has("doExecuteNFA"));
  const constructor = engine && methodsOf(engine.node).get("constructor");
  if (constructor === undefined || !engine?.within || more.length > 0) return null;
  return { constructor, room: engine.within };
};

/** Value with the code of the state in which the meter counts it. */
interface Stored {
  readonly value: Node;
  readonly state: string;
}

const codeOf = (code: string, node: unknown): string =>
  isNode(node) ? code.slice(node.start, node.end) : "";

/**
 * Finds values that are stored in variables: `….state.env.set(name, value)` of the shell, `….vars[name] = value` of
 * awk.
 */
const findStores = (code: string, { calls, assignments }: SyntaxIndex): Stored[] => [
  ...calls.flatMap((call) => {
    const callee = codeOf(code, call["callee"]);
    const [, value] = nodesIn(call["arguments"]);
    const state = /^([\w$.]+\.state)\.env\.set$/.exec(callee)?.[1];
    if (value === undefined || (state === undefined && !callee.endsWith(".elements.set"))) return [];
    return [{ value, state: state ?? "null" }];
  }),
  ...assignments.flatMap((node) => {
    const left = codeOf(code, node["left"]);
    const state = /^([\w$]+)\.(?:arrays\[[\w$]+\]|vars)\[[\w$]+\]$/.exec(left)?.[1];
    return state === undefined || node["operator"] !== "=" ? [] : [{ value: node["right"] as Node, state }];
  }),
];

/**
 * Finds maps in which a function of the shell saves variables until it returns: `saved.set(name,
 * ….state.env.get(name))`.
 */
const findAsides = (code: string, { calls }: SyntaxIndex): Stored[] =>
  calls.flatMap((call) => {
    const saved = /^([\w$]+)\.set$/.test(codeOf(code, call["callee"]));
    const [, value] = nodesIn(call["arguments"]);
    const state = /^([\w$.]+\.state)\.env\.get\(/.exec(codeOf(code, value))?.[1];
    return saved && state !== undefined ? [{ value: (call["callee"] as Node)["object"] as Node, state }] : [];
  });

const giveWay = "if($meter.due)await $meter.giveWay();";

const payments = (
  found: SyntaxIndex,
  engine: Engine | null,
  asyncable: ReadonlyMap<Node, unknown>,
): Insertion[] =>
  found.loops.map(({ node, within }) => {
    const waits = within !== null && (isAsync(within) || asyncable.has(within));
    // Each round of the regex engine and of other packages steps through several functions that do not loop.
    const isPackage = engine === null || (node.start > engine.room.start && node.end < engine.room.end);
    const weight = isPackage ? 4 : 1;
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

/** Returns the first node of a type below a node, itself included. */
const firstOf = (node: Node, type: string): Node | undefined =>
  node.type === type
    ? node
    : childrenOf(node)
        .map((child) => firstOf(child, type))
        .find((each) => each !== undefined);

/** Returns the error without its POSIX name, system call and path, as bash writes it: `Permission denied`. */
const reasonOf = (error: string): string =>
  `\${String(${error}.message).replace(/^[A-Z]+: |, \\w+ '[^]*$/g,"").replace(/^[a-z]/,$letter=>$letter.toUpperCase())}`;

/**
 * Where a redirection's file cannot be opened, the shell knows an error of the command, but throws where it is an output:
 * `catch (error) { if (!quiet) throw error; return { error: failure("", `bash: ${path}: …`, 1) }; }`.
 */
const findRefusals = (code: string, { catches }: SyntaxIndex): Insertion[] =>
  catches.flatMap((node) => {
    const { param, body } = node as unknown as { param: Node | null; body: Node };
    const statements = nodesIn(body["body"]);
    const [test, answer] = statements;
    if (param === null || answer === undefined || statements.length !== 2) return [];
    if (test?.type !== "IfStatement" || !codeOf(code, answer).includes("cannot open redirect target"))
      return [];
    const failure = firstOf(answer, "CallExpression")?.["callee"];
    const [path] = nodesIn(firstOf(answer, "TemplateLiteral")?.["expressions"]);
    const message = `\`bash: \${${codeOf(code, path)}}: ${reasonOf(codeOf(code, param))}\\n\``;
    return [{ at: body.start + 1, text: `return{error:${codeOf(code, failure)}("",${message},1)};` }];
  });

/** Inserts texts at positions; texts for the same place keep their order. */
const insertAll = (code: string, insertions: Insertion[]): string => {
  let from = 0;
  const parts = insertions
    .sort((a, b) => a.at - b.at)
    .flatMap(({ at, text }) => [code.slice(from, (from = at)), text]);
  return parts.join("") + code.slice(from);
};

/** Finds what is inserted, and where. */
const survey = (code: string) => {
  const program = parseAst(code) as unknown as Node;
  const found = findIn(program);
  const asyncable = findAsyncable(program, found);
  const [stores, asides] = [findStores(code, found), findAsides(code, found)];
  const refusals = findRefusals(code, found);
  return { program, found, asyncable, stores, asides, engine: findEngine(found), refusals };
};

const writeMeter = (
  code: string,
  { found, asyncable, stores, asides, engine, refusals }: ReturnType<typeof survey>,
  mends: readonly Insertion[] = [],
): string => {
  const starts = found.functions
    .filter((node) => isAsync(node) || asyncable.has(node))
    .flatMap((node) => nodesIn(node["body"]).filter(({ type }) => type === "BlockStatement"));
  const calls = [...asyncable.values()].flat().flatMap(({ call }) => (call === null ? [] : [call]));
  const admit = ";$meter.admit(this.numberOfInstructions(),this.expr);";
  const natives = findNatives(found);
  // At one place closing texts precede opening ones, and those are ordered from the outer to the inner.
  return insertAll(code, [
    ...natives.map(({ closing }) => closing),
    ...mends,
    ...[...calls, ...[...stores, ...asides].map(({ value }) => value)].map(({ end }) => ({
      at: end,
      text: ")",
    })),
    ...found.loops.map(({ node }) => ({ at: (node["body"] as Node).end, text: "}" })),
    ...payments(found, engine, asyncable),
    ...passings(code, found),
    ...refusals,
    ...starts.map(({ start }) => ({ at: start + 1, text: giveWay })),
    ...[...asyncable.keys()].map((node) => ({ at: node.start, text: "async " })),
    ...stores.map(({ value, state }) => ({ at: value.start, text: `$meter.hold(${state},` })),
    ...asides.map(({ value, state }) => ({ at: value.start, text: `$meter.putAside(${state},` })),
    ...natives.map(({ opening }) => opening),
    ...calls.map((call) => ({ at: call.start, text: "(await " })),
    ...(engine === null ? [] : [{ at: engine.constructor.end - 1, text: admit }]),
  ]);
};

/** Returns the code of a module with the meter inserted, available as `$meter`. */
export const instrument = (code: string): string => writeMeter(code, survey(code));

/** Returns the code of git's own module with the meter. */
export const instrumentGit = (code: string): string => {
  const surveyed = survey(code);
  return writeMeter(code, surveyed, keepBytesOfGit(surveyed.program));
};

/** Returns the code of the shell's own module with the meter, which must have the expected shape. */
export const instrumentShell = (code: string): string => {
  const surveyed = survey(code);
  const { found, asyncable, stores, asides, engine, refusals } = surveyed;
  if (engine === null) throw new Error("the code of the shell has no regex engine in the expected place");
  const shape = [found.loops.length, asyncable.size, found.catches.length, stores.length, asides.length];
  if ([1500, 200, 100, 100, 3].some((least, index) => (shape[index] ?? 0) < least))
    throw new Error(`the code of the shell does not have the expected shape: ${shape.join(", ")}`);
  if (refusals.length !== 1)
    throw new Error("the code of the shell opens the files of redirections in an unexpected place");
  return writeMeter(code, surveyed, findMends(code, surveyed.program, found));
};
