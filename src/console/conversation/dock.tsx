import { useState } from "preact/hooks";
import type { Transcript, TranscriptAsk, TranscriptInput } from "../../client/transcript.ts";
import { escapeInLine } from "../parts/escape.ts";
import { useNow } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { lazy } from "../parts/lazy.tsx";
import { beginSentence, formatCountdown } from "../sessions/status.ts";
import { useApp, useSession } from "../state/app.ts";
import type { App } from "../state/app.ts";
import { keepDraftAsk, readDraftAsk } from "../state/draft-ask.ts";
import { textOf } from "../state/session.ts";
import type { SendMode, SessionControl } from "../state/session.ts";
import { Composer } from "./composer.tsx";
import type { ComposerMode } from "./composer.tsx";
import { whenItGoesOut } from "./sentences.ts";

/** What stands below the log: connection, what waits in line, and the composer. */

/** Why the page cannot follow the session, unless the connection was lost. */
const lossWords: Readonly<Record<string, string>> = {
  server_silent: "The server is silent",
  stream_refused: "The server opens no stream",
};

/** The connection in words, while it is not as it should be. */
const Connection = ({ transcript }: { readonly transcript: Transcript }) => {
  const { open } = useSession();
  const { status, retry_at: retryAt, problem } = transcript;
  useNow(500, status === "offline");
  // The client has its tries by this machine's clock.
  const now = Date.now();
  if (status === "closed")
    return (
      <p class="notice">
        <span>
          <strong>No longer connected.</strong> {problem?.detail}
        </span>
      </p>
    );
  if (status !== "offline") return null;
  const when = retryAt === null || retryAt - now < 1_000 ? "now" : `in ${formatCountdown(retryAt, now)}`;
  return (
    <p class="notice">
      <span class="dot quiet" />
      <span>
        <strong>{lossWords[problem?.code ?? ""] ?? "Connection lost"}.</strong> Trying again {when}. What you
        write is kept, over a reload too.
      </span>
      <button type="button" class="plain" onClick={open.reconnect}>
        Try now
      </button>
    </p>
  );
};

const isText = ({ content }: TranscriptInput): boolean => content.every(({ type }) => type === "text");

interface WaitingProps {
  readonly input: TranscriptInput;
  /** What joins the run now would drop what the run asks. */
  readonly hasAsk: boolean;
}

const Waiting = ({ input, hasAsk }: WaitingProps) => {
  const session = useSession();
  const { report } = useApp();
  return (
    <div class="waiting">
      <Icon name="clock" />
      <span class="cut">
        {whenItGoesOut(input.on_busy)}: {escapeInLine(textOf(input))}
      </span>
      {input.on_busy !== "steer" && !hasAsk && isText(input) && (
        <button type="button" class="plain" onClick={() => report(session.sendNow(input))}>
          Send now
        </button>
      )}
      <button type="button" class="plain" onClick={() => report(session.takeBack(input))}>
        Withdraw
      </button>
    </div>
  );
};

const steer: ComposerMode = {
  id: "steer",
  label: "Steer now",
  hint: "The agent reads it before its next step.",
};
const queue: ComposerMode = { id: "queue", label: "Queue", hint: "It waits until this run is over." };
const interrupt: ComposerMode = {
  id: "interrupt",
  label: "Interrupt",
  hint: "The run stops, and this begins another.",
};
const answer: ComposerMode = { id: "answer", label: "Answers the question" };
const instead: ComposerMode = { id: "steer", label: "Steer instead", hint: "The question is dropped." };
const dropping: ComposerMode = { id: "steer", label: "Steer", hint: "The approval is dropped." };

/** A strict question takes one of its options only. */
const takesAnswer = (ask: TranscriptAsk | null): boolean =>
  ask?.kind === "question" && ask.question?.strict !== true;

/** Without a connection nobody knows what the agent is at: what is written then waits for its turn. */
const modesFor = (ask: TranscriptAsk | null, busy: boolean, online: boolean): readonly ComposerMode[] => {
  if (takesAnswer(ask)) return online ? [answer, instead, queue] : [answer, queue];
  if (!online) return [queue, steer];
  if (ask !== null) return [queue, ask.kind === "question" ? instead : dropping, interrupt];
  return busy ? [steer, queue, interrupt] : [queue];
};

const modePlaceholders: Readonly<Record<string, string>> = {
  steer: "It reads this before its next step.",
  queue: "It reads this after this run.",
  interrupt: "This ends the run and begins another.",
};

const placeholderFor =
  (agent: string, transcript: Transcript, ask: TranscriptAsk | null) =>
  (mode: string): string => {
    if (transcript.status === "offline")
      return `Write ${mode === "answer" ? "your answer" : `to ${agent}`}. It goes out when connected.`;
    if (mode === "answer") return "Write your answer.";
    if (ask !== null && mode === "queue")
      return `For ${agent}, after your ${ask.kind === "question" ? "answer" : "decision"}.`;
    const when = transcript.session?.active_run == null ? undefined : modePlaceholders[mode];
    return `Write to ${agent}.${when === undefined ? "" : ` ${when}`}`;
  };

/** Reads which open ask a text would answer, the oldest first. */
export const openAskOf = ({ asks }: Transcript): TranscriptAsk | null =>
  asks.find(({ kind }) => kind === "question") ?? asks.find(({ kind }) => kind !== "client_tool") ?? null;

const verbFor =
  ({ status, session }: Transcript) =>
  (mode: string): string => {
    if (status === "offline") return "Send later";
    return session?.active_run == null ? "Send" : beginSentence(mode);
  };

/** Asks once before a call that runs is broken off, or what the run asks is dropped. */
export const StopQuestion = lazy(async () => (await import("./stop.tsx")).StopQuestion);

export const hasRunningCall = ({ threads }: Transcript): boolean =>
  threads.some(({ run, entries }) =>
    run === null
      ? false
      : entries.some(
          (entry) =>
            entry.kind === "call" &&
            entry.state === "running" &&
            entry.safety !== "read" &&
            entry.children.length === 0,
        ),
  );

/** Stops the run; it asks first where a call would be broken off or an ask dropped. */
export const stopRun = ({ report, show }: Pick<App, "report" | "show">, session: SessionControl): void => {
  const transcript = session.open.getSnapshot();
  if (transcript.session?.active_run == null) return;
  if (openAskOf(transcript) !== null || hasRunningCall(transcript)) show("stop");
  else report(session.cancel());
};

interface DockProps {
  readonly transcript: Transcript;
  readonly agent: string;
  /** Called when a message is sent. */
  readonly onSent: () => void;
}

export const Dock = ({ transcript, agent, onSent }: DockProps) => {
  const session = useSession();
  const { report, fault } = useApp();
  const [stops, setStops] = useState(false);
  const ask = openAskOf(transcript);
  const busy = transcript.session?.active_run != null;
  const waiting = transcript.inputs.filter(({ state }) => state === "accepted");
  // Before the session is there, nobody knows what it asks.
  const begin = (): void => keepDraftAsk(session.id, transcript.session && (ask?.id ?? ""));
  const perform = async (text: string, mode: string, files: readonly File[]): Promise<void> => {
    if (mode !== "answer" || ask === null) return session.send(text, mode as SendMode, files);
    const target = readDraftAsk(session.id) ?? ask.id;
    begin();
    if (ask.id !== target)
      throw new Error("Another question came while you wrote. Read it, and send again to answer it.");
    if (files.length > 0) throw new Error("An answer takes no files. Take them out, or steer instead.");
    await session.answer(ask.id, { decision: "answer", text });
  };
  const send = (text: string, mode: string, files: readonly File[]): Promise<void> => {
    fault.set(null);
    onSent();
    const sent = perform(text, mode, files);
    report(sent);
    return sent;
  };
  const stop = (): void => (hasRunningCall(transcript) ? setStops(true) : report(session.cancel()));
  return (
    <div class="dock">
      <Connection transcript={transcript} />
      {waiting.map((input) => (
        <Waiting key={input.id} input={input} hasAsk={transcript.asks.length > 0} />
      ))}
      {transcript.status !== "closed" && (
        <Composer
          key={session.id}
          place={session.id}
          placeholder={placeholderFor(agent, transcript, ask)}
          modes={modesFor(ask, busy, transcript.status === "live")}
          choiceHolds={`${transcript.session?.active_run ?? ""} ${ask?.id ?? ""}`}
          verb={verbFor(transcript)}
          answers={takesAnswer(ask)}
          onSend={send}
          onBegin={begin}
          {...(busy && { onStop: stop })}
          onRecall={() => {
            const last = waiting.at(-1);
            if (last === undefined || !isText(last)) return null;
            const taken = session.withdraw(last);
            report(taken);
            return { text: textOf(last), mode: last.on_busy ?? "queue", taken };
          }}
        />
      )}
      {stops && <StopQuestion runsTool={hasRunningCall(transcript)} onClose={() => setStops(false)} />}
    </div>
  );
};
