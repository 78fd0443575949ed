import type { BoundTool } from "../../agent/definition/agent.ts";
import type { ClientTool, Session } from "../../agent/state/session.ts";
import type { Team } from "../../config/team.ts";
import type { Problem } from "../../session/problems.ts";
import { fieldProblem } from "../../session/problems.ts";
import { schemaProblem } from "../../tools/schema/json-schema-check.ts";
import type { PlacedAgent } from "./effective-tools.ts";
import { hasNoTools, isWithinCeiling } from "./effective-tools.ts";

/** Checks and binds the tools that the caller of a session supplies. */

interface ClientToolProblem {
  readonly field: string;
  readonly message: string;
}

const problemOf = (tool: ClientTool, taken: readonly string[]): ClientToolProblem | null => {
  if (taken.includes(tool.name))
    return { field: "name", message: `there is a tool ${tool.name} already; choose another name` };
  const message = schemaProblem(tool.params);
  if (message !== null) return { field: "params", message };
  const { type } = tool.params as { readonly type?: unknown };
  if (type === "object") return null;
  return { field: "params/type", message: "arguments are an object: write type: object" };
};

/**
 * Returns why the client tools of a create are refused: a name clashes, or a schema cannot be used; null if they
 * fit.
 */
export const clientToolProblem = (
  given: readonly ClientTool[],
  tools: ReadonlyMap<string, BoundTool>,
): Problem | null => {
  for (const [index, tool] of given.entries()) {
    const before = given.slice(0, index).map(({ name }) => name);
    const problem = problemOf(tool, [...tools.keys(), ...before]);
    if (problem === null) continue;
    const pointer = `/client_tools/${index}/${problem.field}`;
    return fieldProblem("invalid_request", pointer, problem.message, { rule: "client_tool" });
  }
  return null;
};

export interface LentClientTools {
  readonly tools: readonly ClientTool[];
  /** Agents above, whose rules the calls also obey. */
  readonly lenders: readonly string[];
}

/**
 * Returns the session's own tools that a placed agent has: they belong to `main` and are lent below it only if
 * every caller has and lends them; they are under the ceiling, and the agent's own tools of the same name take
 * precedence.
 */
export const clientToolsOf = (
  team: Team,
  { agent, callerConstraints }: PlacedAgent,
  own: ReadonlyMap<string, BoundTool>,
  { clientTools, tools: ceiling }: Pick<Session, "clientTools" | "tools">,
): LentClientTools => {
  const lenders = callerConstraints?.chain ?? [];
  // A nameless agent has the tools of its caller.
  const edges = callerConstraints?.adHoc == null ? lenders : lenders.slice(0, -1);
  const callers = team.agents.filter(({ name }) => edges.includes(name));
  const lent = callers.every(({ delegation }) => delegation.inherit === "union");
  const hidden = callerConstraints?.hidden.flat() ?? [];
  const tools =
    lent && !hasNoTools(agent)
      ? clientTools.filter(
          ({ name }) => !own.has(name) && !hidden.includes(name) && isWithinCeiling(name, ceiling),
        )
      : [];
  return { tools, lenders };
};
