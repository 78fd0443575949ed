import type { SessionClient } from "../../client/index.ts";
import type { TranscriptInput } from "../../client/transcript.ts";
import { nameFile } from "../conversation/problems.ts";
import { createStore } from "./store.ts";
import type { Store } from "./store.ts";
import { hasCode, untilReached } from "./again.ts";
import { isRefusal } from "./api.ts";
import type { Api } from "./api.ts";
import { putBackDraft } from "./drafts.ts";
import { keepOrAsk, readFiles } from "./files.ts";
import { dropInput, inputPlace, keepInput, keepWithdrawal, readKeptInputs } from "./kept.ts";
import type { KeptInput } from "./kept.ts";
import { ownName } from "./tab.ts";

/** Sends messages with their files, and keeps each until the server has it or refuses it, over a reload too. */

type NewInput = Omit<KeptInput, "session" | "files">;

export interface MessageOutbox {
  readonly send: (input: NewInput, files: readonly File[]) => Promise<void>;
  /** Takes a message back, wherever it is. */
  readonly withdraw: (id: string) => Promise<void>;
  /** Messages whose files are not uploaded yet, and what is to follow them. */
  readonly held: Store<readonly PendingMessage[]>;
  /** Keeps what is on its way for the next time that the session is shown. */
  readonly close: () => void;
}

interface Uploaded {
  readonly id: string;
  readonly media_type: string;
}

const upload = async (api: Api, session: string, file: File, signal: AbortSignal) => {
  const address = `/sessions/${session}/files?name=${encodeURIComponent(file.name)}`;
  const send = () => api.read<Uploaded>(address, { method: "POST", body: file, signal });
  const { id, media_type } = await nameFile(file, untilReached(send, signal));
  const type: "image" | "document" = media_type.startsWith("image/") ? "image" : "document";
  return { type, file: id, name: file.name };
};

const textPartsOf = (text: string) => (text.trim() === "" ? [] : [{ type: "text" as const, text }]);

/** What a person sees of an input that is on its way. */
export type PendingMessage = Pick<TranscriptInput, "id" | "content" | "state">;

const pendingMessageOf = ({ id, content, files = [] }: KeptInput): PendingMessage => ({
  id,
  content: [
    ...textPartsOf(content),
    ...files.map((name) => ({ type: "document" as const, media_type: "", name })),
  ],
  state: "pending",
});

const readKeptFiles = async (id: string, names: readonly string[]): Promise<readonly File[]> => {
  const files = await readFiles(inputPlace(id));
  if (files.length === names.length) return files;
  throw new Error(`Attach ${names.join(", ")} again.`);
};

interface Line {
  readonly held: MessageOutbox["held"];
  /** Hands the client a message, after its files are uploaded and after those before it; resolves once it is sent. */
  readonly send: (
    input: KeptInput,
    files: Promise<readonly File[]> | null,
    signal: AbortSignal,
  ) => Promise<void>;
}

const createLine = (api: Api, session: SessionClient): Line => {
  const held = createStore<readonly PendingMessage[]>([]);
  let line: Promise<void> = Promise.resolve();
  const say = (
    { id, content, mode }: KeptInput,
    parts: readonly Awaited<ReturnType<typeof upload>>[],
  ): Promise<unknown> =>
    session.send({
      id,
      content: parts.length === 0 ? content : [...textPartsOf(content), ...parts],
      on_busy: mode,
    });
  return {
    held,
    send: async (input, files, signal) => {
      if (files === null && held.get().length === 0) return void (await say(input, []));
      const before = line;
      const turn = Promise.withResolvers<void>();
      line = turn.promise;
      const leave = (): void => held.set((all) => all.filter(({ id }) => id !== input.id));
      signal.addEventListener("abort", leave);
      held.set((all) => [...all, pendingMessageOf(input)]);
      let sent: Promise<unknown>;
      try {
        const [found] = await Promise.all([files, before]);
        const uploads = (found ?? []).map((file) => upload(api, session.id, file, signal));
        const parts = await Promise.all(uploads);
        signal.throwIfAborted();
        sent = say(input, parts);
      } finally {
        leave();
        turn.resolve();
      }
      await sent;
    },
  };
};

type SendInput = (input: KeptInput, files: Promise<readonly File[]> | null) => Promise<void>;

/** Sends what was kept before; what is refused stands in the field, unless another key may send it. */
const resume = (
  session: string,
  send: SendInput,
  withdraw: MessageOutbox["withdraw"],
  report: (work: Promise<unknown>) => void,
): void => {
  const place = ownName(session);
  const sendKept = async (input: KeptInput): Promise<void> => {
    try {
      await send(input, input.files === undefined ? null : readKeptFiles(input.id, input.files));
    } catch (fault) {
      if (isRefusal(fault)) return;
      await putBackDraft(place, { text: input.content, files: await readFiles(inputPlace(input.id)) });
      dropInput(input.id);
      throw fault;
    }
  };
  for (const kept of readKeptInputs(session))
    if (kept.withdrawn === true) void withdraw(kept.id).catch(() => undefined);
    else report(sendKept(kept));
};

export const createOutbox = (
  api: Api,
  session: SessionClient,
  report: (work: Promise<unknown>) => void,
): MessageOutbox => {
  const line = createLine(api, session);
  const closing = new AbortController();
  /** The messages on their way, which can be stopped. */
  const stops = new Map<string, AbortController>();
  const send: SendInput = async (input, files) => {
    const stop = new AbortController();
    stops.set(input.id, stop);
    try {
      await line.send(input, files, AbortSignal.any([stop.signal, closing.signal]));
      dropInput(input.id);
    } catch (fault) {
      // A page that is closed keeps it, and sends it when the session is shown again.
      if (!closing.signal.aborted && !stop.signal.aborted) throw fault;
    } finally {
      stops.delete(input.id);
    }
  };
  const withdraw: MessageOutbox["withdraw"] = async (id) => {
    keepWithdrawal(id);
    stops.get(id)?.abort();
    try {
      await session.withdraw(id);
      dropInput(id);
    } catch (fault) {
      if (hasCode(fault, "input_already_applied")) dropInput(id);
      throw fault;
    }
  };
  resume(session.id, send, withdraw, report);
  return {
    held: line.held,
    send: async (given, files) => {
      const hasFiles = files.length > 0;
      const input = {
        ...given,
        session: session.id,
        ...(hasFiles && { files: files.map(({ name }) => name) }),
      };
      keepInput(input);
      const stopAsking = hasFiles ? keepOrAsk(inputPlace(input.id), files) : () => undefined;
      try {
        await send(input, hasFiles ? Promise.resolve(files) : null);
      } catch (fault) {
        // The composer has the text again.
        dropInput(input.id);
        throw fault;
      } finally {
        stopAsking();
      }
    },
    withdraw,
    close: () => closing.abort(),
  };
};
