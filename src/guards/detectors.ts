/** Finds loops in a sequence of calls by counting, without any state. */

/** Call as detectors compare it; `outcome` is null until it has one. */
export interface ComparedCall {
  readonly tool: string;
  readonly args: string;
  readonly outcome: string | null;
}

export type Detector = "global_circuit_breaker" | "generic_repeat" | "known_poll_no_progress" | "ping_pong";

export interface LoopFinding {
  readonly detector: Detector;
  readonly level: "warning" | "critical";
  /** Number of calls in the loop, including the judged one. */
  readonly count: number;
  /** Key of the repetition; there is one warning for each key. */
  readonly key: string;
}

type FindingLevel = LoopFinding["level"] | null;

export interface DetectorSettings {
  readonly warning_threshold: number;
  readonly critical_threshold: number;
  readonly global_circuit_breaker_threshold: number;
  readonly generic_repeat: boolean;
  readonly known_poll_no_progress: boolean;
  readonly ping_pong: boolean;
  readonly strict: boolean;
}

export type CallKey = Pick<ComparedCall, "tool" | "args">;

export const callKeyOf = ({ tool, args }: CallKey): string => `${tool} ${args}`;

export const isSameCall = (one: CallKey, other: CallKey): boolean =>
  one.args === other.args && one.tool === other.tool;

export const countRepeats = (calls: readonly ComparedCall[], key: CallKey): number =>
  calls.reduce((count, call) => (isSameCall(call, key) ? count + 1 : count), 0);

/**
 * Returns the newest equal outcomes of a key in a row, ignoring calls between. Calls without an outcome continue a
 * streak of two or more: with fewer, nothing suggests that their outcomes will be equal.
 */
export const streakOf = (calls: readonly ComparedCall[], key: CallKey): number => {
  let outcome: string | null = null;
  let equal = 0;
  let open = 0;
  for (let at = calls.length - 1; at >= 0; at--) {
    const call = calls[at];
    if (call === undefined || !isSameCall(call, key)) continue;
    if (call.outcome === null) {
      open += 1;
      continue;
    }
    outcome ??= call.outcome;
    if (call.outcome !== outcome) break;
    equal += 1;
  }
  return equal < 2 ? equal : equal + open;
};

/** Returns whether both keys of a tail had one outcome each, at least twice. */
const isStable = (tail: readonly ComparedCall[]): boolean =>
  [0, 1].every((side) => {
    const known = tail.flatMap(({ outcome }, at) => (at % 2 === side && outcome !== null ? [outcome] : []));
    return known.length >= 2 && known.every((outcome) => outcome === known[0]);
  });

/** Least length of a tail that counts as an alternation. */
const minAlternation = 4;

/**
 * Finds the newest calls that alternate between two keys, including the judged one; returns null if there are too
 * few.
 */
export const findAlternation = (
  calls: readonly ComparedCall[],
  judged: CallKey,
): { readonly count: number; readonly stable: boolean; readonly key: string } | null => {
  const other = calls.at(-1);
  if (other === undefined || isSameCall(other, judged)) return null;
  let from = calls.length;
  while (from > 0) {
    const call = calls[from - 1];
    const expected = (calls.length - from) % 2 === 0 ? other : judged;
    if (call === undefined || !isSameCall(call, expected)) break;
    from -= 1;
  }
  const count = calls.length - from + 1;
  if (count < minAlternation) return null;
  const key = [callKeyOf(judged), callKeyOf(other)].toSorted().join(" / ");
  return { count, stable: isStable(calls.slice(from)), key };
};

type JudgedKey = CallKey & { readonly poll: boolean };

/**
 * Number of times that the judged call was made, including itself; `streak` counts equal outcomes, `longest` also
 * those before the window.
 */
interface RepeatCounts {
  readonly repeats: number;
  readonly streak: number;
  readonly longest: number;
}

const breakerLevel = ({ longest }: RepeatCounts, settings: DetectorSettings): FindingLevel =>
  longest >= settings.global_circuit_breaker_threshold ? "critical" : null;

const repeatLevel = (
  { poll }: JudgedKey,
  { repeats, streak }: RepeatCounts,
  settings: DetectorSettings,
): FindingLevel => {
  if (!settings.generic_repeat) return null;
  if (!poll && streak >= settings.critical_threshold) return "critical";
  return repeats >= settings.warning_threshold ? "warning" : null;
};

const pollLevel = (
  { poll }: JudgedKey,
  { streak }: RepeatCounts,
  settings: DetectorSettings,
): FindingLevel => {
  if (!settings.known_poll_no_progress || !poll || streak < settings.warning_threshold) return null;
  return streak >= settings.critical_threshold ? "critical" : "warning";
};

const findPingPong = (
  judged: JudgedKey,
  sequences: readonly (readonly ComparedCall[])[],
  settings: DetectorSettings,
): LoopFinding | null => {
  if (!settings.ping_pong) return null;
  const tails = sequences.map((calls) => findAlternation(calls, judged));
  const tail = tails.reduce((best, each) => ((each?.count ?? 0) > (best?.count ?? 0) ? each : best), null);
  if (tail === null || tail.count < settings.warning_threshold) return null;
  const stuck = tail.count >= settings.critical_threshold && (settings.strict || tail.stable);
  return {
    detector: "ping_pong",
    level: stuck ? "critical" : "warning",
    count: tail.count,
    key: tail.key,
  };
};

/**
 * Lists the findings if `judged` follows `calls`, which include the earlier calls of its reply, in detector order.
 * `carried` is the streak of its key that was counted beyond the window; `attempted` are the calls including
 * refused ones, which an alternation may continue.
 */
export const detectLoops = (
  judged: JudgedKey,
  calls: readonly ComparedCall[],
  carried: number,
  settings: DetectorSettings,
  attempted: readonly ComparedCall[] = calls,
): readonly LoopFinding[] => {
  const repeats = countRepeats(calls, judged) + 1;
  const streak = settings.strict ? repeats : streakOf(calls, judged) + 1;
  const counts = { repeats, streak, longest: Math.max(streak, carried + 1) };
  const found: LoopFinding[] = [];
  const add = (detector: Detector, level: FindingLevel, count: number): void => {
    if (level !== null) found.push({ detector, level, count, key: callKeyOf(judged) });
  };
  add("global_circuit_breaker", breakerLevel(counts, settings), counts.longest);
  const level = repeatLevel(judged, counts, settings);
  add("generic_repeat", level, level === "critical" ? streak : repeats);
  add("known_poll_no_progress", pollLevel(judged, counts, settings), streak);
  const alternating = findPingPong(judged, [calls, attempted], settings);
  return alternating === null ? found : [...found, alternating];
};

/** Returns the decisive finding: of the highest level, and of several the first. */
export const worstOf = (found: readonly LoopFinding[]): LoopFinding | undefined =>
  found.find(({ level }) => level === "critical") ?? found[0];
