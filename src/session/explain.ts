import * as z from "zod";
import type { Agent } from "../agent/definition/agent.ts";
import { placeOf, validGrants } from "../agent/calls/grants.ts";
import type { GrantsUpdate } from "../agent/calls/grants.ts";
import type { CallPlan } from "../agent/state/call.ts";
import type { Session } from "../agent/state/session.ts";
import type { Json } from "../chat/message.ts";
import { refuseField } from "./problems.ts";

/** Explains what rules and grants decide about a call, which is not run. */

export const explainedCallSchema = z.strictObject({
  agent: z.string().max(64),
  tool: z.string().max(128),
  input: z.json().default({}),
});

export type ExplainedCall = z.output<typeof explainedCallSchema>;

/** Describes a verdict as the API shows it; of a call with missing or wrong arguments there is none. */
export const describePlan = ({ verdict, by, reason, remember, refusal }: CallPlan): Json => {
  if (refusal !== undefined && by === "arguments")
    return refuseField("invalid_request", "/input", refusal.text.replace("invalid_arguments: ", ""));
  return {
    verdict: refusal === undefined ? verdict : "deny",
    by,
    ...(by.startsWith("rule ") ? { rule: by.slice("rule ".length) } : {}),
    ...(reason === undefined ? {} : { reason }),
    ...(verdict === "ask" && remember !== null ? { remember: { ...remember } } : {}),
    ...(refusal === undefined ? {} : { error: refusal.text }),
  };
};

/** Judges a call of the newest thread in which the agent works, with the grants that hold there. */
export const explainCall = (
  state: Session,
  agentOf: (thread: string, tool: string) => Agent,
  { agents, revoked }: GrantsUpdate,
  { agent: name, tool, input }: ExplainedCall,
  now: number,
): Json => {
  const threads = Object.values(state.threads);
  const thread = threads.findLast(({ agent }) => agent === name);
  if (thread === undefined) {
    const known = [...new Set(threads.map(({ agent }) => agent))].join(", ");
    return refuseField("unknown_agent", "/agent", `Agents at work in this session: ${known}.`);
  }
  const own = state.grants.filter(({ id }) => !revoked.includes(id));
  const call = { name: tool, args: JSON.stringify(input) };
  const grants = validGrants(own, agents, now);
  return describePlan(agentOf(thread.id, tool).judge(call, grants, placeOf(state, thread.id)));
};
