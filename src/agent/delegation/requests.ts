import { parseArguments } from "../../tools/arguments.ts";
import type { Refusal } from "../../tools/errors.ts";
import { catchThrown, refuse } from "../../tools/errors.ts";
import type { WorkReport, SessionRequest, StartChildren } from "../../tools/session-request.ts";
import { answerCall, refuseCall } from "../calls/tool-calls.ts";
import type { AgentCard } from "../definition/delegation.ts";
import { matchCapabilities } from "../definition/delegation.ts";
import { argsOf } from "../state/call.ts";
import type { Draft, DraftCall, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, changeChild, selectThread } from "../transaction/draft.ts";
import { dispatchGraph } from "./dispatch.ts";
import { requestHandover } from "./end.ts";
import { askCaller, answerQuestion, liveChildItem, parkCallOnChildren, answerWait } from "./wait.ts";
import type { ChildStart } from "./start.ts";
import { findChildRecord, startChild, notifyThread } from "./start.ts";
import { ownEntry } from "../../chat/json.ts";
import { escapeTags } from "../../chat/render.ts";
import { cleanText, firstCharacters } from "../../chat/text.ts";
import { lastTextPreview } from "../context/reports.ts";
import { findInboxLimit, assignInputId, inboxLimits } from "../inputs/inputs.ts";
import { stopChild } from "../run/cancel.ts";
import type { ChildItem, EndedChild } from "../state/child.ts";
import { isEnded } from "../state/child.ts";
import { isAskingCaller } from "../state/thread.ts";
import { noSpending } from "../state/budget.ts";
import { planChildren } from "./admission.ts";

/** Does what calls ask of the session itself, in the commit that starts them. */

const cardView = ({ skills_tags, estimated_cost, capabilities, name, description }: AgentCard): object => ({
  name,
  description,
  ...(capabilities.length === 0 ? {} : { capabilities }),
  ...(skills_tags.length === 0 ? {} : { skills_tags }),
  ...(estimated_cost === null ? {} : { estimated_cost }),
});

/** Lists the callable agents by name; those that fit a task best come first, with their score. */
const listAgents = (draft: ThreadDraft, task: string | null): string => {
  const { callable } = agentOf(draft).delegation;
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
const reportCompletion = (draft: ThreadDraft, completion: WorkReport): string | Refusal => {
  const { child } = draft.thread;
  if (child === null) return refuse("not_permitted", "no agent called you: answer the person instead");
  if (child.completion !== null) return "You have already reported; the first report stands.";
  changeChild(draft, { completion });
  return "Reported.";
};

/** What a request comes to at once: the answer to its call, or a refusal; null if the call waits or was answered. */
type RequestOutcome = string | Refusal | null;

const carryOutRequest = (draft: ThreadDraft, call: DraftCall, request: SessionRequest): RequestOutcome => {
  switch (request.do) {
    case "start_children":
      startChildren(draft, call, request);
      return null;
    case "dispatch_tasks":
      return dispatchGraph(draft, call, request.graph);
    case "list_agents":
      return listAgents(draft, request.task);
    case "check_children":
      return reportChildren(draft, request.child);
    case "steer_child":
      return withChild(draft, request.child, (child) => messageChild(child, request.message));
    case "cancel_child":
      return cancelOwnChild(draft, request.child, request.reason);
    case "answer_child":
      return withChild(draft, request.child, (child) => answerQuestion(draft, call, child, request));
    case "complete":
      return reportCompletion(draft, request.completion);
    case "hand_over":
      return requestHandover(draft, request);
    case "request_input":
      return askCaller(draft, call, request);
  }
};

/** Does what a call asks: the call is answered, or parked on what it began. */
export const performRequest = (draft: ThreadDraft, call: DraftCall): void => {
  const bound = agentOf(draft).tools.get(call.call.name);
  const request = bound?.tool.request ?? null;
  if (bound === undefined || request === null) {
    const sentence = `${call.call.name} is not part of this deployment`;
    return refuseCall(draft, call, refuse("unavailable", sentence));
  }
  const parsed = parseArguments(bound.tool, argsOf(call));
  if (!parsed.ok) return answerCall(draft, call, parsed.error.content, false);
  const asked = catchThrown(() => request(parsed.args));
  const outcome =
    "thrown" in asked ? refuse("failed", asked.thrown) : carryOutRequest(draft, call, asked.given);
  if (typeof outcome === "string") answerCall(draft, call, outcome);
  else if (outcome !== null) refuseCall(draft, call, outcome);
};

/** Lets a caller manage the children that it does not wait for. */

/** Returns the child that has the task now: it may have been handed over several times. */
const currentChildOf = (draft: Draft, child: string): string => {
  let id = child;
  while (ownEntry(draft.state.threads, id)?.run == null) {
    const { successor } = findChildRecord(draft, id)?.end ?? {};
    if (successor === undefined) break;
    id = successor;
  }
  return id;
};

/** Child that a caller names: its thread while it is at work, then its record. */
type OwnChild = { readonly live: ThreadDraft } | { readonly live: null; readonly record: EndedChild };

/** Finds the child that has the task now, if it is one of the caller's. */
const findOwnChild = (draft: ThreadDraft, named: string): OwnChild | Refusal => {
  const id = currentChildOf(draft, named);
  const thread = ownEntry(draft.state.threads, id);
  if (thread !== undefined && thread.parent?.thread === draft.thread.id && thread.run !== null)
    return { live: selectThread(draft, id) };
  const record = findChildRecord(draft, id);
  if (record?.parent.thread === draft.thread.id && isEnded(record)) return { live: null, record };
  return refuse("child_not_found", `you have no child ${firstCharacters(named, 64)}`);
};

/** Does an action with a child at work; otherwise says what is known of the child. */
const withChild = (
  draft: ThreadDraft,
  named: string,
  then: (child: ThreadDraft) => RequestOutcome,
): RequestOutcome => {
  const found = findOwnChild(draft, named);
  if ("ok" in found) return found;
  if (found.live !== null) return then(found.live);
  const { id, end } = found.record;
  const came = end.state === "completed" ? end.result : end.error;
  return refuse("child_ended", `${id} has ended (${end.state}): ${came ?? ""}`);
};

const liveChildView = (draft: ThreadDraft): object => {
  const { id, agent, child, run } = draft.thread;
  const { label, task } = child ?? { label: "", task: "" };
  const { turn: turns, spent } = run ?? { turn: 0, spent: noSpending };
  const { state, question } = liveChildItem(draft.thread);
  return {
    child: id,
    agent,
    label,
    state,
    task,
    turns,
    usage: spent.usage,
    last_text: lastTextPreview(draft),
    question,
  };
};

const endedChildView = ({ id, agent, label, task, end }: EndedChild): object => {
  const { state, turns, usage, last_text, successor } = end;
  const view = { child: id, agent, label, state, task: firstCharacters(task, 200), turns, usage, last_text };
  return successor === undefined ? view : { ...view, handed_over_to: successor };
};

/** Reports the newest children of a thread, those at work first. */
const reportAllChildren = (draft: ThreadDraft): string => {
  const live = Object.values(draft.state.threads).filter(
    ({ parent, run }) => parent?.thread === draft.thread.id && run !== null,
  );
  const changed = new Map(draft.children.map((record) => [record.id, record]));
  const ended = draft.context.children
    .of(draft.thread.id)
    .filter(({ id }) => !live.some((thread) => thread.id === id))
    .map((record) => changed.get(record.id) ?? record)
    .filter(isEnded);
  return JSON.stringify([
    ...live.map(({ id }) => liveChildView(selectThread(draft, id))),
    ...ended.map(endedChildView),
  ]);
};

/** Reports the children of a thread, or the one that is named, however old it is. */
const reportChildren = (draft: ThreadDraft, named: string | null): string | Refusal => {
  if (named === null) return reportAllChildren(draft);
  const found = findOwnChild(draft, named);
  if ("ok" in found) return found;
  return JSON.stringify([found.live === null ? endedChildView(found.record) : liveChildView(found.live)]);
};

const inboxLimitTexts = {
  inputs: `${inboxLimits.inputs} messages wait for it; let it read them`,
  characters: `the messages that wait in this session may have ${inboxLimits.characters} characters in all; let them be read, or send less`,
} as const;

/** Sends a message for a child's next model call; its context and work stay. */
const messageChild = (draft: ThreadDraft, message: string): string | Refusal => {
  const { id: child, agent } = draft.thread;
  const text = escapeTags(cleanText(message));
  const lack = findInboxLimit(draft, { thread: child, content: [{ type: "text", text }] });
  if (lack !== null) return refuse("limit", inboxLimitTexts[lack]);
  notifyThread(draft, assignInputId(draft), text);
  const state = isAskingCaller(draft.thread) ? "waiting" : "running";
  return JSON.stringify({ child, agent, state });
};

/** Stops a child; one that has ended stays as it is. */
const cancelOwnChild = (draft: ThreadDraft, named: string, reason: string | null): string | Refusal => {
  const found = findOwnChild(draft, named);
  if ("ok" in found) return found;
  if (found.live === null) return JSON.stringify({ child: found.record.id, state: found.record.end.state });
  stopChild(found.live, reason ?? "its caller cancelled it", true);
  return JSON.stringify({ child: found.live.thread.id, state: "cancelled" });
};

/** Checks a call that starts other agents as a whole; then parks it and starts its children in one commit. */

const isPlanned = (slot: ChildStart | ChildItem): slot is ChildStart => "call" in slot;

/** Starts the children of a call, or answers why none starts. */
export const startChildren = (
  draft: ThreadDraft,
  call: DraftCall,
  { tasks, on_error, answer }: StartChildren,
): void => {
  const plan = planChildren(draft, call, tasks);
  if (!plan.ok) return refuseCall(draft, call, plan);
  const bad = plan.slots.flatMap((slot) => (isPlanned(slot) ? [] : (slot.error ?? [])));
  if (on_error === "cancel" && bad.length > 0) {
    const nothing = tasks.length > 1 ? `${bad.join("; ")}. Nothing was started.` : (bad[0] ?? "");
    answerCall(draft, call, nothing, false);
    return;
  }
  const slots = plan.slots.map((slot): string | ChildItem => {
    if (!isPlanned(slot)) return slot;
    const { id, agent, child } = slot;
    return child.awaitedBy === null ? { agent, child: id, state: "running" } : id;
  });
  const children = { answer, on_error, slots };
  const waiting = slots.some((slot) => typeof slot === "string");
  if (waiting) parkCallOnChildren(draft, call, children);
  for (const slot of plan.slots) {
    if (isPlanned(slot)) startChild(draft, slot);
  }
  if (waiting) return;
  call.wait = { on: "thread", children, until: null };
  answerWait(draft, call);
};
