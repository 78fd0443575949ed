import type { CallEntry } from "../../client/transcript.ts";
import { nameOf } from "../asks/closed.ts";
import { escapeInLine } from "../parts/escape.ts";
import { resultOf } from "./verbs.ts";

/** Who let a call run or kept it from running, in words. */

/** These guards keep an agent from going in circles. */
const loopGuards: readonly string[] = ["tool_loops", "equal_replies"];

/** Says what came of a call; a guard that refused it is no rule of the team. */
export const describeResult = (call: CallEntry): string => {
  const guard = /^guard (\w+)/.exec(call.permission?.by ?? "")?.[1];
  if (call.outcome !== "denied" || guard === undefined) return resultOf(call);
  return loopGuards.includes(guard)
    ? "held back, since it went in circles"
    : "held back by the team’s settings";
};

/** So the name of a judge begins that is a permission given before. */
const grant = "grant ";

interface PermissionWords {
  readonly verb: string;
  readonly by: string;
}

const describeJudge = (by: string, own: string): string => {
  if (by.startsWith(grant)) return "a remembered permission";
  const [, kind, name = ""] = /^(rule|preset|guard) (.+)/s.exec(by) ?? [];
  if (kind === undefined) return nameOf(by, own);
  return `the ${kind} “${name}”`;
};

/** Tells whether a call was allowed by what a person had approved before. */
export const isRemembered = ({ permission }: Pick<CallEntry, "permission">): boolean =>
  permission?.by.startsWith(grant) === true;

/** Says who allowed a call or denied it, and what had the person asked; null where nothing judged it. */
export const describePermission = (
  { permission, asks }: Pick<CallEntry, "permission" | "asks">,
  own: string,
): PermissionWords | null => {
  if (permission === null) return null;
  const { verdict, by } = permission;
  const judge = describeJudge(by, own);
  const approval = asks.find(({ kind }) => kind === "approval");
  const person = verdict === "approved" ? approval?.resolution?.by : undefined;
  return {
    verb: verdict === "deny" ? "Denied by" : "Allowed by",
    by: escapeInLine(person === undefined ? judge : `${nameOf(person, own)}, asked because of ${judge}`),
  };
};
