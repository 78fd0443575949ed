import { isNode, nameOf, nodesIn } from "../syntax.ts";
import type { Node, SyntaxIndex } from "../syntax.ts";
import {
  allOf,
  argumentsOf,
  around,
  callsOf,
  codeOf,
  functionWith,
  methodOf,
  nameOfClass,
  only,
} from "./mend-places.ts";
import type { Insertion } from "./mend-places.ts";

/** Mends of arithmetic: `$((…))` and `((…))`. */

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
    const body = `new ${parser}().parse(${codeOf(code, script)}).statements`;
    const subshell = `{type:"Subshell",body:${body},redirections:[]}`;
    return {
      at: call.start,
      text: `${codeOf(code, context)}.executeCommand(${subshell},"")??`,
    };
  });
};

/** Calculates with all bits of whole numbers, and fails where a result would be rounded. */
const calculateWhole = (code: string, found: SyntaxIndex): Insertion[] => {
  const plain = functionWith(code, found, 'case"<<":return');
  const [failure] = allOf(plain, "NewExpression").map((each) => codeOf(code, each["callee"] as Node));
  const inverse = functionWith(code, found, 'case"~":return~');
  const not = only(
    allOf(inverse, "UnaryExpression").filter((each) => each["operator"] === "~"),
    "inverts bits",
  );
  return [
    ...[plain, functionWith(code, found, 'case"<<=":return')].map((node) => {
      const operands = nodesIn(node["params"]).map((param) => codeOf(code, param));
      const text = `const $whole=$calculate(${operands.join()},${failure});if($whole!==null)return $whole;`;
      return { at: (node["body"] as Node).start + 1, text };
    }),
    ...around(not, " Number(", ")"),
    ...around(not["argument"] as Node, "BigInt(", ")"),
  ];
};

/** Takes `<<` inside `((…))` for a shift, not for the beginning of a here-document. */
const shiftInCommands = (code: string, found: SyntaxIndex): Insertion[] => {
  const modes = found.assignments
    .filter(({ left, right }) => {
      const isMode = isNode(left) && nameOf(left["property"]) === "pendingHeredocDelimiterMode";
      return isMode && isNode(right) && right["operator"] === "!";
    })
    .map(({ right }) => right as Node);
  const reader = methodOf(found, "parseArithmeticCommand").method;
  const end = only(
    allOf(reader, "BinaryExpression").filter((test) => codeOf(code, test["right"] as Node) === '"="'),
    "joins an operator with =",
  );
  if (modes.length !== 2)
    throw new Error("the code of the shell begins here-documents in an unexpected place");
  return [
    ...modes.map(({ start }) => ({ at: start, text: "this.dparenDepth>0?void 0:" })),
    { at: (end["left"] as Node).end, text: "[0]" },
  ];
};

/** Returns the name of the error of a calculation that fails. */
const errorOf = (code: string, found: SyntaxIndex): string =>
  nameOfClass(
    code,
    only(
      found.classes
        .map(({ node }) => node)
        .filter((node) => codeOf(code, node).includes('name="ArithmeticError"')),
      "names the error of a calculation",
    ),
  );

/** Drops what follows on the line of a calculation that fails. */
const failLine = (code: string, found: SyntaxIndex, error: string): Insertion[] => {
  const { method } = methodOf(found, "executeScript");
  const branch = only(
    allOf(method, "IfStatement").filter((each) =>
      codeOf(code, each["test"] as Node).endsWith(` instanceof ${error}`),
    ),
    "goes on after a failed calculation",
  );
  const goOn = only(allOf(branch, "ContinueStatement"), "goes on there");
  const loop = only(allOf(method, "ForOfStatement"), "runs the statements of a script");
  const [declared] = nodesIn((loop["left"] as Node)["declarations"]);
  const line = `${codeOf(code, declared)}.pipelines[0]?.commands[0]?.line`;
  return [
    { at: loop.start, text: "let $failed;" },
    ...around(loop["body"] as Node, `{if(${line}!==void 0&&${line}===$failed)continue;`, "}"),
    { at: goOn.start, text: `$failed=${line};` },
  ];
};

/** Ends a member of a pipeline alone with a calculation that fails in it. */
const failMember = (code: string, found: SyntaxIndex, error: string): Insertion[] => {
  const runner = functionWith(code, found, ".internalPipeStatusOverride??");
  const clause = only(allOf(runner, "CatchClause"), "catches what a member of a pipeline throws");
  const ended = only(
    allOf(clause, "IfStatement").filter((each) =>
      codeOf(code, each["consequent"] as Node).includes("exitCode:1}"),
    ),
    "ends a member of a pipeline with 1",
  );
  const [, pipeline] = nodesIn(runner["params"]);
  if (pipeline === undefined) throw new Error("the code of the shell runs pipelines in an unexpected place");
  const thrown = codeOf(code, clause["param"] as Node);
  const test = `${thrown} instanceof ${error}&&${codeOf(code, pipeline)}.commands.length>1||`;
  return [{ at: (ended["test"] as Node).start, text: test }];
};

/** Ends `for ((…))` alone with a calculation that fails in its header; the loop handles those of its body itself. */
const failHeader = (code: string, found: SyntaxIndex, error: string): Insertion[] => {
  const loop = functionWith(code, found, "`for loop: too many iterations (${");
  const { body } = loop["body"] as { body: unknown } & Node;
  const declarations = nodesIn(body).filter(({ type }) => type === "VariableDeclaration");
  const made = declarations
    .flatMap((each) => nodesIn(each["declarations"]))
    .filter(({ init }) => isNode(init) && init.type === "NewExpression");
  const collector = codeOf(code, only(made, "collects the output of for ((…))")["id"] as Node);
  const start = declarations.at(-1)?.end ?? loop.start;
  const end = `}catch($thrown){if(!($thrown instanceof ${error}))throw $thrown;`;
  const append = `${collector}.append($thrown.stdout,$thrown.stderr);return ${collector}.build(1)}`;
  return [
    { at: start, text: "try{" },
    { at: (loop["body"] as Node).end - 1, text: end + append },
  ];
};

export const mendArithmetic = (code: string, found: SyntaxIndex, parser: string): Insertion[] => {
  const error = errorOf(code, found);
  return [
    ...keepArithmetic(code, found, parser),
    ...calculateWhole(code, found),
    ...shiftInCommands(code, found),
    ...failLine(code, found, error),
    ...failMember(code, found, error),
    ...failHeader(code, found, error),
  ];
};
