import { isNode, nameOf, nodesIn } from "../syntax.ts";
import type { Node, SyntaxIndex } from "../syntax.ts";
import { allOf, argumentsOf, around, callsIn, callsOf, codeOf, functionWith, only } from "./mend-places.ts";
import type { Insertion } from "./mend-places.ts";

/** Mends of sed and awk. */

/** Finds the lines of a range of sed, each command for itself. */
const findRanges = (code: string, found: SyntaxIndex): Insertion[] => {
  const node = functionWith(code, found, ".startLine=");
  const [range, line, total, text, open, state] = nodesIn(node["params"]).map((param) => codeOf(code, param));
  const names = allOf(node, "CallExpression")
    .filter((call) => argumentsOf(call).length === 5)
    .map((call) => nameOf(call["callee"]));
  const [match, ...others] = new Set(names);
  if (state === undefined || match === undefined || others.length > 0)
    throw new Error("the code of the shell looks for the lines of a range of sed in an unexpected way");
  const test = `($address)=>${match}($address,${line},${total},${text},${state})`;
  const result = `$isInRange(${range},${line},${open},${test})`;
  return [
    {
      at: (node["body"] as Node).start + 1,
      text: `if(${range}?.start!==void 0&&${range}.end!==void 0)return ${result};`,
    },
  ];
};

/** Prints the text of `c` once for a range. */
const changeOnce = (code: string, found: SyntaxIndex): Insertion[] => {
  const changes = allOf(functionWith(code, found, ".changedText="), "AssignmentExpression").filter(
    ({ left }) => nameOf((left as Node)["property"]) === "changedText",
  );
  const { left, right } = only(changes, "changes a line") as unknown as { left: Node; right: Node };
  const [state, command] = [left, right].map((each) => codeOf(code, each["object"] as Node));
  return [{ at: right.start, text: `$goesOn(${state}.rangeStates,${command}.address)?void 0:` }];
};

/** Keeps a backslash that escapes nothing in what `sub` and `gsub` of awk put in: `\"`. */
const keepBackslashes = (code: string, found: SyntaxIndex): Insertion[] => {
  const texts = callsOf(found, "append")
    .map((call) => argumentsOf(call)[0])
    .filter((text) => text !== undefined)
    .filter(({ property }) => isNode(property) && property.type === "BinaryExpression");
  const text = only(texts, "drops a backslash");
  const [object, property] = [text["object"], text["property"]] as [Node, Node];
  return [{ at: text.start, text: `${codeOf(code, object)}[${codeOf(code, property["left"] as Node)}]+` }];
};

/** Splits at separators of awk as its fields are split, and an empty text into nothing. */
const splitTexts = (code: string, found: SyntaxIndex): Insertion[] => {
  const choice = only(
    found.functions
      .filter(
        (each) => callsIn(each, found, "split").length === 2 && callsIn(each, found, "evalExpr").length > 0,
      )
      .flatMap((each) => allOf(each, "ConditionalExpression"))
      .filter(({ test }) => codeOf(code, test as Node).startsWith("typeof ")),
    "splits a text at a separator",
  );
  const [separator, text] = [choice["alternate"], choice["consequent"]].map((call) =>
    codeOf(code, ((call as Node)["callee"] as Node)["object"] as Node),
  );
  const within = only(
    found.functions.filter((each) => each.start < choice.start && each.end > choice.end).slice(-1),
    "splits texts",
  );
  const blanks = allOf(within, "CallExpression").filter((call) =>
    String(argumentsOf(call)[0]?.["value"]).startsWith("\\s"),
  );
  const [make] = blanks.map((call) => codeOf(code, call["callee"] as Node));
  if (make === undefined) throw new Error("the code of the shell splits texts at no blanks");
  const isText = `typeof ${separator}=="string"&&${separator}!==""`;
  const mended = `(${isText}&&(${separator}=${make}($asPattern(${separator}))),${text}===""?[]:`;
  return [
    ...blanks.flatMap((call) => around(call, `(${text}=${text}.trim(),`, ")")),
    ...around(choice, mended, ")"),
  ];
};

/** Takes a field separator of one character for that character. */
const splitFields = (code: string, found: SyntaxIndex): Insertion[] => {
  const { block } = only(
    allOf(functionWith(code, found, ".fieldSep="), "TryStatement"),
    "makes a pattern of a field separator",
  ) as unknown as { block: Node };
  const call = only(allOf(block, "CallExpression"), "takes a field separator for a pattern");
  return argumentsOf(call).flatMap((separator) => around(separator, "$asPattern(", ")"));
};

/** Keeps the slashes around a text that is a pattern. */
const keepSlashes = (code: string, found: SyntaxIndex): Insertion[] => {
  const node = functionWith(code, found, '.type==="regex")return ');
  const call = only(callsIn(node, found, "startsWith"), "looks for slashes around a pattern");
  return [{ at: call.start, text: "!1&&" }];
};

/** Leaves the backslashes in a format, which were read with its text. */
const keepFormats = (code: string, found: SyntaxIndex): Insertion[] => {
  const tests = found.functions
    .filter((each) => codeOf(code, each).includes("`printf precision limit exceeded"))
    .flatMap((each) => allOf(each, "IfStatement"))
    .map(({ test }) => test as Node)
    .filter((test) => /^\w+\[\w+\]==="\\\\"&&/.test(codeOf(code, test)));
  return [{ at: only(tests, "reads a backslash of a format").start, text: "!1&&" }];
};

export const mendTextPrograms = (code: string, found: SyntaxIndex): Insertion[] => [
  ...findRanges(code, found),
  ...changeOnce(code, found),
  ...keepBackslashes(code, found),
  ...splitTexts(code, found),
  ...splitFields(code, found),
  ...keepSlashes(code, found),
  ...keepFormats(code, found),
];
