import { childrenOf, isNode, nameOf, nodesIn } from "../syntax.ts";
import type { Node, SyntaxIndex } from "../syntax.ts";

/**
 * Writes into the code of the embedded shell what scripts cannot be mended by from outside, since it happens while they
 * run: where `set -e` is suspended, how `$(…)` in arithmetic is run, what is said of a program that is not there, and that
 * each script, wherever it comes from, goes through `src/sandbox/worker/shell/language/mend-script.ts` once it has been parsed.
 */

interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** What the code of a module has to import for the mends in it. */
export const mendImports: Readonly<Record<string, string>> = {
  $mend: "src/sandbox/worker/shell/language/mend-script.ts#mendScript",
  $order: "src/sandbox/worker/shell/language/text-order.ts#orderText",
  $absent: "src/sandbox/worker/shell/absent-programs.ts#sayAbsent",
};

const around = (node: Node, before: string, after: string): Insertion[] => [
  { at: node.start, text: before },
  { at: node.end, text: after },
];

const codeOf = (code: string, node: Node | undefined): string =>
  node === undefined ? "undefined" : code.slice(node.start, node.end);

const argumentsOf = (call: Node): Node[] => nodesIn(call["arguments"]);

/** Calls of a method: `….name(…)`. */
const callsOf = ({ calls }: SyntaxIndex, name: string): Node[] =>
  calls.filter((call) => isNode(call["callee"]) && nameOf(call["callee"]["property"]) === name);

/** All nodes of a type at or below a node. */
const allOf = (node: Node, type: string): Node[] => [
  ...(node.type === type ? [node] : []),
  ...childrenOf(node).flatMap((child) => allOf(child, type)),
];

const only = (found: readonly Node[], what: string): Node => {
  const [node, ...more] = found;
  if (node === undefined || more.length > 0)
    throw new Error(`the code of the shell has ${found.length} places where it ${what}; one is expected`);
  return node;
};

/** The method of a name, which one class alone has, and that class. */
const methodOf = (
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

/** The name that a class has in its module: of the variable that it is stored in, or its own. */
const nameOfClass = (code: string, node: Node): string =>
  /([\w$]+)\s*=\s*$/.exec(code.slice(0, node.start).slice(-80))?.[1] ?? nameOf(node["id"]);

/** Suspends `set -e` in all pipelines but the last of a list, and in those that are negated. */
const spareLists = (code: string, found: SyntaxIndex): Insertion[] => {
  const { method } = methodOf(found, "executeStatement");
  const call = only(
    callsOf(found, "executePipeline").filter(({ start, end }) => start > method.start && end < method.end),
    "runs a pipeline of a statement",
  );
  const [statement] = nodesIn((method["value"] as Node)["params"]);
  const [pipeline] = argumentsOf(call);
  const [list, one] = [statement, pipeline].map((node) => node && code.slice(node.start, node.end));
  const state = "$context.state";
  return around(
    call,
    `(async($context,$was)=>{try{${state}.inCondition=$was||!${one}.isSelfContained&&(${one}.negated||${one}!==${list}.pipelines.at(-1));return await `,
    `}finally{${state}.inCondition=$was}})(this.ctx,this.ctx.state.inCondition)`,
  );
};

/** Runs `$(…)` in arithmetic as a subshell of the script, not as a script of its own. */
const keepArithmetic = (code: string, found: SyntaxIndex, parser: string): Insertion[] => {
  const calls = callsOf(found, "execFn").filter((call) => {
    const [script] = argumentsOf(call);
    return script !== undefined && nameOf(script["property"]) === "command";
  });
  if (calls.length === 0) throw new Error("the code of the shell runs no commands of arithmetic");
  return calls.map((call) => {
    const callee = call["callee"] as Node;
    const context = callee["object"] as Node;
    const [script] = argumentsOf(call) as [Node];
    const body = `new ${parser}().parse(${code.slice(script.start, script.end)}).statements`;
    const subshell = `{type:"Subshell",body:${body},redirections:[]}`;
    return {
      at: call.start,
      text: `${code.slice(context.start, context.end)}.executeCommand(${subshell},"")??`,
    };
  });
};

const sayAbsent = (code: string, program: Node): Insertion[] => {
  const choices = allOf(program, "ConditionalExpression").filter((choice) =>
    code
      .slice((choice["consequent"] as Node).start, (choice["consequent"] as Node).end)
      .includes("command not available in browser environments"),
  );
  const choice = only(choices, "says that a program is not there");
  const [name] = argumentsOf(choice["test"] as Node);
  const failure = (choice["consequent"] as Node)["callee"];
  const [text, make] = [name, failure].map((node) =>
    isNode(node) ? code.slice(node.start, node.end) : "undefined",
  );
  return [{ at: choice.start, text: `$absent(${text})?${make}($absent(${text}),127):` }];
};

/** Has a command that only assigns, without any `$(…)` in it, end with 0, not as the command before it did. */
const endAssignments = (code: string, found: SyntaxIndex): Insertion[] => {
  const { method } = methodOf(found, "executeSimpleCommandInner");
  const [command] = nodesIn((method["value"] as Node)["params"]);
  const statuses = allOf(method, "CallExpression")
    .map((call) => argumentsOf(call)[2])
    .filter((status) => status !== undefined && nameOf(status["property"]) === "lastExitCode")
    .filter((status) => status !== undefined);
  if (command === undefined || statuses.length === 0)
    throw new Error("the code of the shell ends assignments where that is not expected");
  const name = code.slice(command.start, command.end);
  return statuses.map(({ start }) => ({ at: start, text: `${name}.isPlain?0:` }));
};

/** Runs a file that is called by its path as `bash file` does, without the variables and options of the caller. */
const runFiles = (code: string, found: SyntaxIndex): Insertion[] => {
  const call = only(
    found.calls.filter((each) => {
      const [path, , , ...more] = argumentsOf(each);
      const callee = each["callee"];
      const isPlain = isNode(callee) && callee.type === "Identifier" && argumentsOf(each).length === 3;
      return isPlain && more.length === 0 && path !== undefined && nameOf(path["property"]) === "path";
    }),
    "runs a script by its path",
  );
  const within = found.functions.find(
    (each) => each.start < call.start && each.end > call.end && each.type === "FunctionDeclaration",
  );
  const [host, typed] = nodesIn(within?.["params"]);
  if (host === undefined || typed === undefined)
    throw new Error("the code of the shell runs scripts where that is not expected");
  const [path = "", words = "", input = ""] = argumentsOf(call).map(({ start, end }) =>
    code.slice(start, end),
  );
  const name = code.slice(host.start, host.end);
  const word = codeOf(code, typed);
  return [
    {
      at: call.start,
      text: `${name}.runCommand("bash",["--as-program",${word}.includes("/")?${word}:${path},...${words}],[],${input})??`,
    },
  ];
};

/** Has a pattern that ends with a slash stand for folders alone, each with a slash. */
const matchFolders = (found: SyntaxIndex): Insertion[] => {
  const { owner } = methodOf(found, "expandSimple");
  const method = only(
    nodesIn((owner["body"] as Node)["body"]).filter((member) => nameOf(member["key"]) === "expand"),
    "expands a pattern",
  );
  const { body, params } = method["value"] as { body: Node; params: Node[] } & Node;
  const pattern = nameOf(params[0]);
  const isFolder =
    "this.fs.stat(this.fs.resolvePath(this.cwd,$path)).then(($stat)=>$stat.isDirectory,()=>!1)";
  const plain = `this.expand(${pattern}.replace(/\\/+$/,""))`;
  const loop = `for(const $path of await ${plain})if(await ${isFolder})$found.push($path+"/");`;
  return [
    { at: body.start + 1, text: `if(/[^\\/]\\/+$/.test(${pattern})){const $found=[];${loop}return $found}` },
  ];
};

/** Orders texts by their characters' numbers, as the locale of scripts has it, not by a language. */
const orderTexts = (found: SyntaxIndex): Insertion[] =>
  callsOf(found, "localeCompare")
    .filter((call) => argumentsOf(call).length === 1)
    .flatMap((call) => around((call["callee"] as Node)["object"] as Node, "$order(", ")"));

/** Ends a search behind the end of a text, where an empty match stood, instead of failing there. */
const endSearches = (code: string, found: SyntaxIndex): Insertion[] => {
  const methods = found.classes
    .flatMap(({ node }) => nodesIn((node["body"] as Node)["body"]))
    .filter((member) => nameOf(member["key"]) === "exec" && codeOf(code, member).includes("_lastIndex"));
  const method = only(methods, "looks for the next match");
  const call = only(
    callsOf(found, "find").filter(({ start, end }) => start > method.start && end < method.end),
    "looks for a match from a place on",
  );
  const test = only(
    allOf(method, "UnaryExpression").filter((each) => (each["argument"] as Node).start === call.start),
    "fails where there is no match",
  );
  const [from] = argumentsOf(call);
  const [text] = nodesIn((method["value"] as Node)["params"]);
  return [{ at: test.start, text: `${codeOf(code, from)}>${codeOf(code, text)}.length||` }];
};

/** The texts that mend the shell, and where they are inserted. */
export const findMends = (code: string, program: Node, found: SyntaxIndex): Insertion[] => {
  const { owner } = methodOf(found, "parseScript");
  const parses = callsOf(found, "parseScript");
  return [
    ...parses.flatMap((call) => around(call, "$mend(", ")")),
    ...spareLists(code, found),
    ...keepArithmetic(code, found, nameOfClass(code, owner)),
    ...sayAbsent(code, program),
    ...endAssignments(code, found),
    ...runFiles(code, found),
    ...matchFolders(found),
    ...orderTexts(found),
    ...endSearches(code, found),
  ];
};
