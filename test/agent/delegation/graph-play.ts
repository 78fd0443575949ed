import type { Crew, CrewOptions, Member } from "../../support/crew.ts";
import { crew, eventsAs, lead, resultsOf } from "../../support/crew.ts";
import { said } from "../../support/scripts.ts";

/** Sessions that dispatch task graphs, from YAML. A worker does what its message names: it looks, then says that it is done. */

export const node = (id: string, depends_on: readonly string[] = [], more: object = {}): object => ({
  id,
  agent: "worker",
  message: `Do ${id}.`,
  depends_on,
  blocking: true,
  ...more,
});

export const dispatch = (tasks: readonly object[], more: object = {}) =>
  ["dispatch_tasks", { tasks, ...more }] as const;

/** A reply with one call whose arguments are sent as they are: scripts have placeholders of their own. */
export const rawly = (name: string, args: object): string =>
  `{ reply: [{ call: ${name}, raw_args: ${JSON.stringify(JSON.stringify(args))} }] }`;

export const leads = (tasks: readonly object[], more: object = {}, yaml = ""): Member =>
  lead([rawly("dispatch_tasks", { tasks, ...more }), said("All over."), said("Announced.")], yaml);

interface Answer {
  readonly text?: string;
  readonly finish?: string;
  /** It reports this summary. */
  readonly summary?: string;
}

/** Scenes by the name in the message: one look, then the answer; without `look` the answer at once. */
export const worker = (answers: Readonly<Record<string, Answer>>, look = true): Member => {
  const scenes = Object.entries(answers).flatMap(([id, { text = `${id} is done`, finish, summary }]) => {
    const args = JSON.stringify(JSON.stringify({ status: "completed", summary }));
    const end =
      summary !== undefined
        ? `reply: [{ call: task_complete, raw_args: ${args} }]`
        : `reply: [{ text: ${JSON.stringify(text)} }]${finish === undefined ? "" : `, finish: ${finish}`}`;
    const when = (turn: number): string => `{ input: { starts_with: "Do ${id}." }, turn: ${turn} }`;
    return look
      ? [
          `{ name: ${id}_looks, when: ${when(1)}, reply: [{ call: look, args: { name: ${id} } }] }`,
          `{ name: ${id}_ends, when: ${when(2)}, ${end} }`,
        ]
      : [`{ name: ${id}_ends, when: ${when(1)}, ${end} }`];
  });
  return { name: "worker", script: `scenes: [${scenes.join(", ")}]` };
};

export const done = (...ids: readonly string[]): Readonly<Record<string, Answer>> =>
  Object.fromEntries(ids.map((id) => [id, {}]));

/** A graph whose looks end when the test says so. */
export const dispatched = async (members: readonly Member[], options: CrewOptions = {}): Promise<Crew> => {
  const made = await crew(members, { instant: false, ...options });
  made.bench.send("Go");
  await made.bench.steps();
  return made;
};

export const names = ({ probe }: Crew): readonly string[] => probe.calls.map(({ name }) => name);

export const finish = async ({ bench, probe }: Crew, id: string): Promise<void> => {
  probe.calls.find(({ name }) => name === id)?.finish();
  await bench.steps();
};

export const progress = (made: Crew): readonly string[] =>
  eventsAs(made, "dispatch_progress").map(
    ({ data: { done: settled, total, task } }) => `${settled}/${total} ${task.id} ${task.state}`,
  );

/** `state` of each task as the report has it. */
export const report = (made: Crew, at = -1): readonly string[] =>
  [...(resultsOf(made).at(at) ?? "").matchAll(/^## (\S+) \(\S+\) (\w+) /gm)].map(
    ([, id, state]) => `${id} ${state}`,
  );

/** What lets work be left in the background. */
export const background = "delegation: { async: true, announce: { backoff: 1s } }";

/** The messages of a chat that tell the end of a graph. */
export const reportsIn = (texts: readonly string[]): readonly string[] =>
  texts.filter((text) => text.includes("has ended.\n") && text.includes("The task graph d_"));
