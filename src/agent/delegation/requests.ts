import { parseArguments } from "../../tools/arguments.ts";
import { catchThrown } from "../../tools/errors.ts";
import type { WorkReport, SessionRequest } from "../../tools/session-request.ts";
import { answerCall, refuseCall } from "../calls/finish.ts";
import type { AgentCard } from "../definition/delegation.ts";
import { matchCapabilities } from "../definition/delegation.ts";
import type { Call } from "../state/call.ts";
import { argsOf } from "../state/call.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, threadOf } from "../transaction/draft.ts";
import { startChildren } from "./calls.ts";
import { dispatchGraph } from "./dispatch.ts";
import { requestHandover } from "./handoff.ts";
import { cancelOwnChild, reportChildren, messageChild, withChild } from "./manage.ts";
import { askCaller, answerQuestion } from "./questions.ts";
import { changeChild } from "./start.ts";

/** Does what calls ask of the session itself, in the commit that starts them. */

const cardView = ({ skills_tags, estimated_cost, capabilities, name, description }: AgentCard): object => ({
  name,
  description,
  ...(capabilities.length === 0 ? {} : { capabilities }),
  ...(skills_tags.length === 0 ? {} : { skills_tags }),
  ...(estimated_cost === null ? {} : { estimated_cost }),
});

/** Lists the callable agents by name; those that fit a task best come first, with their score. */
const listAgents = (draft: Draft, threadId: string, task: string | null): string => {
  const { callable } = agentOf(draft, threadId).delegation;
  const matches = new Map(
    (task === null ? [] : matchCapabilities(callable, task)).map((match) => [match.agentId, match]),
  );
  const best = [...matches.keys()];
  const order = ({ name }: AgentCard): number => (matches.has(name) ? best.indexOf(name) : best.length);
  const listed = callable.toSorted((a, b) => order(a) - order(b));
  return JSON.stringify(
    listed.map((card) => {
      const match = matches.get(card.name);
      const scored = match === undefined ? {} : { score: match.score, matched_capability: match.matchedCap };
      return { ...cardView(card), ...scored };
    }),
  );
};

/** Records the first report of a batch; later ones are acknowledged. */
const reportCompletion = (draft: Draft, threadId: string, call: Call, completion: WorkReport): void => {
  const { child } = threadOf(draft, threadId);
  if (child === null)
    return refuseCall(
      draft,
      threadId,
      call,
      "not_permitted",
      "no agent called you: answer the person instead",
    );
  if (child.completion === null) changeChild(draft, threadId, { completion });
  const said =
    child.completion === null ? "Reported." : "You have already reported; the first report stands.";
  answerCall(draft, threadId, call, said);
};

const carryOutRequest = (draft: Draft, threadId: string, call: Call, request: SessionRequest): void => {
  switch (request.do) {
    case "start_children":
      return startChildren(draft, threadId, call, request);
    case "dispatch_tasks":
      return dispatchGraph(draft, threadId, call, request.graph);
    case "list_agents":
      return answerCall(draft, threadId, call, listAgents(draft, threadId, request.task));
    case "check_children":
      return reportChildren(draft, threadId, call, request.child);
    case "steer_child":
      return withChild(draft, threadId, call, request.child, (child) =>
        messageChild(draft, threadId, call, child, request.message),
      );
    case "cancel_child":
      return cancelOwnChild(draft, threadId, call, request.child, request.reason);
    case "answer_child":
      return withChild(draft, threadId, call, request.child, ({ id: child }) =>
        answerQuestion(draft, threadId, call, { ...request, child }),
      );
    case "complete":
      return reportCompletion(draft, threadId, call, request.completion);
    case "hand_over":
      return requestHandover(draft, threadId, call, request);
    case "request_input":
      return askCaller(draft, threadId, call, request);
  }
};

/** Does what a call asks: the call is answered, or parked on what it began. */
export const performRequest = (draft: Draft, threadId: string, call: Call): void => {
  const bound = agentOf(draft, threadId).tools.get(call.call.name);
  const request = bound?.tool.request ?? null;
  if (bound === undefined || request === null) {
    refuseCall(draft, threadId, call, "unavailable", `${call.call.name} is not part of this deployment`);
    return;
  }
  const parsed = parseArguments(bound.tool, argsOf(call));
  if (!parsed.ok) return answerCall(draft, threadId, call, parsed.error.content, false);
  const asked = catchThrown(() => request(parsed.args));
  if ("thrown" in asked) refuseCall(draft, threadId, call, "failed", asked.thrown);
  else carryOutRequest(draft, threadId, call, asked.given);
};
