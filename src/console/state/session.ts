import type { LimpetClient, SessionClient } from "../../client/index.ts";
import { LimpetError } from "../../client/index.ts";
import type { CallEntry, OpenSession, TranscriptInput } from "../../client/transcript.ts";
import type { Json } from "../../chat/message.ts";
import { createStore } from "../parts/hooks.ts";
import type { Store } from "../parts/hooks.ts";
import { describeProblem } from "../conversation/problems.ts";
import type { Api } from "./api.ts";
import { putBackDraft } from "./drafts.ts";
import { keepAnswers, readKeptAnswers } from "./kept-answers.ts";
import type { KeptAnswers } from "./kept-answers.ts";
import { dropInput, keepInput, keepWithdrawal, readKeptInputs } from "./kept.ts";
import type { KeptInput } from "./kept.ts";

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
  /** Sends a message, under an id of its own unless it has one. */
  readonly send: (text: string, mode: SendMode, files?: readonly File[], input?: string) => Promise<void>;
  readonly answer: (ask: string, answer: AskAnswer) => Promise<void>;
  /** Answers that the server has not acknowledged yet, by their asks. */
  readonly answers: Store<KeptAnswers>;
  readonly cancel: (mode?: "now" | "after_turn") => Promise<void>;
  readonly compact: () => Promise<void>;
  readonly withdraw: (input: TranscriptInput) => Promise<void>;
  /** Withdraws a message and puts it into the field, with the files that this page sent with it. */
  readonly takeBack: (input: TranscriptInput) => Promise<void>;
  /** A message that waits for the end of the run joins it now. */
  readonly sendNow: (input: TranscriptInput) => Promise<void>;
  /** Reads a text file of the workspace; null if there is none. */
  readonly readFile: (path: string, signal: AbortSignal) => Promise<string | null>;
  /** Returns the thread of an entry. */
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

const isMissing = (fault: unknown): boolean => fault instanceof LimpetError && fault.problem.status === 404;

const hasCode = (fault: unknown, code: string): boolean =>
  fault instanceof LimpetError && fault.problem.code === code;

/** Returns the text of an input; files in it are named. */
export const textOf = ({ content }: Pick<TranscriptInput, "content">): string =>
  content.map((part) => (part.type === "text" ? part.text : `[${part.name ?? part.type}]`)).join(" ");

/** Follows when the connection was lost; a try to connect that fails does not begin anew. */
const followLoss = ({ getSnapshot, subscribe }: OpenSession): (() => number | null) => {
  let lost: number | null = null;
  subscribe(() => {
    const { status } = getSnapshot();
    if (status === "live") lost = null;
    else if (status === "offline") lost ??= Date.now();
  });
  return () => lost;
};

interface Uploaded {
  readonly id: string;
  readonly media_type: string;
}

const upload = async (api: Api, session: string, file: File) => {
  const address = `/sessions/${session}/files?name=${encodeURIComponent(file.name)}`;
  const { id, media_type } = await api
    .read<Uploaded>(address, { method: "POST", body: file })
    .catch((fault: unknown) => {
      throw fault instanceof LimpetError
        ? new Error(`${file.name}: ${describeProblem(fault.problem)}`)
        : fault;
    });
  const part = { file: id, name: file.name };
  return media_type.startsWith("image/")
    ? { type: "image" as const, ...part }
    : { type: "document" as const, ...part };
};

interface Outbox {
  readonly send: (input: Omit<KeptInput, "session">) => Promise<void>;
  /** Takes a message back, wherever it is. */
  readonly withdraw: (id: string) => Promise<void>;
  /** Keeps what is on its way for the next time that the session is shown. */
  readonly close: () => void;
}

/** Sends texts, and keeps each until the server has it, over a reload too. */
const createOutbox = (session: SessionClient): Outbox => {
  let isClosed = false;
  const send: Outbox["send"] = async ({ id, content, mode }) => {
    keepInput({ session: session.id, id, content, mode });
    try {
      await session.send({ id, content, on_busy: mode });
      dropInput(id);
    } catch (fault) {
      if (!hasCode(fault, "withdrawn")) throw fault;
    }
  };
  const withdraw: Outbox["withdraw"] = async (id) => {
    keepWithdrawal(id);
    try {
      await session.withdraw(id);
      dropInput(id);
    } catch (fault) {
      if (hasCode(fault, "input_already_applied")) dropInput(id);
      throw fault;
    }
  };
  // What is refused stays kept, for a page with another key.
  for (const kept of readKeptInputs(session.id))
    void (kept.withdrawn === true ? withdraw(kept.id) : send(kept)).catch(() => undefined);
  return {
    send: async (input) => {
      try {
        await send(input);
      } catch (fault) {
        // It stays kept, and goes out when the session is shown again.
        if (isClosed) return;
        // The composer has the text again.
        dropInput(input.id);
        throw fault;
      }
    },
    withdraw,
    close: () => {
      isClosed = true;
    },
  };
};

const tooLate = "The agent has the message already: it was sent, and not withdrawn.";

type Messages = Pick<SessionControl, "send" | "withdraw" | "takeBack" | "sendNow">;

/** Sends messages with their files, and takes back or hurries those that wait. */
const createMessages = (client: LimpetClient, api: Api, session: SessionClient, outbox: Outbox): Messages => {
  const { id } = session;
  const sentFiles = new Map<string, readonly File[]>();
  const withdraw: SessionControl["withdraw"] = async ({ id: input }) => {
    try {
      await outbox.withdraw(input);
    } catch (fault) {
      throw hasCode(fault, "input_already_applied") ? new Error(tooLate) : fault;
    }
  };
  return {
    send: async (text, mode, files = [], input = crypto.randomUUID()) => {
      if (files.length === 0) return outbox.send({ id: input, content: text, mode });
      const parts = await Promise.all(files.map((file) => upload(api, id, file)));
      sentFiles.set(input, files);
      const said = text.trim() === "" ? [] : [{ type: "text" as const, text }];
      await session.send({ id: input, content: [...said, ...parts], on_busy: mode });
    },
    withdraw,
    takeBack: async (input) => {
      const text = textOf({ content: input.content.filter(({ type }) => type === "text") });
      const taken = withdraw(input);
      // One that is on its way is shown no more from now on, also where the server is not reached.
      if (input.state === "accepted") await taken;
      await putBackDraft(id, { text, files: sentFiles.get(input.id) ?? [] });
      await taken;
    },
    sendNow: async ({ id: input }) => {
      try {
        await client.call("edit_input", { session: id, input, on_busy: "steer" });
      } catch (fault) {
        // Then it has joined a run already.
        if (!hasCode(fault, "input_already_applied")) throw fault;
      }
    },
  };
};

/** Sends answers, and keeps each until the server has it or refuses it, over a reload too. */
const createAnswers = (session: SessionClient): Pick<SessionControl, "answer" | "answers"> => {
  const { id } = session;
  const answers = createStore(readKeptAnswers(id));
  answers.subscribe(() => keepAnswers(id, answers.get()));
  const answer: SessionControl["answer"] = async (ask, given) => {
    answers.set((before) => ({ ...before, [ask]: given }));
    const drop = (): void =>
      answers.set((before) => Object.fromEntries(Object.entries(before).filter(([id]) => id !== ask)));
    try {
      await session.answer(ask, given);
      drop();
    } catch (fault) {
      // What did not get there goes out when the session is shown again.
      if (!hasCode(fault, "unreachable")) drop();
      throw fault;
    }
  };
  for (const [ask, given] of Object.entries(answers.get())) void answer(ask, given).catch(() => undefined);
  return { answer, answers };
};

const encodePath = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

export const openSession = (client: LimpetClient, api: Api, id: string, key: string): SessionControl => {
  const session = client.sessions.get(id);
  const open = session.open();
  const outbox = createOutbox(session);
  const path = `/sessions/${id}`;
  const threadOf = (entry: string): string =>
    open.getSnapshot().threads.find(({ entries }) => entries.some((each) => each.id === entry))?.id ?? "main";
  return {
    id,
    open,
    keyName: nameKey(key),
    ...createMessages(client, api, session, outbox),
    ...createAnswers(session),
    cancel: async (mode = "now") => void (await session.cancel({ mode })),
    compact: async () => void (await session.compact()),
    readFile: async (file, signal) => {
      try {
        return await (await api.request(`${path}/workspace/${encodePath(file)}`, { signal })).text();
      } catch (fault) {
        if (isMissing(fault)) return null;
        throw fault;
      }
    },
    threadOf,
    loadWhole: ({ id: entry }) => open.loadWhole(threadOf(entry), entry),
    lostAt: followLoss(open),
    close: () => {
      outbox.close();
      open.close();
    },
  };
};
