import * as z from "zod";
import { emptyInbox, stopAnnouncement } from "../../agent/inputs/inputs.ts";
import { emptyChat } from "../../agent/state/thread.ts";
import { requireRest, viewAfter } from "./session.ts";
import { advanceSession } from "../../agent/loop/advance.ts";
import { startNextRun } from "../../agent/run/runs.ts";
import type { Draft } from "../../agent/transaction/draft.ts";
import {
  assign,
  emit,
  recordEffects,
  retireMessages,
  takeEditNumber,
  selectThread,
} from "../../agent/transaction/draft.ts";
import { blockEnd, blockStart } from "../../chat/blocks.ts";
import { ownEntry } from "../../chat/json.ts";
import type { Message } from "../../chat/message.ts";
import { sumShownTokens } from "../../chat/message.ts";
import {
  acceptedAnswer,
  okAnswer,
  requireRunAdmission,
  wellFormedText,
  defineWrite,
} from "../define-operation.ts";
import { refuseField } from "../problems.ts";

/** Defines what can be done to the chat as a whole: it is compacted or cleared, and messages of it are pinned. */

const compactSchema = z.strictObject({
  thread: z.string().max(64).default("main"),
  instructions: wellFormedText(4_000).optional().describe("What the summary must keep."),
});

export const compactOperation = defineWrite({
  name: "compact",
  summary: "Summarises the chat now, or before the next turn of a run; an empty chat stays as it is.",
  scopes: ["sessions:write"],
  method: "POST",
  path: "/v1/sessions/:session/compact",
  params: compactSchema,
  mayStartRun: () => true,
  run: (context, { thread: id, instructions = null }) => {
    const { draft } = context;
    const thread = ownEntry(draft.state.threads, id);
    if (thread === undefined) return refuseField("not_found", "/thread", "no such thread");
    if (thread.run === null && thread.chat.length > 0) requireRunAdmission(context);
    if (thread.run !== null || thread.chat.length > 0) thread.compact = { instructions };
    startNextRun(selectThread(draft, id));
    advanceSession(draft, "compact");
    return acceptedAnswer(draft, { run: draft.state.threads[id]?.run?.id ?? null }, 202);
  },
});

const pinSchema = z.strictObject({
  thread: z.string().max(64).default("main"),
  message: z.string().max(128),
  pinned: z.boolean().describe("A pinned message is never shortened or retired, with its whole block."),
});

/** Returns an overlay without texts, which shows a message whole again, since overlays are never undone. */
const uncoverMessage = (draft: Draft, { overlay, tokens }: Message): Pick<Message, "overlay"> => {
  if (overlay === undefined) return {};
  return {
    overlay: { edit: takeEditNumber(draft), by: "api", reason: "pinned", texts: {}, media: true, tokens },
  };
};

export const pinOperation = defineWrite({
  name: "pin",
  summary: "Pins a message, which keeps it whole in what the model sees, or unpins it.",
  scopes: ["sessions:write"],
  method: "PATCH",
  path: "/v1/sessions/:session/messages/:message",
  params: pinSchema,
  run: ({ draft }, { thread: id, message: messageId, pinned }) => {
    const thread = ownEntry(draft.state.threads, id);
    const at = thread?.chat.findIndex((each) => each.id === messageId) ?? -1;
    const message = thread?.chat[at];
    if (thread === undefined || message === undefined)
      return refuseField("not_found", "/message", "the view holds no such message");
    const marks = (message.marks ?? []).filter((mark) => mark !== "pinned");
    const from = blockStart(thread.chat, at);
    const before = thread.chat.slice(from, blockEnd(thread.chat, at));
    const whole = pinned
      ? before.map((each): Message => ({ ...each, ...uncoverMessage(draft, each) }))
      : before;
    const after = whole.map((each, index): Message =>
      from + index === at ? { ...each, marks: pinned ? [...marks, "pinned"] : marks } : each,
    );
    assign(thread, {
      chat: thread.chat.toSpliced(from, before.length, ...after),
      tokens: thread.tokens + sumShownTokens(after) - sumShownTokens(before),
    });
    draft.state.updatedAt = draft.context.now;
    emit(selectThread(draft, id), "session_updated", { message: messageId, pinned });
    return acceptedAnswer(draft, { message: messageId, pinned });
  },
});

export const clearOperation = defineWrite({
  name: "clear",
  summary: "Retires the chat and begins a new usage period; the originals stay readable.",
  scopes: ["sessions:manage"],
  method: "POST",
  path: "/v1/sessions/:session/clear",
  params: z.strictObject({
    instructions: z.string().optional().describe("Accepted as by `compact`, but nothing is summarised."),
  }),
  matches: "session",
  run: (context) => {
    const { draft } = context;
    requireRest(draft);
    for (const id of Object.keys(draft.state.threads)) {
      const cleared = selectThread(draft, id);
      const { thread } = cleared;
      emptyInbox(cleared, "cleared");
      stopAnnouncement(cleared);
      if (thread.chat.length > 0) {
        retireMessages(cleared, thread.chat, { reason: "clear" });
        const messages = thread.chat.map((message) => message.id);
        emit(cleared, "messages_retired", { messages, by: "clear" });
      }
      recordEffects(cleared, {});
      assign(thread, emptyChat);
    }
    draft.state.spentBefore = draft.state.spent;
    draft.state.updatedAt = draft.context.now;
    emit(selectThread(draft, "main"), "session_updated", { cleared: true });
    return okAnswer(viewAfter(context));
  },
});
