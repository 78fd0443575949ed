import * as z from "zod";
import {
  stopAnnouncement,
  findInboxLimit,
  acceptInput,
  appendAgentResult,
  returnInputs,
  changeInput,
  closeInputId,
  assignInputId,
  withdrawInput,
  inboxLimits,
  createInput,
  selectEpisodes,
} from "../../agent/inputs/inputs.ts";
import { advanceSession } from "../../agent/loop/advance.ts";
import { cancelRun, cancelSubtree } from "../../agent/run/cancel.ts";
import { runRecordOf, startNextRun } from "../../agent/run/runs.ts";
import { awaitedAsks, shownWaitReasons, waitsForPeople } from "../../agent/run/wait.ts";
import type { OnBusy } from "../../agent/state/events.ts";
import type { Input, Thread } from "../../agent/state/thread.ts";
import { waitingInputsOf } from "../../agent/state/thread.ts";
import type { RunRecord } from "../../agent/state/records.ts";
import type { Draft, ThreadDraft } from "../../agent/transaction/draft.ts";
import { changeChild, threadOf, selectThread } from "../../agent/transaction/draft.ts";
import { ownEntry } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { CommandAnswer, Archive, WriteContext } from "../define-operation.ts";
import {
  acceptedAnswer,
  requireRunAdmission,
  requireStorage,
  requireUnchanged,
  wellFormedText,
  defineWrite,
} from "../define-operation.ts";
import { busyRetryMs, refuse, refuseField, refuseIfProblem } from "../problems.ts";
import { requireBudget } from "./budget.ts";
import { contentSchema, storeContent } from "./uploads.ts";

/** Most seconds that a sender may wait for the run to end. */
export const longestWait = 300;

/** Most inputs that wait in a thread. */
export const mostWaiting = inboxLimits.inputs;

/** Returns an input's content as it is stored, once the session's model is known to take it. */
const takeContent = (
  { draft, rules }: WriteContext,
  threadId: string,
  content: z.output<typeof contentSchema>,
): Input["content"] => {
  const stored = storeContent(draft, content);
  const { agent } = threadOf(draft, threadId);
  refuseIfProblem(rules.mediaProblem(stored, agent, draft.state.model));
  return stored;
};

/** Accepts any JSON value. */
export const jsonSchema: z.ZodType<Json> = z.json();

const inputIdSchema = z.string().regex(/^[\x21-\x7e]{1,128}$/, "1 to 128 printable ASCII characters");

export const inputSchema = z.strictObject({
  id: inputIdSchema.optional().describe("Id of your choice: an input sent again with it is stored once."),
  content: contentSchema.describe(
    "A text, or parts of type text, image or document; the latter have one of data, url and file.",
  ),
  on_busy: z
    .enum(["reject", "queue", "steer", "interrupt", "rollback"])
    .optional()
    .describe(
      "What happens during a run: refuse, wait for its end, join it, end it, or undo it. Omitted: the team's sessions.on_busy, which is reject unless team.yaml says otherwise.",
    ),
  thread: z
    .string()
    .max(64)
    .default("main")
    .describe("Thread of a called agent at work; it takes steer only."),
  sender: wellFormedText(128).min(1).optional().describe("Name of the sender, as the agent sees it."),
  light: z.boolean().optional().describe("Gives the agent a minimal prompt."),
  output_schema: jsonSchema.optional().describe("A JSON Schema that the answer must fit."),
  prior_episode_summaries: z
    .union([wellFormedText(1_048_576), z.array(wellFormedText(65_536)).max(256)])
    .optional()
    .describe(
      "Summaries of earlier attempts: texts, or a JSON array of them as text. The summary of a run that just failed here is added, also to [].",
    ),
  wait: z
    .number()
    .min(0)
    .max(longestWait)
    .optional()
    .describe(
      "Seconds to wait over HTTP for the run to end, 300 at most; its end is then the answer. A WebSocket sees the end in its events.",
    ),
});

/** Lists the asks that the run of a thread waits for, its called agents' too, if only answers let it go on; otherwise none. */
const findAwaitedAsks = ({ state, thread }: ThreadDraft): readonly string[] => {
  const isAwaited =
    shownWaitReasons(state, thread).some(({ kind }) => kind === "ask") || waitsForPeople(state, thread.id);
  return isAwaited ? awaitedAsks(state, thread.id) : [];
};

const refuseBusy = (draft: ThreadDraft): never => {
  const { thread } = draft;
  const asks = findAwaitedAsks(draft);
  const run = thread.run === null ? null : (runRecordOf(thread, thread.run) as unknown as Json);
  const isAsked = asks.length > 0;
  const way = isAsked ? "the run waits for an answer; give it under /asks" : "a run is active; wait for it";
  return refuse("session_busy", `${way}, or send with on_busy queue, steer, interrupt or rollback`, {
    retryAfterMs: busyRetryMs,
    meta: { run, ...(isAsked && { asks }) },
  });
};

/** Returns an input as it is after the commit, wherever it is by then. */
const inputAfter = ({ draft }: WriteContext, input: Input): Input =>
  draft.inputs.findLast(({ id }) => id === input.id) ?? input;

type InputParams = z.output<typeof inputSchema>;

/** Refuses an input for a thread that has ended or never existed. */
const refuseUnknownThread = (archive: Archive, id: string): never =>
  archive.child(id) === null
    ? refuseField("not_found", "/thread", "no such thread")
    : refuseField("run_not_active", "/thread", "this thread has ended", { meta: { run: null } });

/** Finds the thread that an input is for: `main`, or a called one that is at work. */
const findAddressedThread = (draft: Draft, archive: Archive, id: string, mode: OnBusy): ThreadDraft => {
  const { run } = ownEntry(draft.state.threads, id) ?? refuseUnknownThread(archive, id);
  if (id !== "main" && mode !== "steer")
    return refuseField("invalid_request", "/on_busy", "a child thread only takes steer");
  if (id !== "main" && run === null) return refuseField("run_not_active", "/thread", "this thread has ended");
  return selectThread(draft, id);
};

const inboxLimitTexts = {
  inputs: `${mostWaiting} inputs are waiting; withdraw some or wait`,
  characters: `the inputs that wait in a session may have ${inboxLimits.characters} characters in all; withdraw some, wait, or send less`,
} as const;

/** Refuses an input that a full inbox cannot hold; a thread that rests takes it at once. */
const requireInboxRoom = (draft: Draft, input: Input): void => {
  if (threadOf(draft, input.thread).run === null) return;
  const lack = findInboxLimit(draft, input);
  if (lack !== null) refuse("too_many_inputs", inboxLimitTexts[lack], { retryAfterMs: 5_000 });
};

/** Refuses the id of another input. Who sends a withdrawn one again must not take it for a key to be replaced. */
const requireFreshId = (archive: Archive, id: string | undefined): void => {
  const known = id === undefined ? null : archive.input(id);
  if (known?.status === "withdrawn")
    refuseField("input_already_applied", "/id", "the input with this id was withdrawn");
  if (known !== null) refuseField("idempotency_key_reused", "/id", "an input has this id");
};

/** Checks whether an input can be taken, and otherwise refuses it before anything is stored. */
const admitInput = (context: WriteContext, params: InputParams, mode: OnBusy): ThreadDraft => {
  const { rules, archive } = context;
  const addressed = findAddressedThread(context.draft, archive, params.thread, mode);
  const { thread } = addressed;
  requireFreshId(archive, params.id);
  requireStorage(context);
  if (thread.run !== null && mode === "reject") return refuseBusy(addressed);
  const problem = params.output_schema === undefined ? null : rules.schemaProblem(params.output_schema);
  if (problem !== null) return refuseField("output_schema_invalid", "/output_schema", problem);
  return addressed;
};

/** Returns prior episodes: an input with summaries retries something, such as the newest run if that failed. */
const priorEpisodesOf = (
  { archive }: WriteContext,
  { run, lastRun }: Thread,
  { prior_episode_summaries: given }: InputParams,
): Pick<Input, "prior_episode_summaries"> => {
  if (given === undefined) return {};
  const last = run !== null || lastRun === null ? null : archive.run(lastRun);
  const summaries = selectEpisodes(given, last?.state === "failed" ? last.result?.episode_summary : "");
  return summaries.length === 0 ? {} : { prior_episode_summaries: summaries };
};

/** Stores an input and starts, steers or ends runs as its mode says. */
export const submitInput = (
  context: WriteContext,
  params: InputParams,
): { readonly input: Input; readonly run: AppliedRun | null } => {
  const { draft, rules } = context;
  const mode = params.on_busy ?? rules.onBusy;
  const addressed = admitInput(context, params, mode);
  const { thread } = addressed;
  const input = createInput(draft, {
    id: assignInputId(draft, params.id),
    thread: thread.id,
    content: takeContent(context, thread.id, params.content),
    on_busy: mode,
    sender: params.sender ?? null,
    origin: "human",
    ...(params.output_schema === undefined ? {} : { output_schema: params.output_schema }),
    ...(params.light === true ? { light: true } : {}),
    ...priorEpisodesOf(context, thread, params),
  });
  requireInboxRoom(draft, input);
  draft.state.updatedAt = draft.context.now;
  acceptInput(draft, input);
  changeChild(addressed, { warning: "a person steered it" });
  startOrInterrupt(context, addressed, input);
  advanceSession(draft, "input");
  return { input: inputAfter(context, input), run: findAppliedRun(draft, thread.id, input.id) };
};

/** Run under way, or with its state one that an input began and that has ended already. */
interface AppliedRun {
  readonly id: string;
  readonly state?: RunRecord["state"];
}

const findAppliedRun = ({ state, runs }: Draft, threadId: string, input: string): AppliedRun | null =>
  state.threads[threadId]?.run ?? runs.findLast(({ inputs }) => inputs.includes(input)) ?? null;

const startOrInterrupt = (context: WriteContext, addressed: ThreadDraft, input: Input): void => {
  if (addressed.thread.run === null) {
    requireRunAdmission(context);
    requireBudget(addressed);
    startNextRun(addressed);
    return;
  }
  const mode = input.on_busy;
  if (mode !== "interrupt" && mode !== "rollback") return;
  const reason = mode === "interrupt" ? "interrupted" : "rolled_back";
  cancelRun(addressed, { mode: "now", reason, keep: true });
};

export const sendOperation = defineWrite({
  name: "send",
  summary: "Hands the session a message, which starts, steers or ends a run as its mode says.",
  scopes: ["sessions:write"],
  method: "POST",
  path: "/v1/sessions/:session/messages",
  params: inputSchema,
  takesContent: true,
  mayStartRun: () => true,
  frame: { body: "input" },
  run: (context, params) => {
    const { input, run } = submitInput(context, params);
    const ended = run?.state === undefined ? {} : { run_state: run.state };
    const receipt = { input: input.id, status: input.status, run: run?.id ?? null, ...ended };
    return acceptedAnswer(context.draft, receipt, 202);
  },
});

const findWaitingInput = ({ draft }: WriteContext, id: string): Input | undefined =>
  waitingInputsOf(draft.state).find((input) => input.id === id);

const refuseAppliedInput = (): never =>
  refuse("input_already_applied", "the input was applied, withdrawn or returned already");

const requireWaitingInput = (context: WriteContext, id: string): Input => {
  const found = findWaitingInput(context, id);
  if (found !== undefined) return found;
  return context.archive.input(id) === null
    ? refuse("not_found", "This session has no such input.")
    : refuseAppliedInput();
};

export const withdrawOperation = defineWrite({
  name: "withdraw",
  summary: "Takes back an input that waits; one that has not come yet is refused when it comes.",
  scopes: ["sessions:write"],
  method: "DELETE",
  path: "/v1/sessions/:session/inputs/:input",
  params: z.strictObject({ input: inputIdSchema }),
  frame: { body: null },
  matches: "input",
  run: (context, { input }) => {
    const { draft, archive } = context;
    const waiting = findWaitingInput(context, input);
    if (waiting !== undefined) {
      requireUnchanged(context.ifMatch, "input", waiting.version);
      withdrawInput(draft, waiting);
      draft.state.updatedAt = draft.context.now;
    } else if (archive.input(input) !== null) refuseAppliedInput();
    else {
      requireStorage(context);
      closeInputId(draft, input);
    }
    return acceptedAnswer(draft, { input, status: "withdrawn" });
  },
});

const editSchema = z.strictObject({
  input: z.string(),
  content: contentSchema.optional(),
  place: z.int().min(0).max(mostWaiting).optional().describe("Position among the waiting inputs, from 0."),
  on_busy: z.enum(["steer"]).optional().describe("Lets it join the run instead of waiting for its end."),
});

export const editInputOperation = defineWrite({
  name: "edit_input",
  summary:
    "Edits or moves an input that waits, or lets it join the run; If-Match names the version that was read.",
  scopes: ["sessions:write"],
  method: "PATCH",
  path: "/v1/sessions/:session/inputs/:input",
  params: editSchema,
  takesContent: true,
  matches: "input",
  run: (context, { input: id, content, place, on_busy }) => {
    const input = requireWaitingInput(context, id);
    requireUnchanged(context.ifMatch, "input", input.version);
    if ((content !== undefined || on_busy !== undefined) && input.origin !== "human")
      return refuseField(
        "invalid_request",
        content === undefined ? "/on_busy" : "/content",
        "these are the words of an agent; move or withdraw them, and send your own",
      );
    const change = {
      ...(content === undefined ? {} : { content: takeContent(context, input.thread, content) }),
      ...(place === undefined ? {} : { place }),
      on_busy,
    };
    if (change.content !== undefined) requireInboxRoom(context.draft, { ...input, content: change.content });
    const changed = changeInput(context.draft, input, change);
    context.draft.state.updatedAt = context.draft.context.now;
    if (on_busy !== undefined) advanceSession(context.draft, "input");
    return acceptedAnswer(context.draft, changed);
  },
});

const cancelSchema = z.strictObject({
  mode: z.enum(["now", "after_turn"]).default("now"),
  run: z.string().optional().describe("Refuses if another run is active."),
  thread: z.string().default("main"),
  queued: z.enum(["return", "keep"]).default("return").describe("What happens to messages that wait."),
});

/** Returns null for a thread that has ended, because nothing is left to cancel. */
const requireEndedThread = (archive: Archive, id: string): null =>
  archive.child(id) === null ? refuseField("not_found", "/thread", "no such thread") : null;

/** Cancels inputs whose run has not started yet like a started run; results of agents stay in the chat. */
const returnHeldInputs = (draft: ThreadDraft): void => {
  const { thread } = draft;
  thread.compact = null;
  returnInputs(
    draft,
    thread.inbox.map((input) => input.id),
  );
  for (const input of thread.inbox) appendAgentResult(draft, input);
};

const cancelThread = (
  { draft, archive }: WriteContext,
  params: z.output<typeof cancelSchema>,
): CommandAnswer => {
  const thread = ownEntry(draft.state.threads, params.thread) ?? requireEndedThread(archive, params.thread);
  if (thread === null) return acceptedAnswer(draft, { run: null });
  if (params.run !== undefined && params.run !== thread.run?.id)
    return refuseField("run_not_active", "/run", "this run is not active", {
      meta: { run: thread.run?.id ?? null },
    });
  const cancelled = selectThread(draft, thread.id);
  if (thread.run === null) {
    if (params.queued === "return") returnHeldInputs(cancelled);
    // Agents that the run left in the background are below it, too.
    cancelSubtree(cancelled, params.mode, "a person cancelled it");
    stopAnnouncement(cancelled);
    advanceSession(draft, "cancel");
    return acceptedAnswer(draft, { run: null });
  }
  const { id } = thread.run;
  if (thread.child?.stopped === null)
    changeChild(cancelled, { stopped: { why: "a person cancelled it", told: false } });
  cancelRun(cancelled, { mode: params.mode, reason: "cancelled", keep: params.queued === "keep" });
  advanceSession(draft, "cancel");
  return acceptedAnswer(draft, { run: id });
};

export const cancelOperation = defineWrite({
  name: "cancel",
  summary: "Ends the run of a thread and everything below it.",
  scopes: ["sessions:write"],
  method: "POST",
  path: "/v1/sessions/:session/cancel",
  params: cancelSchema,
  frame: { body: "cancel" },
  run: cancelThread,
});
