import { isPassing } from "../../client/commands.ts";
import type { LimpetClient, SessionClient } from "../../client/index.ts";
import { newCommandId } from "../../client/retry.ts";
import type { CallEntry, OpenSession, TranscriptInput } from "../../client/transcript.ts";
import type { Json } from "../../chat/message.ts";
import { serverNow } from "../parts/format.ts";
import { createStore } from "./store.ts";
import type { Store } from "./store.ts";
import { hasCode } from "./again.ts";
import type { Api } from "./api.ts";
import { putBackDraft } from "./drafts.ts";
import { readFiles } from "./files.ts";
import { answersPlace, keepAnswers, readKeptAnswers } from "./kept-answers.ts";
import type { KeptAnswers } from "./kept-answers.ts";
import { inputPlace } from "./kept.ts";
import { createOutbox } from "./outbox.ts";
import type { MessageOutbox, PendingMessage } from "./outbox.ts";
import { ownName } from "./tab.ts";

/** The session that is shown, and all that the page does to it. */

export type SendMode = "queue" | "steer" | "interrupt";

/** The answer to an ask as the API takes it. */
export interface AskAnswer {
  readonly decision: "approve" | "deny" | "edit" | "answer" | "cancel";
  readonly text?: string;
  readonly selections?: readonly string[];
  readonly input?: Json;
  readonly limit?: number;
  readonly message?: string;
  readonly remember?: "session" | "agent";
}

export interface SessionControl {
  readonly id: string;
  readonly open: OpenSession;
  /** Who answers from this page, as the log names it. */
  readonly keyName: string;
  readonly send: (text: string, mode: SendMode, files?: readonly File[]) => Promise<void>;
  /** Messages whose files are not uploaded yet, and what is to follow them. */
  readonly held: Store<readonly PendingMessage[]>;
  readonly answer: (ask: string, answer: AskAnswer) => Promise<void>;
  /** Answers that the server has not acknowledged yet, by their asks. */
  readonly answers: Store<KeptAnswers>;
  readonly cancel: (mode?: "now" | "after_turn") => Promise<void>;
  readonly compact: () => Promise<void>;
  readonly withdraw: (input: Pick<TranscriptInput, "id">) => Promise<void>;
  /** Withdraws a message and puts it into the field, with the files that this page sent with it. */
  readonly takeBack: (input: PendingMessage) => Promise<void>;
  /** A message that waits for the end of the run joins it now. */
  readonly sendNow: (input: TranscriptInput) => Promise<void>;
  readonly threadOf: (entry: string) => string;
  readonly loadWhole: (call: CallEntry) => Promise<void>;
  /** When the connection was lost; null while there is one. */
  readonly lostAt: () => number | null;
  readonly close: () => void;
}

/** How the log names who used a key: by the id in it, unless it is the admin key. A token does not tell whose it is. */
export const nameKey = (key: string): string => {
  if (key === "") return "dev";
  return key.startsWith("lt_") ? "" : (/^lk_([^_]+)_/.exec(key)?.[1] ?? "operator");
};

/** Returns the text of an input; files in it are named. */
export const textOf = ({ content }: Pick<TranscriptInput, "content">): string =>
  content.map((part) => (part.type === "text" ? part.text : `[${part.name ?? part.type}]`)).join(" ");

/** Follows when the connection was lost; a try to connect that fails does not begin anew. */
const followLoss = ({ getSnapshot, subscribe }: OpenSession): (() => number | null) => {
  let lost: number | null = null;
  subscribe(() => {
    const { status } = getSnapshot();
    if (status === "live") lost = null;
    else if (status === "offline") lost ??= serverNow();
  });
  return () => lost;
};

const tooLate = "The agent has the message already: it was sent, and not withdrawn.";

type Messages = Pick<SessionControl, "send" | "held" | "withdraw" | "takeBack" | "sendNow">;

/** Sends messages with their files, and takes back or hurries those that wait. */
const createMessages = (client: LimpetClient, session: SessionClient, outbox: MessageOutbox): Messages => {
  const place = ownName(session.id);
  const sentFiles = new Map<string, readonly File[]>();
  const withdraw: SessionControl["withdraw"] = async ({ id: input }) => {
    try {
      await outbox.withdraw(input);
    } catch (fault) {
      throw hasCode(fault, "input_already_applied") ? new Error(tooLate) : fault;
    }
  };
  return {
    held: outbox.held,
    send: (text, mode, files = []) => {
      const input = newCommandId();
      if (files.length > 0) sentFiles.set(input, files);
      return outbox.send({ id: input, content: text, mode }, files);
    },
    withdraw,
    takeBack: async (input) => {
      const text = textOf({ content: input.content.filter(({ type }) => type === "text") });
      const files = sentFiles.get(input.id) ?? (await readFiles(inputPlace(input.id)));
      const taken = withdraw(input);
      // One that is on its way is shown no more from now on, also where the server is not reached.
      if (input.state === "accepted") await taken;
      await putBackDraft(place, { text, files });
      await taken;
    },
    sendNow: async ({ id: input }) => {
      try {
        await client.call("edit_input", { session: session.id, input, on_busy: "steer" });
      } catch (fault) {
        // Then it has joined a run already.
        if (!hasCode(fault, "input_already_applied")) throw fault;
      }
    },
  };
};

/** Sends answers, and keeps each until the server has it or refuses it, over a reload too. */
const createAnswers = (session: SessionClient): Pick<SessionControl, "answer" | "answers"> => {
  const place = answersPlace(session.id);
  const answers = createStore(readKeptAnswers(place));
  answers.subscribe(() => keepAnswers(place, answers.get()));
  const answer: SessionControl["answer"] = async (ask, given) => {
    answers.set((before) => ({ ...before, [ask]: given }));
    const drop = (): void =>
      answers.set((before) => Object.fromEntries(Object.entries(before).filter(([id]) => id !== ask)));
    try {
      await session.answer(ask, given);
      drop();
    } catch (fault) {
      // What did not get there, or not with this key, goes out when the session is shown again.
      if (!isPassing(fault) && !hasCode(fault, "unauthenticated")) drop();
      throw fault;
    }
  };
  for (const [ask, given] of Object.entries(answers.get())) void answer(ask, given).catch(() => undefined);
  return { answer, answers };
};

export const openSession = (
  client: LimpetClient,
  api: Api,
  id: string,
  key: string,
  report: (work: Promise<unknown>) => void,
): SessionControl => {
  const session = client.sessions.get(id);
  const open = session.open();
  const outbox = createOutbox(api, session, report);
  const threadOf = (entry: string): string =>
    open.getSnapshot().threads.find(({ entries }) => entries.some((each) => each.id === entry))?.id ?? "main";
  return {
    id,
    open,
    keyName: nameKey(key),
    ...createMessages(client, session, outbox),
    ...createAnswers(session),
    cancel: async (mode = "now") => void (await session.cancel({ mode })),
    compact: async () => void (await session.compact()),
    threadOf,
    loadWhole: ({ id: entry }) => open.loadWhole(threadOf(entry), entry),
    lostAt: followLoss(open),
    close: () => {
      outbox.close();
      open.close();
    },
  };
};
