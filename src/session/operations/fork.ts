import * as z from "zod";
import { unpinPlanMessage } from "../../agent/state/phase.ts";
import type { Session } from "../../agent/state/session.ts";
import { newThread } from "../../agent/state/thread.ts";
import type { PastView } from "../../agent/state/records.ts";
import type { Draft, StoredBlob, ThreadDraft } from "../../agent/transaction/draft.ts";
import {
  appendNote,
  assign,
  emit,
  recordEffects,
  retireMessages,
  takeEditNumber,
  selectThread,
} from "../../agent/transaction/draft.ts";
import type { Archive } from "../define-operation.ts";
import { createdAnswer, okAnswer, parseParams, defineWrite } from "../define-operation.ts";
import {
  ProblemError,
  refuse,
  refuseCursorAhead,
  refuseIfProblem,
  refuseField,
  refuseMissingSession,
} from "../problems.ts";
import type { ForkSourceReply, ForkSourceRequest } from "../rpc.ts";
import { accessProblem, isCreated, titleSchema, viewAfter, requireRest } from "./session.ts";
import type { Thread } from "../../agent/state/thread.ts";
import { isBlockPinned } from "../../chat/blocks.ts";
import type { Message } from "../../chat/message.ts";
import { sumShownTokens } from "../../chat/message.ts";
import { limitRefused } from "../../chat/refused.ts";
import { callsOf } from "../../chat/view.ts";

/**
 * Defines the way back to a turn boundary of the chat of `main`, in the same session or in a fork. What follows is
 * retired, never deleted.
 */

const pastSchema = z.strictObject({
  at: z
    .union([z.int().min(0), z.string().max(128)])
    .describe("The last event or message that stays; inside a turn it rounds down to before the turn."),
  files: z
    .enum(["keep", "restore"])
    .default("keep")
    .describe("keep leaves the workspace as it is; restore needs a snapshot by the sandbox."),
});

const messagePattern = /^msg_main_(\d{1,15})$/;

/** Returns the view at the turn boundary that a caller names. */
const findPastView = (
  state: Session,
  archive: Archive,
  { at, files }: z.output<typeof pastSchema>,
): PastView => {
  if (files === "restore")
    return refuseField("no_file_snapshot", "/files", "the sandbox has no snapshot of the files; use keep");
  if (typeof at === "number" && at > state.head) return refuseCursorAhead(state.head);
  const [, pos] = typeof at === "number" ? [] : (messagePattern.exec(at) ?? []);
  const place = typeof at === "number" ? { seq: at } : pos === undefined ? null : { pos: Number(pos) };
  return (
    (place && archive.pastView("main", place)) ??
    refuseField("not_found", "/at", "no event reports such a message of main")
  );
};

const turnOf = ({ run = "", turn = 0 }: Pick<Message, "run" | "turn">): string => `${run} ${turn}`;

const isHumanInput = ({ role, origin }: Message): boolean => role === "user" && origin === "human";

/** The causes that take messages out of the conversation; others only shorten its view. */
const departures: ReadonlySet<string> = new Set(["clear", "rewind", "rollback"]);

/** Returns the fields of a thread that stands at a past view; its chat is given. */
const fieldsAt = (past: PastView, chat: readonly Message[], history: Thread["history"]): Partial<Thread> => {
  const kept = past.gone.flatMap(({ message, cause }) =>
    departures.has(cause?.reason ?? "") ? [] : message,
  );
  const all = [...kept, ...chat].sort((a, b) => a.pos - b.pos);
  const turns = new Set(all.map(turnOf));
  return {
    chat,
    tokens: sumShownTokens(chat),
    removed: 0,
    lastHidden: [],
    seen: past.seen,
    lastUsage: chat.some(({ pos }) => pos === past.seen) ? past.lastUsage : null,
    previousNewest: null,
    firstInput: all.find(isHumanInput) ?? null,
    warnedUtilization: false,
    effects: past.effects,
    history: history.filter((record) => turns.has(turnOf(record))),
  };
};

/** Shows a message as it was at a past view; a pinned one is shown whole. */
const showAgain = ({ overlay, ...message }: Message, edit: number, isPinned: boolean): Message => {
  const whole = { by: "api", reason: "rewind", texts: {}, media: true, tokens: message.tokens };
  return { ...message, overlay: { ...(isPinned ? whole : (overlay ?? whole)), edit } };
};

/** Returns the chat of a past view; messages of the current view that look the same stay as they are. */
const chatAt = (draft: ThreadDraft, { shown }: PastView): readonly Message[] => {
  const now = new Map(draft.thread.chat.map((message) => [message.pos, message]));
  const then = shown.map(({ message }) => message);
  const edit = shown.some(({ changed }) => changed) ? takeEditNumber(draft) : 0;
  return shown.map(({ message, changed }, at) =>
    changed ? showAgain(message, edit, isBlockPinned(then, at)) : (now.get(message.pos) ?? message),
  );
};

/** Reports a message that enters the view with its number as it was written, since a client may not have it. */
const reportMessage = (draft: ThreadDraft, message: Message): void => {
  const { overlay, ...original } = message;
  const final = message.role === "assistant" && callsOf(message).length === 0;
  emit(draft, "message_added", { message: overlay === undefined ? message : original, final });
};

/** Returns `main` to a past view. Every rewind has an event, so that later places in the log show its view. */
const rewindMain = (draft: ThreadDraft, past: PastView): void => {
  const { thread } = draft;
  const kept = new Set(past.shown.map(({ message }) => message.pos));
  const gone = thread.chat.filter(({ pos }) => !kept.has(pos));
  const back = past.shown.filter(({ retired }) => retired > 0);
  const chat = chatAt(draft, past);
  if (gone.length > 0) retireMessages(draft, gone, { reason: "rewind" });
  if (back.length > 0) {
    const messages = back.map(({ message, retired }) => [message.pos, retired] as const);
    draft.restored.push({ thread: "main", edit: takeEditNumber(draft), messages });
  }
  assign(thread, fieldsAt(past, chat, thread.history));
  recordEffects(draft, past.effects);
  emit(draft, "messages_retired", { messages: gone.map(({ id }) => id), by: "rewind" });
  for (const { message } of back) reportMessage(draft, message);
};

export const rewindOperation = defineWrite({
  name: "rewind",
  summary: "Takes the chat back to the end of a turn; what followed is retired and stays readable.",
  scopes: ["sessions:manage"],
  method: "POST",
  path: "/v1/sessions/:session/rewind",
  params: pastSchema,
  isTagged: true,
  matches: "session",
  run: (context, params) => {
    const { draft, archive } = context;
    requireRest(draft);
    rewindMain(selectThread(draft, "main"), findPastView(draft.state, archive, params));
    draft.state.updatedAt = draft.context.now;
    return okAnswer(viewAfter(context));
  },
});

const forkSchema = pastSchema.extend({
  files: pastSchema.shape.files.describe(
    "A fork begins with an empty workspace: keep leaves the files to the source; restore needs a snapshot by the sandbox.",
  ),
  source: z.string().max(64),
  title: titleSchema.optional().describe("Omitted: the title of the source."),
});

/** Longest source of a fork, in UTF-16 units: a call between objects holds at most 32 MiB. */
const longestSource = 14_000_000;

/** Lists the names of stored bytes and, in any text, of stored texts. */
const blobNamesIn = (value: unknown): readonly string[] => {
  const names: string[] = [];
  JSON.stringify(value, (key, each: unknown) => {
    if (typeof each === "string") names.push(...(key === "blob" ? [each] : (each.match(/\bb\d+\b/g) ?? [])));
    return each;
  });
  return names;
};

/** Reads the texts and bytes that a past view names, and those that these texts name in turn. */
const readBlobs = (archive: Archive, { shown, gone, effects }: PastView): readonly StoredBlob[] => {
  const names = new Set(blobNamesIn([shown, gone, effects]));
  const blobs: StoredBlob[] = [];
  // The loop also visits names that are added meanwhile.
  for (const id of names) {
    const text = archive.media(id);
    if (text === "") continue;
    blobs.push({ id, text });
    if (id.startsWith("b")) for (const name of blobNamesIn(text)) names.add(name);
  }
  return blobs;
};

const forkSourceOf = (state: Session, archive: Archive, params: z.output<typeof forkSchema>): ForkSource => {
  const main = state.threads["main"] ?? newThread("main", state.agent);
  const past = findPastView(state, archive, params);
  const inherited = inheritedFields.flatMap((field) => (field in state ? [[field, state[field]]] : []));
  return {
    source: state.id,
    session: Object.fromEntries(inherited) as ForkSource["session"],
    past,
    history: main.history,
    recordMarks: main.recordMarks,
    refusedBefore: main.refusedBefore,
    hadWorkspace: state.sandboxed,
    blobs: readBlobs(archive, past),
  };
};

/** Reads what a fork begins with; the session itself stays as it is. */
export const readForkSource = (
  state: Session | null,
  archive: () => Archive,
  { principal, params }: ForkSourceRequest,
): ForkSourceReply => {
  try {
    if (state === null) return refuseMissingSession();
    refuseIfProblem(accessProblem(state, principal));
    const json = JSON.stringify(forkSourceOf(state, archive(), parseParams(forkSchema, params)));
    if (json.length <= longestSource) return { ok: true, json };
    const size = `the chat up to there has ${json.length} characters with its originals and what it kept`;
    return refuse(
      "payload_too_large",
      `at: ${size}; a fork takes at most ${longestSource}: name an earlier place`,
    );
  } catch (error) {
    if (error instanceof ProblemError) return { ok: false, problem: error.problem };
    throw error;
  }
};

const workspaceNote =
  "This session goes on from a copy of another session's chat. It has a workspace of its own, which was empty at this point: files of the work so far are not in it.";

/** Fills a new session with what it takes from its source; each message that it shows has an event of its own. */
const fillFork = (
  draft: Draft,
  { source, session: inherited, past, history, recordMarks, refusedBefore, hadWorkspace, blobs }: ForkSource,
  given: Pick<z.output<typeof forkSchema>, "title">,
): void => {
  const { state } = draft;
  const session = given.title === undefined ? inherited : { ...inherited, title: given.title, named: true };
  assign(state, { ...session, nextEdit: past.edit + 1 });
  const chat = past.shown.map(({ message }) => unpinPlanMessage(message));
  state.threads["main"] = {
    ...newThread("main", session.agent),
    ...fieldsAt(past, chat, history),
    recordMarks,
    refusedBefore: Object.fromEntries(
      Object.entries(refusedBefore).map(([target, before]) => [target, limitRefused(before, past.pos + 1)]),
    ),
    nextPos: past.pos + 1,
    run: null,
  };
  const main = selectThread(draft, "main");
  recordEffects(main, past.effects);
  for (const { message, edit, cause } of past.gone)
    draft.retired.push({ thread: "main", message, edit, cause: cause ?? noCause });
  draft.blobs.push(...blobs);
  const { agent, revision, title, metadata } = session;
  const from = { session: source, seq: past.seq };
  emit(main, "session_created", { agent, revision, ref: null, title, metadata, source: from });
  for (const message of chat) reportMessage(main, message);
  if (hadWorkspace && chat.length > 0) appendNote(main, workspaceNote);
};

const noCause = { run: null, turn: null, effect: null, reason: "fork" };

export const forkOperation = defineWrite({
  name: "fork",
  summary:
    "Begins another session with the chat as it was at the end of a turn and an empty workspace; the source stays as it is.",
  scopes: ["sessions:manage"],
  method: "POST",
  path: "/v1/sessions/:session/fork",
  params: forkSchema,
  creates: true,
  isTagged: true,
  run: (context, params) => {
    const { draft, forkSource } = context;
    if (isCreated(draft.state) || forkSource === null) return okAnswer(viewAfter(context));
    fillFork(draft, forkSource, params);
    return createdAnswer(viewAfter(context));
  },
});

/** What a fork has of its source: the creator's choices, and the numbers that its messages must not use again. */
const inheritedFields = [
  "agent",
  "prefix",
  "title",
  "named",
  "metadata",
  "revision",
  "interactive",
  "tools",
  "clientTools",
  "model",
  "modelScope",
  "budget",
  "outputSchema",
  "retentionDays",
  "external",
  "nextRun",
  "nextInput",
  "nextBlob",
] as const satisfies readonly (keyof Session)[];

/** What a fork takes from its source, whose chat of `main` it begins with. */
export interface ForkSource {
  readonly source: string;
  readonly session: Pick<Session, (typeof inheritedFields)[number]>;
  readonly past: PastView;
  readonly history: Thread["history"];
  readonly recordMarks: Thread["recordMarks"];
  readonly refusedBefore: Thread["refusedBefore"];
  /** Whether the source has used a workspace, whose files a fork does not get. */
  readonly hadWorkspace: boolean;
  /** Stored texts and bytes to which the messages refer. */
  readonly blobs: readonly StoredBlob[];
}
