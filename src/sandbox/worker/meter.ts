import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Counts the work of the embedded shell. A Worker's clock stands still while code runs, so a long stretch cannot be
 * timed: each round of a loop of the shell pays for its work here, in units of about a nanosecond (`limpet
 * build-shell` inserts the payments into the shell's code). A stretch is the time between two turns of the event
 * loop.
 */

/** Units between two checks of the spent units. */
const grain = 100_000;
/** Units that code may spend in a stretch if it cannot yield. */
const longest = 100_000_000;
/** Units after which code that can yield does so: few at first, more while they turn out to be cheap. */
const pause = { least: 400_000, most: 10_000_000, now: 400_000 };
/** Milliseconds that a stretch should take before it yields. */
const wanted = 10;

/** Characters that one variable and all variables of a shell may hold, and those stored since the last sum. */
const mostInOne = 4 * 1024 * 1024;
const most = 24 * 1024 * 1024;
const unsummed = 1024 * 1024;

/** Error that ends a command which works too long in a stretch or holds too much. No code of the shell may catch it. */
export class WorkLimit extends Error {}

/**
 * Variables of a shell or of awk, as its code has them: the current ones, and those that functions save until they
 * return.
 */
interface ShellState {
  readonly env?: unknown;
  readonly vars?: unknown;
  readonly arrays?: unknown;
  /** Scopes, one for each function that has not returned. */
  readonly localScopes?: readonly object[];
  readonly localArrayScopes?: unknown;
  readonly localVarStack?: unknown;
}

/** Returns the characters of the texts in a value, however deep in lists, maps and plain objects. */
const charactersOf = (value: unknown): number => {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let sum = 0;
  const parts = value instanceof Map || Array.isArray(value) ? value.values() : Object.values(value);
  for (const part of parts) sum += charactersOf(part);
  return sum;
};

/** Arguments that functions save besides their scopes. */
const putAside = new WeakMap<object, unknown>();

const charactersIn = (state: ShellState): number => {
  const { env, vars, arrays, localScopes = [], localArrayScopes, localVarStack } = state;
  const asides = localScopes.map((scope) => putAside.get(scope));
  return charactersOf([env, vars, arrays, localScopes, localArrayScopes, localVarStack, asides]);
};

/** Characters that all shells have stored so far, and their number when each was last summed up. */
let stored = 0;
const summed = new WeakMap<ShellState, number>();

/** Signal that ends the running command. */
const ending = new AsyncLocalStorage<AbortSignal>();

/** Units spent in the current stretch, and when it began. */
let spent = 0;
let began = 0;

/** Returns the cost of walking a text, a list or bytes; anything else is no longer than a word. */
const sizeOf = (value: unknown): number =>
  typeof value === "string" || Array.isArray(value) || value instanceof Uint8Array ? value.length : 0;

/** Length of the searched value. */
let noted = 0;

export const meter = {
  /** Units until the next check; the shell's loops count them down. */
  left: grain,
  /** Whether it is time to yield. */
  due: false,
  /** Called when `left` has run out. */
  spend(): void {
    spent += grain - meter.left;
    meter.left = grain;
    meter.due = spent >= pause.now;
    if (spent > longest) throw new WorkLimit("a single step of the command takes too long");
  },
  /** Runs a command, which ends at its next yield once the signal is aborted. */
  run<Result>(signal: AbortSignal, command: () => Promise<Result>): Promise<Result> {
    return ending.run(signal, command);
  },
  /** Begins a stretch, after a turn of the event loop. */
  begin(): void {
    spent = 0;
    meter.due = false;
    began = Date.now();
  },
  /** Yields to other work, so that requests are served and time-outs fire. */
  async giveWay(): Promise<void> {
    const before = began;
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    meter.begin();
    if (ending.getStore()?.aborted === true) throw new WorkLimit("the command was ended");
    const next = began - before > wanted ? pause.now / 2 : pause.now * 2;
    pause.now = Math.min(Math.max(next, pause.least), pause.most);
  },
  /** Pays for a native function that copies or reads all of a value. */
  make<Value>(value: Value): Value {
    if ((meter.left -= sizeOf(value)) < 0) meter.spend();
    return value;
  },
  /** Pays for a conversion of a value to a list: the characters of a text are expensive. */
  spread<Value>(value: Value): Value {
    if ((meter.left -= (typeof value === "string" ? 24 : 2) * sizeOf(value)) < 0) meter.spend();
    return value;
  },
  /** Pays for a function that is called for each item or character of a value. */
  walk<Value>(value: Value): Value {
    if ((meter.left -= (typeof value === "string" ? 48 : 24) * sizeOf(value)) < 0) meter.spend();
    return value;
  },
  /** Notes the value that is about to be searched. */
  note<Value>(value: Value): Value {
    noted = sizeOf(value);
    return value;
  },
  /** Pays for a search by its position of success. */
  found<Result>(result: Result): Result {
    const walked = result === false || result === -1 ? noted : typeof result === "number" ? result : 0;
    if ((meter.left -= walked >> 2) < 0) meter.spend();
    return result;
  },
  /** Counts a value that is stored in a variable of a shell; an element's shell is unknown, so it is counted later. */
  hold<Value>(state: ShellState | null, value: Value): Value {
    const length = typeof value === "string" ? value.length : 0;
    if (length > mostInOne) throw new WorkLimit("a variable holds more than 4 million characters");
    stored += length;
    if (state === null || stored - (summed.get(state) ?? 0) < unsummed) return value;
    summed.set(state, stored);
    if (charactersIn(state) + length > most)
      throw new WorkLimit("the command's variables hold more than 24 million characters");
    return value;
  },
  /** Records where a function saves the arguments of its caller: they count until its scope is gone. */
  putAside<Texts>(state: ShellState, texts: Texts): Texts {
    const scope = state.localScopes?.at(-1);
    if (scope !== undefined && scope !== texts && !putAside.has(scope)) putAside.set(scope, texts);
    return texts;
  },
  /** Refuses a pattern whose counted repetitions compile to a program much longer than its text. */
  admit(instructions: number, pattern: string): void {
    if (instructions > 500 && instructions > 2 * pattern.length)
      throw new WorkLimit(`a pattern compiles to ${instructions} instructions, 500 are allowed`);
  },
  /** Rethrows errors that a `catch` of the shell must not swallow. */
  passOn(error: unknown): void {
    if (error instanceof WorkLimit) throw error;
  },
};
