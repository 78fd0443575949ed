import { textOf } from "../chat/text.ts";
import { briefed, briefing } from "./briefing.ts";
import type { Found } from "./briefing.ts";
import { readExternalContext } from "./external-context.ts";
import type { Outside } from "./outside.ts";
import { preparingOf } from "./preparing.ts";
import { keptReflections, matchingReflections } from "./reflections.ts";
import type { Reflection } from "./reflections.ts";
import type { Session, Want } from "./state.ts";

/** Fetches what a run is told before its first turn (AG-39, AG-40). */

/** Milliseconds that each may take; with all its repetitions after crashes, `longest`. */
const patience: Readonly<Record<Want, number>> = { context: 10_000, reflections: 2_000 };
const longest = 60_000;

/** The outcome, or null if it fails, takes too long, or nobody wants it any more. */
const within = async <T>(
  { host, signal }: Outside,
  ms: number,
  work: () => Promise<T>,
): Promise<T | null> => {
  const end = Promise.withResolvers<T | null>();
  const timer = host.after(ms, () => end.resolve(null));
  signal.addEventListener("abort", () => end.resolve(null), { once: true });
  void Promise.try(work).then(end.resolve, () => end.resolve(null));
  const outcome = await end.promise;
  timer.cancel();
  return outcome;
};

const contextOf = async ({ host }: Outside): Promise<string> => {
  const { context } = host.briefing;
  if (context === null) return "";
  return host.redactor.text(await readExternalContext(host.sandbox(), context));
};

const reflectionsOf = async ({ host }: Outside, threadId: string): Promise<readonly Reflection[]> => {
  const { reflections } = host.briefing;
  if (reflections === null) return [];
  const task = textOf(host.read().threads[threadId]?.chat.at(-1)?.parts ?? []);
  const { scope, ttlMs } = reflections;
  if (scope === "tenant") return host.redactor.value(await host.reflections.find(task, ttlMs));
  const { entries } = host;
  const rows = entries
    .heads("reflections")
    .flatMap(({ key }) => (entries.entry("reflections", key)?.value ?? []) as unknown as Reflection);
  return matchingReflections(keptReflections(rows, { now: host.now(), ttlMs }), task);
};

const fetched = async (outside: Outside, threadId: string, want: Want, late: boolean): Promise<Found> => {
  const fetch = <T>(work: () => Promise<T>): Promise<T | null> =>
    late ? Promise.resolve(null) : within(outside, patience[want], work);
  return want === "context"
    ? { context: await fetch(() => contextOf(outside)) }
    : { reflections: await fetch(() => reflectionsOf(outside, threadId)) };
};

/** Carries the stored intent out; a second time after a crash, since it only reads. */
export const brief = async (outside: Outside, threadId: string): Promise<void> => {
  const { host, settle } = outside;
  const run = host.read().threads[threadId]?.run ?? null;
  const phase = preparingOf(run);
  if (run === null || phase === null) return;
  const late = host.now() >= phase.startedAt + longest;
  const { wants = [] } = run;
  const found = await Promise.all(wants.map((want) => fetched(outside, threadId, want, late)));
  const isCurrent = ({ threads }: Session): boolean => {
    const now = threads[threadId]?.run ?? null;
    const at = preparingOf(now);
    return now?.id === run.id && at?.effect === briefing && at.round === phase.round && at.until === null;
  };
  settle((draft) => {
    if (isCurrent(draft.state)) briefed(draft, threadId, Object.assign({}, ...found) as Found);
  });
};
