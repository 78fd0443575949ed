import type { StoredEvent } from "../agent/state/events.ts";
import type { ContentPart } from "../chat/message.ts";
import type { AnswerSchemas } from "./operations/answers.ts";
import type { AnswerOf, CallOptions, CallWithin, ClientOperationName, ParamsOf } from "./call.ts";
import type { SessionCommands } from "./commands.ts";
import { createCommands, isPassing } from "./commands.ts";
import type { EventsOptions } from "./events.ts";
import { readSessionEvents } from "./events.ts";
import type { Http } from "./http.ts";
import { clientProblem, LimpetError } from "./http.ts";
import type { OpenTranscript } from "./open.ts";
import { openSession } from "./open.ts";
import type { InputContent } from "./operations/params.ts";
import type { PendingInputs } from "./pending.ts";
import { createPendingInputs } from "./pending.ts";
import { pickDefined } from "./plain.ts";
import { newCommandId } from "./retry.ts";
import type { OpenSession, TranscriptInput } from "./transcript.ts";

/** This file is the client of one session: its commands, its events, and its transcript. */

type OwnParams<N extends ClientOperationName> = Omit<ParamsOf<N>, "session">;

type SendInput = Omit<OwnParams<"send">, "wait">;

/** With `wait` it resolves with the run once that has ended; messages sent after it go out then. */
interface SendMessage {
  (input: string | SendInput, options?: CallOptions): Promise<AnswerSchemas["Receipt"]>;
  (input: SendInput & { readonly wait: number }, options?: CallOptions): Promise<AnswerOf<"send">>;
}

/** One session of the deployment. */
export interface SessionClient {
  readonly id: string;
  /** Hands the session a message: a text, or an input with parts and a mode for a busy session. */
  readonly send: SendMessage;
  /**
   * Takes a message back by its id, also one that is on its way, whose `send` is rejected as `withdrawn`: if it comes
   * later it is refused. The withdrawal is rejected as `input_already_applied` if an agent had the message first.
   */
  readonly withdraw: (input: string, options?: CallOptions) => Promise<void>;
  /** Answers an ask; the first valid answer wins. */
  readonly answer: (
    ask: string,
    answer: Omit<OwnParams<"answer">, "ask">,
    options?: CallOptions,
  ) => Promise<AnswerOf<"answer">>;
  /** Cancels the run, at once or after its turn; `run` is null if none was active. */
  readonly cancel: (params?: OwnParams<"cancel">, options?: CallOptions) => Promise<AnswerOf<"cancel">>;
  /** Makes what the model sees smaller. */
  readonly compact: (params?: OwnParams<"compact">, options?: CallOptions) => Promise<AnswerOf<"compact">>;
  readonly usage: () => Promise<AnswerOf<"usage">>;
  /** Yields stored events after a number, then those that come; it reconnects by itself and ends by its signal. */
  readonly events: (options?: EventsOptions) => AsyncGenerator<StoredEvent, void, undefined>;
  /** Follows the session as a transcript, until it is closed. */
  readonly open: () => OpenSession;
}

/** What a person sees of an input that is on its way. */
const pendingInputOf = ({ id, content, on_busy, sender, thread }: SendBody): TranscriptInput => ({
  id,
  thread: thread ?? "main",
  // Whatever else a caller passes, the server refuses it and says what it takes.
  content: typeof content === "object" ? content.flatMap(contentPartOf) : [{ type: "text", text: content }],
  on_busy: on_busy ?? null,
  sender: sender ?? null,
  state: "pending",
  at: Date.now(),
});

const withdrawn = clientProblem("withdrawn", "the message was taken back", {
  retryable: false,
});

type SendBody = SendInput & { readonly id: string };

const contentPartOf = (part: Exclude<InputContent, string>[number]): readonly ContentPart[] => {
  if (part.type === "text") return [part];
  const { type, media_type = type === "image" ? "image/png" : "text/plain", name, url } = part;
  return [{ type, media_type, ...pickDefined({ name, url }) }];
};

export interface SessionSource {
  readonly http: Http;
  readonly call: CallWithin;
  readonly WebSocket: typeof globalThis.WebSocket | undefined;
}

/** Sends messages in their order and takes them back; what is on its way is shown until the log has it. */
const createSender = (
  commands: SessionCommands,
  pending: PendingInputs,
  opens: ReadonlySet<OpenTranscript>,
) => {
  const refresh = (): void => {
    for (const open of opens) open.refresh();
  };
  /** Resolves once the messages so far were answered or given up. */
  let before: Promise<unknown> = Promise.resolve();
  const send = async (body: SendBody, options: CallOptions): Promise<AnswerSchemas["Receipt"]> => {
    const sent = pending.add(pendingInputOf(body));
    const { signal } = sent.stop;
    const earlier = before;
    const end = AbortSignal.any([signal, options.signal ?? signal]);
    const turn = Promise.race([earlier, new Promise((next) => end.addEventListener("abort", next))]);
    before = sent.ended.promise.then(() => earlier);
    let seq: number | null = null;
    refresh();
    try {
      await turn;
      if (signal.aborted) throw new LimpetError(withdrawn);
      end.throwIfAborted();
      const key = options.key ?? body.id;
      // Only who waits is answered with a run.
      const receipt = (await commands.perform(
        "send",
        body,
        { ...options, key },
        end,
      )) as AnswerSchemas["Receipt"];
      // Where nothing is open, nothing will see the input in the log.
      if (opens.size > 0) ({ seq } = receipt);
      return receipt;
    } catch (fault) {
      throw signal.aborted && isPassing(fault) ? new LimpetError(withdrawn) : fault;
    } finally {
      pending.settle(sent, seq);
      refresh();
    }
  };
  const withdraw = async (input: string, options?: CallOptions): Promise<void> => {
    const taken = pending.take(input);
    refresh();
    await taken;
    // What was cut off on its way and comes after this is refused.
    await commands.perform("withdraw", { input }, { key: input, ...options });
  };
  return { send, withdraw };
};

/** Creates the client of a session; nothing is requested. */
export const createSessionClient = (source: SessionSource, id: string): SessionClient => {
  const { call } = source;
  const path = `/v1/sessions/${encodeURIComponent(id)}`;
  const opens = new Set<OpenTranscript>();
  const pending = createPendingInputs();
  const commands = createCommands(call, id, () => opens.size > 0);

  const { send, withdraw } = createSender(commands, pending, opens);
  const open = (): OpenSession => {
    const opened = openSession({
      ...source,
      path,
      pending,
      changed: (status) => {
        if (status === "closed") opens.delete(opened);
        if (status !== "offline") commands.wake();
      },
    });
    opens.add(opened);
    return opened;
  };
  return {
    id,
    send: (input: string | SendInput, options: CallOptions = {}) => {
      const body = typeof input === "string" ? { content: input } : { ...input };
      return send({ ...body, id: body.id ?? newCommandId() }, options);
    },
    withdraw,
    answer: (ask, answer, options) => commands.perform("answer", { ask, ...answer }, options),
    cancel: (params = {}, options) => commands.perform("cancel", params, options),
    compact: (params = {}, options) => commands.perform("compact", params, options),
    usage: () => call("usage", { session: id }),
    events: (options = {}) => readSessionEvents({ ...source, path }, options),
    open,
  };
};
