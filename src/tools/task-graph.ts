import * as z from "zod";
import { fieldsOf, isJsonObject } from "../chat/json.ts";
import { describeIssue } from "../schema.ts";
import type { Refusal, ToolErrorCode } from "./errors.ts";

/** Defines the schema of a task graph as the model writes it, and checks graphs. */

const graphIdPattern = /^[\w-]{1,64}$/;
export const mostGraphTasks = 64;

export const graphTaskSchema = z.strictObject({
  id: z
    .string()
    .regex(graphIdPattern, "1 to 64 letters, digits, _ and -")
    .describe("Name of the task within this graph."),
  agent: z.string().min(1).describe('Agent for the task, or "auto" for the one that fits best.'),
  message: z
    .string()
    .regex(/[^\s\0]/, "must not be blank")
    .describe("What to do. {{id.output}} stands for the output of a task that it depends on."),
  context: z.string().default("").describe("What the agent needs to know."),
  depends_on: z.array(z.string()).default([]).describe("Tasks that must have ended first."),
  blocking: z.boolean().describe("Whether its failure cancels the tasks that depend on it."),
  timeout_seconds: z.number().positive().max(86_400).optional().describe("Seconds that the task may take."),
  interpolate: z.boolean().default(true).describe("Whether {{id.output}} is replaced."),
});

export type GraphTask = Readonly<z.output<typeof graphTaskSchema>>;

/** Reference to the output of another task. */
export const outputReference = /\{\{\s*([\w-]{1,64})\.output\s*\}\}/g;

/** Returns the ids that a text refers to by `{{id.output}}`, each once. */
const referencesIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(outputReference)].map(([, id]) => id ?? "")),
];

/** Returns the tasks that a task waits for, directly or not; it is its own ancestor only in a cycle. */
export const ancestorsOf = (
  tasks: readonly { readonly id: string; readonly depends_on: readonly string[] }[],
  id: string,
): ReadonlySet<string> => {
  const known = new Map(tasks.map((task) => [task.id, task.depends_on]));
  const found = new Set<string>();
  const open = [...(known.get(id) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    open.push(...(known.get(next) ?? []));
  }
  return found;
};

/** Returns the name of the agent for a task, or says why there is none. */
export type ResolveAgent = (agent: string, message: string) => string | Refusal;

export type CheckedGraph =
  | { readonly ok: true; readonly tasks: readonly GraphTask[]; readonly async: boolean }
  | { readonly ok: false; readonly code: ToolErrorCode; readonly problems: readonly string[] };

/** Reads `agent_id` as another name of `agent`. */
const normalizeAgentKey = (task: unknown): unknown => {
  if (!isJsonObject(task) || !("agent_id" in task) || "agent" in task) return task;
  const { agent_id: agent, ...rest } = task;
  return { ...rest, agent };
};

const taskListOf = (args: unknown): unknown => {
  const { task_graph: graph, tasks } = fieldsOf(args);
  return isJsonObject(graph) ? graph["tasks"] : tasks;
};

const shapeProblems = (args: unknown): readonly string[] => {
  const { async = false, tasks: _, task_graph: graph = {}, ...others } = fieldsOf(args);
  const { tasks: __, ...inner } = fieldsOf(graph);
  return [
    ...[...Object.keys(others), ...Object.keys(inner)].map((key) => `"${key}" is not known here`),
    ...(typeof async === "boolean" ? [] : ["async: must be true or false"]),
  ];
};

/** What can be compared with other tasks, whatever else is wrong with the task. */
interface Link {
  readonly at: number;
  readonly id: string;
  readonly depends_on: readonly string[];
  readonly texts: readonly string[];
}

const linkOf = (task: unknown, at: number): Link => {
  const { id, depends_on, message, context, interpolate } = fieldsOf(task);
  const texts = interpolate === false ? [] : [message, context];
  return {
    at,
    id: typeof id === "string" ? id : "",
    depends_on: Array.isArray(depends_on) ? depends_on.filter((each) => typeof each === "string") : [],
    texts: texts.filter((each) => typeof each === "string"),
  };
};

const nameOf = ({ at, id }: Link): string => (graphIdPattern.test(id) ? `task ${id}` : `tasks.${at}`);

const linkProblems = (links: readonly Link[]): readonly string[] => {
  const ids = new Set(links.map(({ id }) => id));
  return links.flatMap((link): string[] => {
    const twice = links.find(({ id }) => id === link.id && id !== "")?.at !== link.at && link.id !== "";
    const unknown = link.depends_on.filter((id) => !ids.has(id));
    const ancestors = ancestorsOf(links, link.id);
    const foreign = link.texts.flatMap(referencesIn).filter((id) => !ancestors.has(id));
    return [
      ...(twice ? [`${nameOf(link)}: the id is used twice`] : []),
      ...unknown.map((id) => `${nameOf(link)}: depends_on names ${id}, which is not a task of this graph`),
      ...[...new Set(foreign)].map(
        (id) => `${nameOf(link)}: {{${id}.output}} needs ${id} in depends_on, directly or not`,
      ),
    ];
  });
};

/** Finds one shortest cycle in order, with the first task again at the end; null if there is none. */
const findCycle = (links: readonly Link[]): readonly string[] | null => {
  const depends = new Map(links.map(({ id, depends_on }) => [id, depends_on]));
  const start = links.find(({ id }) => ancestorsOf(links, id).has(id))?.id;
  if (start === undefined) return null;
  const paths: (readonly string[])[] = [[start]];
  const seen = new Set<string>();
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    for (const next of depends.get(path.at(-1) ?? "") ?? []) {
      if (next === start) return [...path, next];
      if (!seen.has(next)) paths.push([...path, next]);
      seen.add(next);
    }
  }
  return null;
};

/** Says why a task cannot go to its agent, as far as that is known of a task with other mistakes. */
const agentProblems = (
  task: unknown,
  wrong: ReadonlySet<unknown>,
  resolve: ResolveAgent,
): readonly string[] => {
  const { agent, message } = fieldsOf(task);
  if (typeof agent !== "string" || wrong.has("agent") || (agent === "auto" && wrong.has("message")))
    return [];
  const found = resolve(agent, typeof message === "string" ? message : "");
  return typeof found === "string" ? [] : [`agent: ${found.sentence}`];
};

/** Number of tasks above which a graph is not checked at all: the checks grow faster than the tasks. */
const mostChecked = 4 * mostGraphTasks;

const countProblems = (count: number): readonly string[] =>
  count >= 1 && count <= mostGraphTasks
    ? []
    : [`tasks: a graph has 1 to ${mostGraphTasks} tasks, not ${count}`];

/** Checks the arguments of `dispatch_tasks`, resolves their agents, and names every mistake at once. */
export const checkGraph = (args: unknown, resolve: ResolveAgent): CheckedGraph => {
  const list = taskListOf(args);
  let code: ToolErrorCode = "invalid_arguments";
  const asked: ResolveAgent = (agent, message) => {
    const found = resolve(agent, message);
    if (typeof found !== "string" && found.code === "self_delegation") ({ code } = found);
    return found;
  };
  const shape = shapeProblems(args);
  if (!Array.isArray(list))
    return { ok: false, code, problems: [...shape, "tasks: a list of tasks is required"] };
  const count = countProblems(list.length);
  if (list.length > mostChecked) return { ok: false, code, problems: [...shape, ...count] };
  const raw = list.map(normalizeAgentKey);
  const parsed = raw.map((task) => graphTaskSchema.safeParse(task, { error: describeIssue }));
  const links = raw.map(linkOf);
  const tasks: GraphTask[] = [];
  const problems = parsed.flatMap(({ data, error }, at): string[] => {
    const name = nameOf(links[at] ?? { at, id: "", depends_on: [], texts: [] });
    if (data === undefined) {
      const { issues } = error;
      const said = issues.map(({ path, message }) => [path.join("."), message].filter(Boolean).join(": "));
      const more = agentProblems(raw[at], new Set(issues.map(({ path }) => path[0])), asked);
      return [...said, ...more].map((problem) => `${name}: ${problem}`);
    }
    const found = asked(data.agent, data.message);
    if (typeof found !== "string") return [`${name}: agent: ${found.sentence}`];
    tasks.push({ ...data, agent: found });
    return [];
  });
  const cycle = findCycle(links);
  const all = [
    ...shape,
    ...count,
    ...problems,
    ...linkProblems(links),
    ...(cycle === null ? [] : [`tasks wait for each other: ${cycle.join(" → ")}`]),
  ];
  return all.length === 0
    ? { ok: true, tasks, async: fieldsOf(args)["async"] === true }
    : { ok: false, code, problems: all };
};
