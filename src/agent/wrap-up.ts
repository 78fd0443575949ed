import { agentOf, changeRun, noted, runOf } from "./draft.ts";
import type { Draft } from "./draft.ts";

/** One note in a run that its turns run out, before the first turn from `warn_iterations` on (CF-14). */
export const wrapUpNoted = (draft: Draft, threadId: string): void => {
  const { turn, wrapUpSaid } = runOf(draft, threadId);
  const { warnIterations, limits, tools } = agentOf(draft, threadId);
  if (warnIterations === 0 || turn < warnIterations || wrapUpSaid === true) return;
  const { maxIterations } = limits;
  const most = maxIterations === 0 ? "" : ` of at most ${maxIterations}`;
  const end = tools.has("task_complete") ? "end with task_complete" : "give your final answer";
  const text = `This is turn ${turn + 1}${most}. Begin nothing new: finish what is under way, and ${end}.`;
  noted(draft, threadId, text);
  changeRun(draft, threadId, { wrapUpSaid: true });
};
