import type { EffectNotice } from "../../agent/definition/effect.ts";
import type { Shadow } from "./shadow.ts";

type CompactionData = Extract<EffectNotice, { event: "compaction" }>["data"];
export type CompactionStage = CompactionData["stage"];

const retirementOf = ({ retired }: Shadow): CompactionData["retired"] => {
  const gone = retired?.runs.flat() ?? [];
  const [from, to] = [gone[0]?.id, gone.at(-1)?.id];
  return from === undefined || to === undefined ? null : { from, to, count: gone.length };
};

/** Returns the notice for the stream about a compaction stage, or about one that failed. */
export const createNotice = (
  stage: CompactionStage,
  before: Shadow,
  after: Shadow,
  attempts = 0,
  message: string | null = null,
): EffectNotice => ({
  event: "compaction",
  data: {
    stage,
    tokens_before: before.size,
    tokens_after: after.size,
    retired: after.retired === before.retired ? null : retirementOf(after),
    attempts,
    message,
  },
});
