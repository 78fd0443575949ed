import type { Agent, BoundTool } from "../agent/definition/agent.ts";
import type { BoundGuard, Guard } from "../agent/definition/guard.ts";
import type { TeamAgent as AgentConfig } from "../config/team.ts";
import { equalReplies } from "../guards/equal-replies.ts";
import { matchesGlob } from "../sandbox/glob.ts";

/** Binds an agent's guards as its configuration says. */

/** Keys of `guards` that other parts apply, so that no guard of calls belongs to them. */
const handledElsewhere: readonly string[] = ["budget", "context_window"];

/** Lists the kinds of guards that an agent needs. */
export const guardKindsOf = ({ guards }: AgentConfig): readonly string[] =>
  Object.entries(guards)
    .filter(([kind, params]) => !handledElsewhere.includes(kind) && isOn(params))
    .map(([kind]) => kind);

const isOn = (params: unknown): boolean =>
  typeof params === "object" && params !== null && !("enabled" in params && params.enabled === false);

/** Binds the guards of an agent; kinds that this deployment lacks have been refused before. */
export const guardsOf = (
  known: readonly Guard[],
  agent: AgentConfig,
  tools: ReadonlyMap<string, BoundTool>,
): Pick<Agent, "guards" | "isPoll"> => {
  const { loop_detection_threshold: threshold } = agent.options;
  const configured = guardKindsOf(agent).flatMap((kind): BoundGuard[] => {
    const guard = known.find((each) => each.kind === kind);
    return guard === undefined ? [] : [{ guard, params: agent.guards[kind as keyof typeof agent.guards] }];
  });
  const own = threshold === 0 ? [] : [{ guard: equalReplies, params: { threshold } }];
  const globs = agent.guards.tool_loops.poll_tools;
  return {
    guards: [...configured, ...own],
    isPoll: (name) =>
      tools.get(name)?.tool.poll === true ||
      globs.some((pattern) => matchesGlob(pattern, name, { segments: false })),
  };
};

/** Returns how many records the guards need. */
export const guardHistory = (guards: readonly BoundGuard[]): number =>
  Math.max(0, ...guards.map(({ guard, params }) => guard.history(params)));
