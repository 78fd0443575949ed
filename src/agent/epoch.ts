import type { Run, Session } from "./state.ts";
import { callsOfRun } from "./draft.ts";

const epochsOf = (run: Run): readonly number[] => {
  const calls = callsOfRun(run).flatMap(({ epoch }) => epoch);
  const works = run.phase.at === "thinking" || run.phase.at === "preparing";
  return works ? [run.phase.epoch, ...calls] : calls;
};

/** The number of a new isolate: above every one that left work in the state, even if the clock stood still or went back (SE-34). */
export const nextEpoch = (session: Session | null, now: number): number =>
  Object.values(session?.threads ?? {})
    .flatMap(({ run }) => (run === null ? [] : epochsOf(run)))
    .reduce((newest, epoch) => Math.max(newest, epoch + 1), now);
