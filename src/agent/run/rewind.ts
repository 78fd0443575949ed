import { isBlockPinned } from "../../chat/blocks.ts";
import type { Message } from "../../chat/message.ts";
import { sumShownTokens } from "../../chat/message.ts";
import { callsOf } from "../../chat/view.ts";
import type { PastView } from "../state/records.ts";
import type { Thread } from "../state/thread.ts";
import type { Draft } from "../transaction/draft.ts";
import {
  assign,
  emit,
  recordEffects,
  retireMessages,
  takeEditNumber,
  threadOf,
} from "../transaction/draft.ts";

/** Returns a thread without a run to a view of its past. What follows is retired, never deleted. */

const turnOf = ({ run = "", turn = 0 }: Pick<Message, "run" | "turn">): string => `${run} ${turn}`;

const isHumanInput = ({ role, origin }: Message): boolean => role === "user" && origin === "human";

/** The causes that take messages out of the conversation; others only shorten its view. */
const departures: ReadonlySet<string> = new Set(["clear", "rewind", "rollback"]);

/** Returns the fields of a thread that stands at a past view; its chat is given. */
export const fieldsAt = (
  past: PastView,
  chat: readonly Message[],
  history: Thread["history"],
): Partial<Thread> => {
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
const chatAt = (draft: Draft, thread: Thread, { shown }: PastView): readonly Message[] => {
  const now = new Map(thread.chat.map((message) => [message.pos, message]));
  const then = shown.map(({ message }) => message);
  const edit = shown.some(({ changed }) => changed) ? takeEditNumber(draft) : 0;
  return shown.map(({ message, changed }, at) =>
    changed ? showAgain(message, edit, isBlockPinned(then, at)) : (now.get(message.pos) ?? message),
  );
};

/** Reports a message that enters the view with its number as it was written, since a client may not have it. */
export const reportMessage = (draft: Draft, threadId: string, message: Message): void => {
  const { overlay, ...original } = message;
  const final = message.role === "assistant" && callsOf(message).length === 0;
  emit(draft, threadId, "message_added", { message: overlay === undefined ? message : original, final });
};

/** Returns a thread to a past view. Every rewind has an event, so that later places in the log show its view. */
export const rewindThread = (draft: Draft, threadId: string, past: PastView): void => {
  const thread = threadOf(draft, threadId);
  const kept = new Set(past.shown.map(({ message }) => message.pos));
  const gone = thread.chat.filter(({ pos }) => !kept.has(pos));
  const back = past.shown.filter(({ retired }) => retired > 0);
  const chat = chatAt(draft, thread, past);
  if (gone.length > 0) retireMessages(draft, threadId, gone, { reason: "rewind" });
  if (back.length > 0) {
    const messages = back.map(({ message, retired }) => [message.pos, retired] as const);
    draft.restored.push({ thread: threadId, edit: takeEditNumber(draft), messages });
  }
  assign(thread, fieldsAt(past, chat, thread.history));
  recordEffects(draft, threadId, past.effects);
  emit(draft, threadId, "messages_retired", { messages: gone.map(({ id }) => id), by: "rewind" });
  for (const { message } of back) reportMessage(draft, threadId, message);
};
