import type { Transcript, TranscriptRun, TurnFacts } from "../../client/transcript.ts";

/** Figures of turns, runs and the session, from what the transcript holds. */

/** A turn of a thread with its run. */
export interface PlacedTurn {
  readonly run: TranscriptRun;
  readonly facts: TurnFacts;
}

/** What a run does outside of its turns stands as turn 0: it sent no request of its own. */
export const isTurn = ({ turn }: TurnFacts): boolean => turn > 0;

/** The runs of a thread since the session was cleared, the oldest first. */
export const runsOf = ({ runs, threads }: Transcript, of = "main"): readonly TranscriptRun[] => {
  const cleared = threads[0]?.entries.find(
    (entry) =>
      entry.kind === "note" && entry.event.type === "messages_retired" && entry.event.data.by === "clear",
  );
  return runs.filter(({ thread, started_at: at }) => thread === of && at >= (cleared?.at ?? 0));
};

/** The turns of a thread since the session was cleared, the oldest first. */
export const turnsOf = (transcript: Transcript, thread?: string): readonly PlacedTurn[] =>
  runsOf(transcript, thread).flatMap((run) => run.timeline.filter(isTurn).map((facts) => ({ run, facts })));

/** Tokens that a turn sent: what its answered call read, or the estimate while there is no answer. */
export const sentTokens = ({ metrics, model_calls: calls }: TurnFacts): number | null => {
  const turn = calls.findLast(({ purpose }) => purpose !== "compaction");
  const usage = metrics?.usage ?? turn?.usage ?? null;
  if (usage !== null) return usage.input + usage.cacheRead + usage.cacheWrite;
  return turn?.estimated_tokens ?? null;
};

/** Those of some turns that sent something: one that ended before its first model call had no context. */
export const sentTurns = (turns: readonly PlacedTurn[]): readonly PlacedTurn[] =>
  turns.filter(({ facts }) => sentTokens(facts) !== null);

/** How full the context was in the newest turn, of a window of so many tokens; null if nobody knows. */
export const contextShare = (transcript: Transcript, window: number | undefined): number | null => {
  const last = sentTurns(turnsOf(transcript)).at(-1);
  const sent = last === undefined ? null : sentTokens(last.facts);
  return sent === null || window === undefined ? null : sent / window;
};

export interface Spent {
  readonly cost: number | null;
  readonly tokens: number;
}

export const addSpent = (one: Spent, other: Spent): Spent => ({
  cost: one.cost === null || other.cost === null ? null : one.cost + other.cost,
  tokens: one.tokens + other.tokens,
});

export const nothing: Spent = { cost: 0, tokens: 0 };

/** What a turn's model calls used, those of effects too. */
export const turnSpent = ({ model_calls: calls }: TurnFacts): Spent =>
  calls
    .filter(({ usage }) => usage !== null)
    .map(({ cost_usd: cost, usage }) => ({ cost, tokens: usage?.total ?? 0 }))
    .reduce(addSpent, nothing);

/** What the turns of a run used, without those of agents that it called. */
export const timelineSpent = ({ timeline }: TranscriptRun): Spent =>
  timeline.map(turnSpent).reduce(addSpent, nothing);

/** What the runs of a called thread cost: a snapshot tells the tokens of a thread, its runs tell the price. */
export const threadCost = ({ runs }: Transcript, thread: string): number | null =>
  runs
    .filter((run) => run.thread === thread)
    .map((run) => (run.result === null ? timelineSpent(run).cost : run.result.cost_usd))
    .reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0);
