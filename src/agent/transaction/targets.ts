import type { Lanes } from "../../model/retry.ts";
import { startLanes } from "../../model/retry.ts";
import type { Agent, Lane } from "../definition/agent.ts";
import { everyLane } from "../definition/agent.ts";
import type { Phase, Run } from "../state/run.ts";
import type { Draft } from "./draft.ts";
import { agentOf, threadOf } from "./draft.ts";

/** The lane that a thread's call went to, also if the session has another model since; undefined if it is gone. */
export const laneOf = (
  draft: Draft,
  threadId: string,
  { provider, model }: { readonly provider: string; readonly model: string },
): Lane | undefined => {
  for (const chosen of [undefined, null, `${provider}/${model}`]) {
    const lanes = everyLane(draft.moment.agents(threadOf(draft, threadId), chosen));
    const found = lanes.find((lane) => lane.provider === provider && lane.model === model);
    if (found !== undefined) return found;
  }
  return undefined;
};

export type Thinking = Extract<Phase, { at: "thinking" }>;

/** The lanes that a turn begins with now. */
export const turnLanes = (draft: Draft, threadId: string): Lanes => {
  const { health, now } = draft.moment;
  const { lanes } = agentOf(draft, threadId);
  return startLanes(
    lanes.map(({ provider, model }) => ({ provider, model, ...health(provider, model) })),
    now,
  );
};

/** Whether the lanes that a wait was begun with are still the agent's: a model override takes others. */
const sameLanes = ({ list }: Lanes, lanes: Agent["lanes"]): boolean =>
  list.length === lanes.length &&
  list.every(({ provider, model }, at) => provider === lanes[at]?.provider && model === lanes[at].model);

export const attemptOf = (
  draft: Draft,
  threadId: string,
  { phase }: Run,
): Pick<Thinking, "attempt" | "lanes" | "booked"> => {
  if (phase.at === "waiting" && sameLanes(phase.lanes, agentOf(draft, threadId).lanes)) return phase;
  const attempt = phase.at === "waiting" || phase.at === "preparing" ? phase.attempt : 1;
  return { attempt, lanes: turnLanes(draft, threadId), booked: false };
};
