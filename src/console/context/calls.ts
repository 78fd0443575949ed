import type { Usage } from "../../model/completer.ts";
import type { TranscriptRun, TurnFacts } from "../../client/transcript.ts";
import { formatCount, formatDuration, formatUsd } from "../parts/format.ts";
import type { ContextPlace } from "../state/route.ts";

/** The calls of a turn: what came of each, and how one steps through them. */

/** A call of a turn, as the API tells it. */
export interface SeenCall {
  readonly call: number;
  readonly purpose: string;
  /** `ok`, `in_flight`, or the code of what went wrong. */
  readonly outcome: string;
  /** When it ended; of a call under way, when it began. */
  readonly at: number;
  /** Null while nobody knows it. */
  readonly usage: Usage | null;
  readonly cost_usd: number | null;
  readonly estimated: boolean;
}

interface CallOutcome {
  readonly name: string;
  readonly words: string;
  /** What of the prompt came from the provider's cache; null if nobody knows. */
  readonly cached: string | null;
}

const outcomeNames: Readonly<Record<string, string>> = {
  ok: "Answered",
  in_flight: "Answer",
  truncated_stream: "Broke off",
  interrupted: "Broke off",
  cancelled: "Stopped",
};

/** The ledger knows when a call ended, and the events when that call began. */
const durationOf = ({ purpose, at }: SeenCall, facts: TurnFacts | undefined): number | null => {
  const call = facts?.model_calls.find((each) => each.purpose === purpose && each.ended_at === at);
  return call === undefined ? null : at - call.started_at;
};

const costWords = ({ usage, cost_usd: cost, estimated }: SeenCall): readonly string[] => {
  if (usage === null || (estimated && cost === null)) return [];
  return [`${estimated ? "about " : ""}${formatUsd(cost)}`];
};

/** Says what came of a call, after how long and for how much; what nobody knows is left out. */
export const describeOutcome = (call: SeenCall, facts: TurnFacts | undefined): CallOutcome => {
  const { outcome, usage, estimated } = call;
  const known = outcomeNames[outcome];
  const duration = outcome === "in_flight" ? null : durationOf(call, facts);
  const after = outcome === "ok" ? "in" : "after";
  const time = duration === null ? [] : [`${after} ${formatDuration(duration)}`];
  const code = known === undefined ? [outcome.replaceAll("_", " ")] : [];
  const underWay = outcome === "in_flight" ? ["under way"] : [];
  const came = [...time, ...code].join(": ");
  return {
    name: known ?? "Failed",
    words: [...underWay, ...(came === "" ? [] : [came]), ...costWords(call)].join(", "),
    cached:
      usage === null || estimated
        ? null
        : `${formatCount(usage.cacheRead)} of ${formatCount(usage.input + usage.cacheRead + usage.cacheWrite)}`,
  };
};

/** The turns of the thread that a place is in, in their order; what is done outside of turns has no view. */
const placesOf = (
  runs: readonly Pick<TranscriptRun, "id" | "thread" | "timeline">[],
  place: ContextPlace,
): readonly ContextPlace[] => {
  const thread = runs.find(({ id }) => id === place.run)?.thread;
  return runs
    .filter((run) => run.thread === thread)
    .flatMap(({ id, timeline }) =>
      timeline.filter(({ turn }) => turn > 0).map(({ turn }) => ({ run: id, turn, call: null })),
    );
};

export interface Steps {
  readonly before: ContextPlace | null;
  readonly after: ContextPlace | null;
  readonly words: string;
  readonly more: string;
}

/** Steps through the calls of a turn that has several, then to the next turn. */
export const findSteps = (
  runs: readonly Pick<TranscriptRun, "id" | "thread" | "timeline">[],
  place: ContextPlace,
  view: { readonly calls: readonly SeenCall[]; readonly call: number } | null,
): Steps => {
  const { calls, call } = view ?? { calls: [], call: 1 };
  const places = placesOf(runs, place);
  const at = places.findIndex(({ run, turn }) => run === place.run && turn === place.turn);
  // A turn that the page does not know is an old one, or none.
  if (at === -1)
    return {
      before: places.findLast(({ run }) => run === place.run) ?? null,
      after: null,
      words: `Turn ${place.turn}`,
      more: "",
    };
  const turns = places.filter(({ run }) => run === place.run).length;
  const stepCall = (to: number): ContextPlace | null =>
    to >= 1 && to <= calls.length ? { ...place, call: to } : null;
  return {
    before: stepCall(call - 1) ?? places[at - 1] ?? null,
    after: stepCall(call + 1) ?? places[at + 1] ?? null,
    words: `Turn ${place.turn}`,
    more: calls.length > 1 ? `, call ${call} of ${calls.length}` : ` of ${turns}`,
  };
};
