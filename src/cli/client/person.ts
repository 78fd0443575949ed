import { createInterface } from "node:readline";
import type { Interface } from "node:readline";
import type { Transcript } from "../../client/index.ts";
import { toPlainText } from "./plain.ts";

/** Somebody at a terminal, or a script in their place: their input, and the output of text for them. */
export interface Person {
  /** Writes a piece of text as it is. */
  readonly write: (text: string) => void;
  /** Writes a line apart from the result, such as a state of the connection. */
  readonly warn: (line: string) => void;
  /** Yields the input line by line, until there is no more. */
  readonly lines: () => AsyncIterable<string>;
  /** Stops reading: an input that stays open, as a terminal's does, would keep the process alive. */
  readonly stopReading: () => void;
  /** Calls back at each Ctrl-C, which then ends nothing by itself; returns a function that stops this. */
  readonly onInterrupt: (listener: () => void) => () => void;
  readonly isTerminal: boolean;
  /** Variables of the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

async function* startWith(first: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
}

/** Returns whether a line leaves a conversation. */
export const isLeaving = (line: string): boolean => line.trim() === "/quit";
export const isAskingHelp = (line: string): boolean => line.trim() === "/help";

export const helpLine =
  "Type a message, or the answer to what is asked. Ctrl-C cancels a run; /quit and Ctrl-D leave once it has ended.";

/** Waits for a line that is not blank; returns the person with this line still to read, or null if there is none. */
export const awaitFirstLine = async (person: Person): Promise<Person | null> => {
  const lines = person.lines()[Symbol.asyncIterator]();
  for (;;) {
    const next = await lines.next();
    if (next.done === true || isLeaving(next.value)) {
      person.stopReading();
      return null;
    }
    if (isAskingHelp(next.value)) person.warn(helpLine);
    else if (next.value.trim() !== "") return { ...person, lines: () => startWith(next.value, lines) };
  }
};

type ConnectionState = Pick<Transcript, "status" | "problem">;

/** Creates what tells a person once that the connection is lost, and once that it is back. */
export const createConnectionTeller = (person: Person): ((state: ConnectionState) => void) => {
  let isLost = false;
  return ({ status, problem }) => {
    if (status === "offline" && !isLost)
      person.warn(`(trying again: ${toPlainText(problem?.detail ?? "the connection is lost")})`);
    if (status === "live" && isLost) person.warn("(connected again)");
    isLost = status === "offline" || (isLost && status !== "live");
  };
};

let reader: Interface | null = null;

/** Caller of this process. */
export const processPerson: Person = {
  write: (text) => void process.stdout.write(text),
  warn: (line) => void process.stderr.write(`${line}\n`),
  lines: () => {
    reader = createInterface({ input: process.stdin, terminal: false });
    return reader;
  },
  stopReading: () => reader?.close(),
  onInterrupt: (listener) => {
    process.on("SIGINT", listener);
    return () => void process.off("SIGINT", listener);
  },
  isTerminal: process.stdin.isTTY,
  env: process.env,
};
