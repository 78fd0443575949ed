/**
 * Counts the work of the embedded shell. A Worker's clock stands still while code runs, so a long stretch cannot be
 * timed: each round of a loop in the shell reports its work here, in units of about a nanosecond (`limpet build-shell`
 * adds these reports to the shell's code). A stretch is what runs between two turns of the event loop.
 */

/** Units between two checks of what was spent. */
const grain = 100_000;
/** Units that code which cannot yield may spend in one stretch. */
const longest = 100_000_000;
/** Units after which code that can yield does so: few at first, more once they turn out to be cheap. */
const pause = { least: 400_000, most: 10_000_000, now: 400_000 };
/** Milliseconds that a stretch should take before it yields. */
const wanted = 10;

/** Characters that one variable and all variables of a shell may hold, and new ones after which they are summed up. */
const mostInOne = 4 * 1024 * 1024;
const most = 24 * 1024 * 1024;
const unsummed = 1024 * 1024;

/** Ends a command that works too long in one stretch or holds too much. No code of the shell catches it. */
export class WorkLimit extends Error {}

/** The variables of a shell, in its own data structures. */
interface ShellState {
  readonly env: ReadonlyMap<string, string>;
  readonly arrays?: ReadonlyMap<string, { readonly elements: ReadonlyMap<string, string> }>;
}

const lengthOf = (values: Iterable<string>): number => {
  let sum = 0;
  for (const value of values) sum += value.length;
  return sum;
};

const charactersIn = ({ env, arrays = new Map() }: ShellState): number =>
  [...arrays.values()].reduce(
    (sum, { elements }) => sum + lengthOf(elements.values()),
    lengthOf(env.values()),
  );

/** Characters that all shells have stored so far, and that count when each shell was last summed up. */
let stored = 0;
const summed = new WeakMap<ShellState, number>();

/** What the present stretch has spent, and when it began. */
let spent = 0;
let began = 0;

export const meter = {
  /** Units until the next check; the shell's loops count it down. */
  left: grain,
  /** True if it is time to yield. */
  due: false,
  /** Called when `left` has run out. */
  spend(): void {
    spent += grain - meter.left;
    meter.left = grain;
    meter.due = spent >= pause.now;
    if (spent > longest) throw new WorkLimit("a single step of the command takes too long");
  },
  /** Begins a stretch after a turn of the event loop. */
  begin(): void {
    spent = 0;
    meter.due = false;
    began = Date.now();
  },
  /** Lets other work run: requests are served, timeouts fire. */
  async giveWay(): Promise<void> {
    const before = began;
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    meter.begin();
    const next = began - before > wanted ? pause.now / 2 : pause.now * 2;
    pause.now = Math.min(Math.max(next, pause.least), pause.most);
  },
  /** Counts a value stored in a variable of a shell; for array elements the shell is unknown and they count later. */
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
  /** Refuses a pattern whose counted repeats make its program much longer than its text. */
  admit(instructions: number, pattern: string): void {
    if (instructions > 500 && instructions > 2 * pattern.length)
      throw new WorkLimit(`a pattern compiles to ${instructions} instructions, 500 are allowed`);
  },
  /** Rethrows what a `catch` of the shell must not swallow. */
  passOn(error: unknown): void {
    if (error instanceof WorkLimit) throw error;
  },
};
