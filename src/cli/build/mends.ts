import { isNode, nameOf, nodesIn } from "../syntax.ts";
import type { Node, SyntaxIndex } from "../syntax.ts";
import { mendArithmetic } from "./arithmetic-mends.ts";
import {
  allOf,
  argumentsOf,
  around,
  callsIn,
  callsOf,
  codeOf,
  functionWith,
  methodOf,
  nameOfClass,
  only,
} from "./mend-places.ts";
import type { Insertion } from "./mend-places.ts";
import { mendTextPrograms } from "./text-mends.ts";

/**
 * Inserts mends into the code of the embedded shell that scripts cannot contain, since they act while scripts run: where
 * `set -e` is suspended, how `$(…)` in arithmetic runs, and which error an absent program gives. Every parsed script
 * also goes through `src/sandbox/worker/shell/language/mend-script.ts`.
 */

/** Imports that the mends of both packages need, and those of the shell alone. */
export const commonImports: Readonly<Record<string, string>> = {
  $meter: "src/sandbox/worker/meter.ts#meter",
  $text: "src/sandbox/worker/byte-text.ts#byteText",
};
export const mendImports: Readonly<Record<string, string>> = {
  $mend: "src/sandbox/worker/shell/language/mend-script.ts#mendScript",
  $order: "src/sandbox/worker/shell/language/text-order.ts#orderText",
  $absent: "src/sandbox/worker/shell/absent-programs.ts#sayAbsent",
  $textFrom: "src/sandbox/worker/shell/programs/program.ts#textFrom",
  $bytesOf: "src/sandbox/worker/shell/programs/program.ts#bytesOf",
  $calculate: "src/sandbox/worker/shell/arithmetic.ts#calculate",
  $asText: "src/sandbox/worker/shell/as-text.ts#asText",
  $isInRange: "src/sandbox/worker/shell/programs/text/sed-ranges.ts#isInRange",
  $asPattern: "src/sandbox/worker/shell/programs/text/awk-separator.ts#asPattern",
  $goesOn: "src/sandbox/worker/shell/programs/text/sed-ranges.ts#goesOn",
};

/** Suspends `set -e` in all pipelines but the last of a list, and in those that are negated. */
const spareLists = (code: string, found: SyntaxIndex): Insertion[] => {
  const { method } = methodOf(found, "executeStatement");
  const call = only(
    callsOf(found, "executePipeline").filter(({ start, end }) => start > method.start && end < method.end),
    "runs a pipeline of a statement",
  );
  const [statement] = nodesIn((method["value"] as Node)["params"]);
  const [pipeline] = argumentsOf(call);
  const [list, one] = [codeOf(code, statement), codeOf(code, pipeline)];
  const state = "$context.state";
  return around(
    call,
    `(async($context,$was)=>{try{${state}.inCondition=$was||!${one}.isSelfContained&&(${one}.negated||${one}!==${list}.pipelines.at(-1));return await `,
    `}finally{${state}.inCondition=$was}})(this.ctx,this.ctx.state.inCondition)`,
  );
};

/** Replaces the error for an absent program by one with advice. */
const sayAbsent = (code: string, program: Node): Insertion[] => {
  const choices = allOf(program, "ConditionalExpression").filter((choice) =>
    codeOf(code, choice["consequent"] as Node).includes("command not available in browser environments"),
  );
  const choice = only(choices, "says that a program is not there");
  const text = codeOf(code, argumentsOf(choice["test"] as Node)[0]);
  const make = codeOf(code, (choice["consequent"] as Node)["callee"] as Node);
  return [{ at: choice.start, text: `$absent(${text})?${make}($absent(${text}),127):` }];
};

/** Ends a command that only assigns, without any `$(…)`, with 0 instead of the last status. */
const endAssignments = (code: string, found: SyntaxIndex): Insertion[] => {
  const { method } = methodOf(found, "executeSimpleCommandInner");
  const [command] = nodesIn((method["value"] as Node)["params"]);
  const statuses = allOf(method, "CallExpression")
    .map((call) => argumentsOf(call)[2])
    .filter((status) => status !== undefined)
    .filter((status) => nameOf(status["property"]) === "lastExitCode");
  if (command === undefined || statuses.length === 0)
    throw new Error("the code of the shell ends assignments where that is not expected");
  return statuses.map(({ start }) => ({ at: start, text: `${codeOf(code, command)}.isPlain?0:` }));
};

/** Runs a file that is called by its path as `bash file` does, without the variables and options of the caller. */
const runFiles = (code: string, found: SyntaxIndex): Insertion[] => {
  const call = only(
    found.calls.filter((each) => {
      const [path, , input, ...more] = argumentsOf(each);
      const isPlain = (each["callee"] as Node).type === "Identifier" && input !== undefined;
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
  const [path = "", words = "", input = ""] = argumentsOf(call).map((node) => codeOf(code, node));
  const [name, word] = [codeOf(code, host), codeOf(code, typed)];
  return [
    {
      at: call.start,
      text: `${name}.runCommand("bash",["--as-program",${word}.includes("/")?${word}:${path},...${words}],[],${input})??`,
    },
  ];
};

/** Expands a pattern that ends with a slash to folders alone, each with a slash. */
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

/** Lets patterns of files match names with line ends. */
const matchLineEnds = (found: SyntaxIndex): Insertion[] => {
  const { owner } = methodOf(found, "expandSimple");
  const method = nodesIn((owner["body"] as Node)["body"]).find(
    (member) => nameOf(member["key"]) === "patternToRegex",
  );
  const calls = allOf(method ?? owner, "CallExpression").filter(
    ({ callee }) => isNode(callee) && callee.type === "Identifier",
  );
  return [{ at: only(calls, "makes a pattern of files").end - 1, text: ',"s"' }];
};

/** Orders texts by the numbers of their characters, as the locale C does. */
const orderTexts = (found: SyntaxIndex): Insertion[] =>
  callsOf(found, "localeCompare")
    .filter((call) => argumentsOf(call).length === 1)
    .flatMap((call) => around((call["callee"] as Node)["object"] as Node, "$order(", ")"));

/** Ends a search after an empty match at the end of a text instead of failing. */
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

/** Reads and writes texts in git so that all their bytes stay: what is no UTF-8, and byte order marks. */
export const keepBytesOfGit = (program: Node): Insertion[] => {
  const coders = allOf(program, "NewExpression").filter((node) =>
    /^Text(De|En)coder$/.test(nameOf(node["callee"])),
  );
  const lenient = coders.filter((node) => !argumentsOf(node).some(({ type }) => type === "Literal"));
  if (lenient.length === 0) throw new Error("git's code decodes no text");
  return lenient.flatMap((node) => around(node, "($text||", ")"));
};

/** Does the same where the shell makes texts of bytes, and bytes of texts. */
const keepBytes = (code: string, found: SyntaxIndex): Insertion[] =>
  ["decode", "encode"].flatMap((name) => {
    const within = functionWith(code, found, `"UTF-8 ${name}"`);
    const { callee } = only(callsIn(within, found, name), `${name}s UTF-8`) as unknown as { callee: Node };
    return around(callee["object"] as Node, "($text||", ")");
  });

/** Stores texts where `read` and `mapfile` store the bytes that they read, one per character. */
const readTexts = (code: string, found: SyntaxIndex): Insertion[] => {
  const outer = (text: string): Node => {
    const { start, end } = functionWith(code, found, text);
    return only(
      found.functions.filter((each) => each.start < start && each.end > end).slice(-1),
      `reads with ${text}`,
    );
  };
  const read = outer("`read: string length limit exceeded");
  const end = only(callsIn(read, found, "endsWith"), "ends a line that is read");
  const line = codeOf(code, (end["callee"] as Node)["object"] as Node);
  const test = only(
    allOf(read, "ExpressionStatement").filter((each) => each.start < end.start && each.end > end.end),
    "cuts the end of a line that is read",
  );
  const whole = callsIn(read, found, "set").map((call) => argumentsOf(call)[1]);
  const pieces = whole.filter((value) => value !== undefined && nameOf(value) === line);
  const mapfile = functionWith(code, found, "`mapfile: string length limit exceeded");
  const [element] = argumentsOf(only(callsIn(mapfile, found, "push"), "keeps a line of mapfile"));
  return [
    { at: test.start, text: `${line}=$textFrom(${line});` },
    ...around(only(pieces as Node[], "stores characters that are read"), "$textFrom(", ")"),
    ...around(element ?? mapfile, "$textFrom(", ")"),
  ];
};

/** Holds bytes, one per character, in the descriptors that a script opens to read, as the standard input does. */
const holdBytes = (code: string, found: SyntaxIndex, program: Node): Insertion[] => {
  const open = only(
    found.functions.filter(
      (each) =>
        codeOf(code, each).includes('kind:"readwrite",path:') && callsIn(each, found, "readFile").length > 0,
    ),
    "opens a file to read",
  );
  const file = only(callsIn(open, found, "readFile"), "reads a file that is opened");
  const refusal = 'kind!=="readwrite")return!1';
  const write = functionWith(code, found, refusal);
  const test = only(
    allOf(write, "IfStatement").filter((each) => codeOf(code, each).includes(refusal)),
    "writes to a file that is read, too",
  );
  const [output, kind] = nodesIn(write["params"])
    .slice(3)
    .map((param) => codeOf(code, param));
  const documents = allOf(program, "VariableDeclarator").filter(({ start }) =>
    code.slice(0, start).endsWith('"HereDoc"){let '),
  );
  const document = nameOf(only(documents, "reads a here-document")["id"]);
  const contents = allOf(program, "ObjectExpression")
    .filter((each) => codeOf(code, each).startsWith('{kind:"input",content:'))
    .map((each) => nodesIn(each["properties"])[1]?.["value"] as Node)
    .filter((value) => value.type === "TemplateLiteral" || nameOf(value) === document);
  if (contents.length !== 5)
    throw new Error(`the code of the shell holds ${contents.length} texts to read; five are expected`);
  return [
    { at: file.end - 1, text: ',"latin1"' },
    { at: test.start, text: `if(${kind}!=="binary")${output}=$bytesOf(${output}),${kind}="binary";` },
    ...contents.flatMap((value) => around(value, "$bytesOf(", ")")),
  ];
};

/** Takes a word like `a=b` for the file or the text of a redirection, too. */
const redirectToAnyWord = (code: string, found: SyntaxIndex): Insertion[] => {
  const within = functionWith(code, found, '"Expected redirection target"');
  const call = only(callsIn(within, found, "isWord"), "looks for the target of a redirection");
  const parser = codeOf(code, (call["callee"] as Node)["object"] as Node);
  return around(call, "(", `||${parser}.current().type==="ASSIGNMENT_WORD")`);
};

/** Takes the output of a command as text where it is redirected into that of errors, or this into it. */
const redirectTexts = (code: string, found: SyntaxIndex): Insertion[] => {
  const node = only(
    found.functions.filter(
      (each) => each.type === "FunctionDeclaration" && codeOf(code, each).includes('"live-stdout"'),
    ),
    "redirects output",
  );
  const [host, result, redirections] = nodesIn(node["params"]).map((param) => codeOf(code, param));
  const text = `${result}=$asText(${result},${redirections},${host}.state.fileDescriptors);`;
  return [{ at: (node["body"] as Node).start + 1, text }];
};

/** Leaves the output of a script as it is, which the shell decodes for a second time. */
const decodeOnce = (found: SyntaxIndex): Insertion[] => {
  const { method } = methodOf(found, "logResult");
  const calls = found.calls.filter(({ start, end, callee }) => {
    const isPlain = isNode(callee) && callee.type === "Identifier";
    return isPlain && start > method.start && end < method.end;
  });
  if (calls.length !== 2) throw new Error("the code of the shell decodes its output in an unexpected place");
  return calls.flatMap(({ callee }) => around(callee as Node, "(String||", ")"));
};

/** Gives a command whose input is empty this one, not the input around it. */
const keepEmpty = (code: string, found: SyntaxIndex): Insertion[] => {
  const { method } = methodOf(found, "executeSimpleCommandInner");
  const call = only(callsIn(method, found, "runCommand"), "runs a simple command");
  const [, , , input, , , , isGiven] = argumentsOf(call).map((node) => codeOf(code, node));
  if (isGiven === undefined) throw new Error("the code of the shell gives commands their input elsewhere");
  const start = `(async($state,$was)=>{if(${isGiven}&&${input}==="")$state.groupStdin="";try{return await `;
  const end = `}finally{if(${isGiven}&&${input}==="")$state.groupStdin=$was}})(this.ctx.state,this.ctx.state.groupStdin)`;
  return around(call, start, end);
};

/** Returns the texts that mend the shell, and where they are inserted. */
export const findMends = (code: string, program: Node, found: SyntaxIndex): Insertion[] => {
  const { owner } = methodOf(found, "parseScript");
  const parses = callsOf(found, "parseScript");
  return [
    ...parses.flatMap((call) => around(call, "$mend(", ")")),
    ...spareLists(code, found),
    ...mendArithmetic(code, found, nameOfClass(code, owner)),
    ...sayAbsent(code, program),
    ...endAssignments(code, found),
    ...runFiles(code, found),
    ...matchFolders(found),
    ...matchLineEnds(found),
    ...orderTexts(found),
    ...endSearches(code, found),
    ...keepBytes(code, found),
    ...readTexts(code, found),
    ...holdBytes(code, found, program),
    ...redirectToAnyWord(code, found),
    ...redirectTexts(code, found),
    ...decodeOnce(found),
    ...keepEmpty(code, found),
    ...mendTextPrograms(code, found),
  ];
};
