import type { OpenSession, SessionClient, Transcript } from "../../client/index.ts";
import { LimpetError } from "../../client/index.ts";
import type { ExitCode } from "../usage.ts";
import { exitCodes } from "../usage.ts";
import { askLines, readAnswer, waitingLine } from "./asks.ts";
import type { RemoteContext, WriteCommand } from "./context.ts";
import { createConnectionTeller, helpLine, isAskingHelp, isLeaving } from "./person.ts";
import type { Person } from "./person.ts";
import { toPlainText } from "./plain.ts";
import type { ScreenState } from "./screen.ts";
import { emptyScreen, writeTranscript } from "./screen.ts";

/** Runs a conversation in a terminal: shows a session as it progresses, and sends what is typed. */

/** Resolves with the first transcript that fulfils a condition. */
const waitFor = (open: OpenSession, holds: (transcript: Transcript) => boolean): Promise<Transcript> =>
  new Promise((resolve) => {
    const look = (): void => {
      const now = open.getSnapshot();
      if (!holds(now)) return;
      stop();
      resolve(now);
    };
    const stop = open.subscribe(look);
    look();
  });

const isResting = ({ status, session, inputs }: Transcript): boolean =>
  status === "closed" || (status === "live" && session?.status === "idle" && inputs.length === 0);

interface ChatState {
  readonly writeCommand: WriteCommand;
  screen: ScreenState;
  /** Number of the last printed event, if events are printed. */
  seq: number;
  /** Ask that was shown to the person. */
  asked: string | null;
}

/** Writes the new events, one per line. */
const writeEvents = (state: ChatState, open: OpenSession, person: Person): void => {
  for (const event of open.getEvents()) if (event.seq > state.seq) person.write(`${JSON.stringify(event)}\n`);
  state.seq = Math.max(state.seq, open.getSnapshot().seq);
};

/** Writes new content for people, and shows the first ask. */
const writeText = (state: ChatState, open: OpenSession, person: Person): void => {
  const now = open.getSnapshot();
  const { text, screen } = writeTranscript(now, state.screen);
  state.screen = screen;
  if (text !== "") person.write(text);
  const [ask] = now.asks;
  if (ask !== undefined && ask.id !== state.asked)
    person.write(`${askLines(state.writeCommand, now.session?.id ?? "", ask).join("\n")}\n`);
  state.asked = ask?.id ?? null;
};

/** Writes the changes of a transcript. */
const writeChanges = (state: ChatState, open: OpenSession, person: Person, json: boolean): void => {
  if (json) writeEvents(state, open, person);
  else writeText(state, open, person);
};

const tell = (person: Person, fault: unknown): void =>
  person.warn(fault instanceof LimpetError ? toPlainText(fault.problem.detail) : String(fault));

/** Answers the open ask with the typed line, or sends it. */
const takeLine = async (
  session: SessionClient,
  open: OpenSession,
  person: Person,
  line: string,
): Promise<void> => {
  if (line.trim() === "") return;
  const [ask] = open.getSnapshot().asks;
  const answer = ask === undefined ? null : readAnswer(ask, line);
  if (typeof answer === "string") return person.warn(answer);
  try {
    if (ask === undefined || answer === null) {
      const { status, seq } = await session.send({ content: line, on_busy: "queue" });
      if (status === "accepted") person.warn("(it waits for the end of the run)");
      // A transcript is published once per frame: an earlier answer is ahead of it.
      await waitFor(open, (now) => now.status === "closed" || now.seq >= seq);
    } else {
      await session.answer(ask.id, answer);
      await waitFor(open, (now) => now.status === "closed" || now.asks.every(({ id }) => id !== ask.id));
    }
  } catch (fault) {
    tell(person, fault);
  }
};

/**
 * Creates the handler of Ctrl-C: the first one cancels the run, the next one leaves; without a run the first one
 * leaves.
 */
const createInterrupt = (session: SessionClient, open: OpenSession, person: Person): (() => void) => {
  let cancelled: string | null = null;
  return () => {
    const run = open.getSnapshot().session?.active_run ?? null;
    if (run === null || run === cancelled) return open.close();
    cancelled = run;
    person.warn("(cancelled; Ctrl-C once more leaves)");
    session.cancel().catch((fault: unknown) => tell(person, fault));
  };
};

/** Waits until a run has ended or somebody is asked. */
const waitForTurn = (open: OpenSession): Promise<Transcript> =>
  waitFor(open, (now) => isResting(now) || now.asks.length > 0);

/**
 * Reads lines until there are no more or the session is closed. A person types at any time; lines of a pipe are all
 * available at once, so each waits until the run before it has ended, or asks for it.
 */
const readLines = async (session: SessionClient, open: OpenSession, person: Person): Promise<void> => {
  const lines = person.lines()[Symbol.asyncIterator]();
  const closed = waitFor(open, ({ status }) => status === "closed").then(() => null);
  for (;;) {
    if (!person.isTerminal) await waitForTurn(open);
    const next = await Promise.race([lines.next(), closed]);
    if (next === null || next.done === true || isLeaving(next.value)) return;
    if (isAskingHelp(next.value)) person.warn(helpLine);
    else await Promise.race([takeLine(session, open, person, next.value), closed]);
  }
};

/** Talks with a session until its person leaves; at the end of a pipe, until the last run has ended. */
export const chat = async (
  session: SessionClient,
  { person, flags, writeCommand }: Pick<RemoteContext, "person" | "flags" | "writeCommand">,
): Promise<ExitCode> => {
  const json = flags.json === true;
  const open = session.open();
  const state: ChatState = { writeCommand, screen: emptyScreen, seq: 0, asked: null };
  const tellConnection = createConnectionTeller(person);
  const stopTelling = open.subscribe(() => tellConnection(open.getSnapshot()));
  const first = await waitFor(open, ({ status }) => status === "live" || status === "closed");
  if (first.status === "closed")
    throw first.problem === undefined ? new Error("closed") : new LimpetError(first.problem);
  if (json) state.seq = first.seq;
  else {
    const { text, screen } = writeTranscript(first, emptyScreen, true);
    state.screen = screen;
    person.write(text);
  }
  const stop = open.subscribe(() => writeChanges(state, open, person, json));
  const stopInterrupt = person.onInterrupt(createInterrupt(session, open, person));
  writeChanges(state, open, person, json);
  try {
    await readLines(session, open, person);
    return endOf(session, await waitForTurn(open), person, writeCommand);
  } finally {
    stop();
    stopTelling();
    stopInterrupt();
    person.stopReading();
    open.close();
  }
};

const endOf = (
  { id }: SessionClient,
  { asks, runs, status, problem }: Transcript,
  person: Person,
  writeCommand: WriteCommand,
): ExitCode => {
  const [ask] = status === "closed" ? [] : asks;
  if (problem !== undefined && status === "closed") tell(person, new LimpetError(problem));
  if (ask !== undefined) person.warn(waitingLine(writeCommand, id, ask));
  const state = runs.findLast(({ thread }) => thread === "main")?.state;
  // A person at a terminal has seen that a run was cancelled.
  const isLost = state === "failed" || (state === "cancelled" && !person.isTerminal);
  if (isLost || problem !== undefined) return exitCodes.diagnostics;
  return ask === undefined ? exitCodes.fine : exitCodes.unfinished;
};
