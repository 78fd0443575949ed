import * as z from "zod";
import { changeChild } from "../../agent/delegation/start.ts";
import { announcementStopped } from "../../agent/inputs/announce.ts";
import {
  inboxLacks,
  inputAccepted,
  inputChanged,
  inputNamed,
  inputWithdrawn,
  mostWaiting,
} from "../../agent/inputs/inputs.ts";
import { clockTicked } from "../../agent/loop/advance.ts";
import { toldEpisodes } from "../../agent/memory/episodes.ts";
import { runCancelled, subtreeCancelled } from "../../agent/run/cancel.ts";
import { runRecord, runStarted } from "../../agent/run/runs.ts";
import type { OnBusy } from "../../agent/state/events.ts";
import type { Input } from "../../agent/state/input.ts";
import type { Thread } from "../../agent/state/thread.ts";
import type { Draft } from "../../agent/transaction/draft.ts";
import { threadOf } from "../../agent/transaction/draft.ts";
import { own } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { Answer, Archive, Command, WriteContext } from "../command.ts";
import { done, roomForRun, unchanged, wellFormed, write } from "../command.ts";
import { refuse, refuseField, refuseFor } from "../problems.ts";
import { budgetLeft } from "./budget.ts";
import { contentSchema, storedContent } from "./content.ts";

/** Bytes of a session, beyond which it takes no more inputs. */
const mostStored = 2 ** 30;

/** An input's content as it is stored, once it is sure that the session's model takes it. */
const takenContent = (
  { draft, rules }: WriteContext,
  threadId: string,
  content: z.output<typeof contentSchema>,
): Input["content"] => {
  const stored = storedContent(draft, content);
  const { agent } = threadOf(draft, threadId);
  refuseFor(rules.mediaProblem(stored, agent, draft.state.model));
  return stored;
};

/** A JSON value. */
export const jsonSchema: z.ZodType<Json> = z.json();

export const inputSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/, "1 to 128 printable ASCII characters")
    .optional(),
  content: contentSchema,
  on_busy: z.enum(["reject", "queue", "steer", "interrupt", "rollback"]).optional(),
  thread: z.string().max(64).default("main"),
  sender: wellFormed(128).min(1).optional(),
  light: z.boolean().optional(),
  output_schema: jsonSchema.optional(),
  prior_episode_summaries: z
    .union([wellFormed(1_048_576), z.array(wellFormed(65_536)).max(256)])
    .optional()
    .describe(
      "What earlier attempts came to: texts, or a JSON array of them as text. That of a run which just failed here is added, also to [].",
    ),
  wait: z.number().min(0).max(300).optional(),
});

const busy = (thread: Thread): never =>
  refuse(
    "session_busy",
    "a run is active; wait for it, or send with on_busy queue, steer, interrupt or rollback",
    {
      meta: { run: thread.run === null ? null : (runRecord(thread, thread.run) as unknown as Json) },
    },
  );

/** The status an input has after the commit, wherever it is by then. */
const statusAfter = ({ draft }: WriteContext, input: Input): Input =>
  draft.inputs.findLast(({ id }) => id === input.id) ?? input;

type Params = z.output<typeof inputSchema>;

/** A thread that is not there: it has ended, or never was. */
const unknownThread = (archive: Archive, id: string): never =>
  archive.child(id) === null
    ? refuseField("not_found", "/thread", "no such thread")
    : refuseField("run_not_active", "/thread", "this thread has ended", { meta: { run: null } });

/** The thread that an input is for: `main`, or a called one that is at work. */
const addressed = (draft: Draft, archive: Archive, id: string, mode: OnBusy): Thread => {
  const thread = own(draft.state.threads, id) ?? unknownThread(archive, id);
  if (thread.id === "main") return thread;
  if (mode !== "steer") return refuseField("invalid_request", "/on_busy", "a child thread only takes steer");
  return thread.run === null ? refuseField("run_not_active", "/thread", "this thread has ended") : thread;
};

const roomForInput = ({ stored }: WriteContext): void => {
  if (stored() < mostStored) return;
  refuse("storage_error", "this session holds 1 GiB, as much as it may; begin a new one");
};

const waitingTold = {
  inputs: `${mostWaiting.inputs} inputs are waiting; withdraw some or wait`,
  characters: `the inputs that wait in a session may have ${mostWaiting.characters} characters in all; withdraw some, wait, or send less`,
} as const;

/** Room to wait in; what a resting thread takes at once needs none. */
const roomToWait = (draft: Draft, input: Input): void => {
  if (threadOf(draft, input.thread).run === null) return;
  const lack = inboxLacks(draft, input);
  if (lack !== null) refuse("too_many_inputs", waitingTold[lack], { retryAfterMs: 5_000 });
};

/** Why an input cannot be taken, as a refusal; nothing is stored then. */
const admitted = (context: WriteContext, params: Params, mode: OnBusy): Thread => {
  const { draft, rules, archive } = context;
  const thread = addressed(draft, archive, params.thread, mode);
  roomForInput(context);
  if (thread.run !== null && mode === "reject") return busy(thread);
  const problem = params.output_schema === undefined ? null : rules.schemaProblem(params.output_schema);
  if (problem !== null) return refuseField("output_schema_invalid", "/output_schema", problem);
  const waits = thread.inbox.some(({ id }) => id === params.id);
  if (params.id !== undefined && (waits || archive.input(params.id) !== null))
    return refuseField("idempotency_key_reused", "/id", "an input has this id");
  return thread;
};

/** Who sends summaries tries something again: if the newest run failed, it is what is tried again. */
const priorOf = (
  { archive }: WriteContext,
  { run, lastRun }: Thread,
  { prior_episode_summaries: given }: Params,
): Pick<Input, "prior_episode_summaries"> => {
  if (given === undefined) return {};
  const last = run !== null || lastRun === null ? null : archive.run(lastRun);
  const told = toldEpisodes(given, last?.state === "failed" ? last.result?.episode_summary : "");
  return told.length === 0 ? {} : { prior_episode_summaries: told };
};

/** Stores an input and starts, steers or ends runs as its mode says. */
export const accept = (
  context: WriteContext,
  params: Params,
): { readonly input: Input; readonly run: string | null } => {
  const { draft, rules } = context;
  const mode = params.on_busy ?? rules.onBusy;
  const thread = admitted(context, params, mode);
  const input: Input = {
    id: inputNamed(draft, params.id),
    thread: thread.id,
    content: takenContent(context, thread.id, params.content),
    on_busy: mode,
    sender: params.sender ?? null,
    origin: "human",
    status: "accepted",
    at: draft.moment.now,
    version: 1,
    ...(params.output_schema === undefined ? {} : { output_schema: params.output_schema }),
    ...(params.light === true ? { light: true } : {}),
    ...priorOf(context, thread, params),
  };
  roomToWait(draft, input);
  draft.state = { ...draft.state, updatedAt: draft.moment.now };
  inputAccepted(draft, input);
  if (thread.child !== null) changeChild(draft, thread.id, { warning: "a person steered it" });
  taken(context, thread, input);
  clockTicked(draft, "input");
  return { input: statusAfter(context, input), run: draft.state.threads[thread.id]?.run?.id ?? null };
};

const taken = (context: WriteContext, thread: Thread, input: Input): void => {
  const { draft } = context;
  if (thread.run === null) {
    roomForRun(context);
    budgetLeft(draft, thread.id);
    runStarted(draft, input);
    return;
  }
  const mode = input.on_busy;
  if (mode !== "interrupt" && mode !== "rollback") return;
  const reason = mode === "interrupt" ? "interrupted" : "rolled_back";
  runCancelled(draft, thread.id, { mode: "now", reason, keep: true });
};

export const send: Command = write(inputSchema, (context, params): Answer => {
  const { input, run } = accept(context, params);
  return done(context.draft, { input: input.id, status: input.status, run }, 202);
});

const acceptedInput = ({ draft, archive }: WriteContext, id: string): Input => {
  for (const thread of Object.values(draft.state.threads)) {
    const found = thread.inbox.find((input) => input.id === id);
    if (found !== undefined) return found;
  }
  return archive.input(id) === null
    ? refuse("not_found", "no such input")
    : refuse("input_already_applied", "the input was applied, withdrawn or returned already");
};

export const withdraw: Command = write(z.strictObject({ input: z.string() }), (context, { input }) => {
  inputWithdrawn(context.draft, acceptedInput(context, input));
  return done(context.draft, { input, status: "withdrawn" });
});

const editSchema = z.strictObject({
  input: z.string(),
  content: contentSchema.optional(),
  place: z
    .int()
    .min(0)
    .max(mostWaiting.inputs)
    .optional()
    .describe("Position among the waiting inputs, from 0."),
});

/** An edit or a move of a waiting input; `If-Match` holds the version it was read with. */
export const editInput: Command = write(editSchema, (context, { input: id, content, place }) => {
  const input = acceptedInput(context, id);
  unchanged(context, "input", input.version);
  if (content !== undefined && input.origin !== "human")
    return refuseField(
      "invalid_request",
      "/content",
      "these are the words of an agent; move or withdraw them, and send your own",
    );
  const change = {
    ...(content === undefined ? {} : { content: takenContent(context, input.thread, content) }),
    ...(place === undefined ? {} : { place }),
  };
  if (change.content !== undefined) roomToWait(context.draft, { ...input, content: change.content });
  return done(context.draft, inputChanged(context.draft, input, change));
});

const cancelSchema = z.strictObject({
  mode: z.enum(["now", "after_turn"]).default("now"),
  run: z.string().optional(),
  thread: z.string().default("main"),
  queued: z.enum(["return", "keep"]).default("return"),
});

/** A thread that has ended: there is nothing left to cancel. */
const endedThread = (archive: Archive, id: string): null =>
  archive.child(id) === null ? refuseField("not_found", "/thread", "no such thread") : null;

/** Ends a run and everything below its thread; without an active one only that. */
export const cancel: Command = write(cancelSchema, ({ draft, archive }, params) => {
  const thread = own(draft.state.threads, params.thread) ?? endedThread(archive, params.thread);
  if (thread === null) return done(draft, { run: null });
  if (params.run !== undefined && params.run !== thread.run?.id)
    return refuseField("run_not_active", "/run", "this run is not active", {
      meta: { run: thread.run?.id ?? null },
    });
  if (thread.run === null) {
    // What it left at work in the background is below it, too.
    subtreeCancelled(draft, thread.id, params.mode, "a person cancelled it");
    announcementStopped(draft, thread.id);
    clockTicked(draft, "cancel");
    return done(draft, { run: null });
  }
  const { id } = thread.run;
  if (thread.child !== null && thread.child.stopped === null)
    changeChild(draft, thread.id, { stopped: { why: "a person cancelled it", told: false } });
  runCancelled(draft, thread.id, { mode: params.mode, reason: "cancelled", keep: params.queued === "keep" });
  clockTicked(draft, "cancel");
  return done(draft, { run: id });
});
