import type { CallEntry, Transcript, TranscriptRun, TurnFacts } from "../../client/transcript.ts";
import type { Json } from "../../chat/message.ts";
import { fieldsOf, numberOf } from "../parts/json.ts";

/** Figures of turns, runs and the session, from what the transcript holds. */

/** A turn of the person's thread with its run. */
export interface PlacedTurn {
  readonly run: TranscriptRun;
  readonly facts: TurnFacts;
}

/** The turns of `main`, the oldest first. */
export const turnsOf = ({ runs }: Transcript): readonly PlacedTurn[] =>
  runs
    .filter(({ thread }) => thread === "main")
    .flatMap((run) => run.timeline.map((facts) => ({ run, facts })));

/** Tokens that a turn sent: what its answered call read, or the estimate while there is no answer. */
export const sentTokens = ({ metrics, model_calls: calls }: TurnFacts): number | null => {
  const turn = calls.findLast(({ purpose }) => purpose !== "compaction");
  const usage = metrics?.usage ?? turn?.usage ?? null;
  if (usage !== null) return usage.input + usage.cacheRead + usage.cacheWrite;
  return turn?.estimated_tokens ?? null;
};

/** How full the context was in the newest turn, of a window of so many tokens; null if nobody knows. */
export const contextShare = (transcript: Transcript, window: number | undefined): number | null => {
  const last = turnsOf(transcript).at(-1);
  const sent = last === undefined ? null : sentTokens(last.facts);
  return sent === null || window === undefined ? null : sent / window;
};

export interface Spent {
  readonly cost: number | null;
  readonly tokens: number;
}

const addSpent = (one: Spent, other: Spent): Spent => ({
  cost: one.cost === null || other.cost === null ? null : one.cost + other.cost,
  tokens: one.tokens + other.tokens,
});

const nothing: Spent = { cost: 0, tokens: 0 };

/** What a turn's model calls used, those of effects too. */
export const turnSpent = ({ model_calls: calls }: TurnFacts): Spent =>
  calls
    .filter(({ usage }) => usage !== null)
    .map(({ cost_usd: cost, usage }) => ({ cost, tokens: usage?.total ?? 0 }))
    .reduce(addSpent, nothing);

const timelineSpent = ({ timeline }: TranscriptRun): Spent =>
  timeline.map(turnSpent).reduce(addSpent, nothing);

/** What a run used with all that it called. */
export const runSpent = ({ runs }: Transcript, run: TranscriptRun): Spent =>
  run.result === null
    ? runs
        .filter((each) => each === run || (each.thread !== "main" && each.started_at >= run.started_at))
        .map(timelineSpent)
        .reduce(addSpent, nothing)
    : { cost: run.result.cost_usd, tokens: run.result.usage.total };

/** A limit in USD that holds, and what is left of it. */
export interface MoneyLeft {
  readonly limit: number;
  readonly spent: number;
  readonly warnAt: number | null;
}

/** Reads the limit of money from the API's budget: one limit for each kind. */
export const moneyLeft = (budget: Json, spent: number | null): MoneyLeft | null => {
  const fields = fieldsOf(budget);
  const own = fieldsOf(fields["max_cost_usd"]);
  const limit = numberOf(own["limit"]) ?? numberOf(fields["max_cost_usd"]);
  if (limit === null || limit === 0) return null;
  const share = numberOf(fields["warn_at"]);
  return {
    limit,
    spent: numberOf(own["spent"]) ?? spent ?? 0,
    warnAt: share === null ? null : share * limit,
  };
};

/** The entries of the calls of a thread, by their ids. */
export const callsOf = ({ threads }: Transcript): ReadonlyMap<string, CallEntry> =>
  new Map(
    threads.flatMap(({ entries }) =>
      entries.flatMap((entry) => (entry.kind === "call" ? [[entry.call, entry] as const] : [])),
    ),
  );
