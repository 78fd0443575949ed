import { isNode, nameOf, nodesIn } from "../syntax.ts";
import type { Node, SyntaxIndex } from "../syntax.ts";
import { allOf, argumentsOf, callsOf, codeOf, functionWith, only } from "./mend-places.ts";
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

export const mendTextPrograms = (code: string, found: SyntaxIndex): Insertion[] => [
  ...findRanges(code, found),
  ...changeOnce(code, found),
  ...keepBackslashes(code, found),
];
