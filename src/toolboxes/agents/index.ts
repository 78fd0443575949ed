import { fieldsOf } from "../../chat/json.ts";
import type { Tool, Toolbox } from "../../tools/define-tool.ts";
import { withFields } from "../../tools/define-tool.ts";
import { isList } from "../../tools/schema/keywords.ts";
import type { ChildTask } from "../../tools/session-request.ts";
import { answerChild } from "./answer-child.ts";
import { cancelChild } from "./cancel-child.ts";
import { checkChildren } from "./check-children.ts";
import { delegateToAgent } from "./delegate-to-agent.ts";
import { dispatchTasks } from "./dispatch-tasks.ts";
import { listAgents } from "./list-agents.ts";
import { spawnAgent } from "./spawn-agent.ts";
import { delegate, spawnAgents } from "./spawn-agents.ts";
import { steerChild } from "./steer-child.ts";

/** Returns the agent name that permission rules check for a task: the configured one, and the match for "auto". */
export type NameOf = (task: Pick<ChildTask, "agent" | "task">) => string;

const findFirstText = (...values: readonly unknown[]): string =>
  values.find((value) => typeof value === "string") ?? "";

/** Returns the agents that a graph names, as far as it is readable; its mistakes are reported when it is checked. */
const graphAgents = (graph: unknown): readonly Pick<ChildTask, "agent" | "task">[] => {
  const { task_graph, tasks } = fieldsOf(graph);
  const listed = [fieldsOf(task_graph)["tasks"], tasks].find(isList) ?? [];
  return listed.map((task) => {
    const { agent, agent_id, message } = fieldsOf(task);
    return { agent: findFirstText(agent, agent_id), task: findFirstText(message) };
  });
};

const agentsOf = (tool: Tool, args: unknown, nameOf: NameOf): readonly string[] => {
  const request = tool.request?.(args);
  if (request?.do === "hand_over") return [nameOf({ agent: request.agent, task: "" })];
  if (request?.do === "dispatch_tasks") return graphAgents(request.graph).map(nameOf);
  if (request?.do !== "start_children") return [tool.name];
  const named = request.tasks.filter(({ invalid }) => invalid === undefined).map(nameOf);
  return named.length === 0 ? [tool.name] : named;
};

/** Returns a tool whose permissions are judged by the agents that its call names. */
export const judgeByAgents = (tool: Tool, nameOf: NameOf): Tool =>
  withFields(tool, {
    subject: (args) => agentsOf(tool, args, nameOf),
    ...(tool.does === undefined
      ? {}
      : { acts: (args) => agentsOf(tool, args, nameOf).map((subject) => ({ act: "delegate", subject })) }),
  });

/** Parts of the toolbox that an agent gets if it may delegate at all. */
export interface AgentsToolboxParts {
  /** Whether the agent may call at least one agent. */
  readonly calls: boolean;
  /** Whether the agent may start nameless agents. */
  readonly adHoc: boolean;
  /** Whether the agent may have children that it does not wait for, or that ask it. */
  readonly manages: boolean;
  readonly nameOf: NameOf;
}

/** Returns the implicit toolbox `agents` of an agent that may start children. */
export const createAgentsToolbox = ({ calls, adHoc, manages, nameOf }: AgentsToolboxParts): Toolbox => ({
  name: "agents",
  description: "Other agents: a list of them, tasks for them, and their results.",
  tools: [
    ...(calls ? [listAgents, delegateToAgent, spawnAgents, delegate, dispatchTasks] : []),
    ...(adHoc ? [spawnAgent] : []),
    ...(manages && (calls || adHoc) ? [checkChildren, steerChild, cancelChild, answerChild] : []),
  ].map((tool) => judgeByAgents(tool, nameOf)),
});
