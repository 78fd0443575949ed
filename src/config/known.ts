import { createAgentsToolbox, judgeByAgents } from "../toolboxes/agents/index.ts";
import { handoff } from "../toolboxes/core/handoff.ts";
import { requestInput } from "../toolboxes/core/request-input.ts";
import { taskComplete } from "../toolboxes/core/task-complete.ts";
import { createCoreToolbox, toolboxes } from "../toolboxes/index.ts";
import type { Tool } from "../tools/define-tool.ts";
import type { JsonSchema } from "./json-schema.ts";

export type { Toolbox } from "../tools/define-tool.ts";

/** Names that a team file may use: built-in toolboxes and their tools. */

/** Definitions of this release's toolboxes. */
export const builtInToolboxDefinitions = toolboxes;

const nameOf = (): string => "";
const agentsToolbox = createAgentsToolbox({ calls: true, adHoc: true, manages: true, nameOf });

/** Definitions of built-in tools by name. */
export const builtInDefinitions: ReadonlyMap<string, Tool> = new Map(
  [...[...toolboxes, agentsToolbox].flatMap(({ tools }) => tools), judgeByAgents(handoff, nameOf)].map(
    (tool) => [tool.name, tool],
  ),
);

/** Returns the arguments of all built-in tools, as JSON Schemas by toolbox and tool; `core` needs no listing. */
export const builtInToolSchemas = (): Readonly<Record<string, Readonly<Record<string, JsonSchema>>>> => {
  const skill = { name: "", body: "", files: {} };
  const core = createCoreToolbox({ skills: [skill], inWorkspace: false, remembers: true }).tools;
  const all = [
    ...toolboxes,
    agentsToolbox,
    { name: "core", tools: [...core, taskComplete, requestInput, handoff] },
  ];
  return Object.fromEntries(
    all.map(({ name, tools }) => [
      name,
      Object.fromEntries(tools.map((tool) => [tool.name, tool.schema as JsonSchema])),
    ]),
  );
};

const builtInToolNames = Object.fromEntries(
  toolboxes.map(({ name, tools }) => [name, tools.map((tool) => tool.name)]),
);

/** Toolboxes with their tools. `core` and `agents` are implicit; `agents` may be listed to narrow it. */
export const builtInToolboxes: Readonly<Record<string, readonly string[]>> = {
  ...builtInToolNames,
  agents: [
    "list_agents",
    "delegate_to_agent",
    "spawn_agents",
    "spawn_agent",
    "dispatch_tasks",
    "check_children",
    "steer_child",
    "cancel_child",
    "answer_child",
    "delegate",
  ],
};

/** Tools that every agent has without listing a toolbox. */
export const coreTools: readonly string[] = [
  ...createCoreToolbox({ skills: [], inWorkspace: false, remembers: true }).tools.map(({ name }) => name),
  "load_skill",
  "task_complete",
  "request_input",
  "handoff",
];

export const builtInTools: readonly string[] = [...Object.values(builtInToolboxes).flat(), ...coreTools];
