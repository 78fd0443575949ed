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

interface PermissionWords {
  readonly verb: string;
  readonly by: string;
}

const describeJudge = (by: string, own: string): string => {
  const [, kind, name = ""] = /^(rule|preset|guard) (.+)/s.exec(by) ?? [];
  if (kind === undefined) return nameOf(by, own);
  return `the ${kind} “${name}”`;
};

/** Says who allowed a call or denied it; null where nobody was asked. */
export const describePermission = (
  permission: CallEntry["permission"],
  own: string,
): PermissionWords | null =>
  permission === null
    ? null
    : {
        verb: permission.verdict === "deny" ? "Denied by" : "Allowed by",
        by: escapeInLine(describeJudge(permission.by, own)),
      };
