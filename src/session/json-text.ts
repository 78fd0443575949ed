import { deepestInput, depthOf } from "../chat/json-depth.ts";
import { findJsonFault, positionIn } from "../chat/json-fault.ts";
import { refuse } from "./problems.ts";

/** Parses JSON that a caller sent. */

/** Refuses a text as `invalid_json`, with the line and the column of the error. */
export const refuseJson = (sentence: string, text: string, at: number): never => {
  const { line, column } = positionIn(text, at);
  return refuse("invalid_json", `${sentence} at line ${line}, column ${column}.`, { meta: { line, column } });
};

/** Parses a text; `what` names it in a refusal. */
export const parseInput = (text: string, what: "body" | "frame"): unknown => {
  const refused = (why: string): never =>
    refuseJson(`The ${what} ${why}`, text, findJsonFault(text, deepestInput) ?? text.length);
  if (depthOf(text) > deepestInput) return refused(`nests deeper than ${deepestInput} levels`);
  try {
    return JSON.parse(text);
  } catch {
    return refused("is not JSON");
  }
};
