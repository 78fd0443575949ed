import * as z from "zod";
import { taskNumber, taskView } from "../../agent/state/board.ts";
import type { CommandAnswer, ReadContext } from "../command.ts";
import { rowsAnswer } from "../command.ts";
import { defineRead } from "../define-operation.ts";
import { refuse } from "../problems.ts";
import { pageAnswer, pageSchema } from "./lists.ts";

/** Reads the stores that the threads share; a store that no agent uses does not exist. */

const requireToolbox = ({ rules }: ReadContext, toolbox: string): void => {
  if (!rules.stores.listed.has(toolbox))
    refuse("not_found", `no agent of this session has the toolbox ${toolbox}`);
};

const showState = (context: ReadContext): CommandAnswer => {
  requireToolbox(context, "state");
  return rowsAnswer(
    context.archive
      .entries("state")
      .map(
        ({ key, revision, json }) => `{"key":${JSON.stringify(key)},"revision":${revision},"value":${json}}`,
      ),
  );
};

export const stateOperation = defineRead({
  name: "state",
  summary: "Lists the entries of the session's state store.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/state",
  params: z.strictObject({}),
  run: showState,
});

const listTasks = (context: ReadContext, query: z.output<typeof pageSchema>): CommandAnswer => {
  requireToolbox(context, "tasks");
  const { tasks: board } = context.state;
  const { onDependencyFailure } = context.rules.stores;
  const live = Object.values(board).map((task) => ({
    at: taskNumber(task),
    id: task.id,
    json: () => JSON.stringify(taskView(board, task, onDependencyFailure)),
  }));
  return pageAnswer(context, { of: "tasks", live, stored: () => [], descending: false }, query);
};

export const tasksOperation = defineRead({
  name: "tasks",
  summary: "Lists the tasks of the session's board.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/tasks",
  params: pageSchema,
  run: listTasks,
});

/** Returns the session's notes, or the owner of shared ones, which the router then requests from the team. */
const listNotes = (context: ReadContext): CommandAnswer => {
  requireToolbox(context, "notes");
  const { notes: scope } = context.rules.stores;
  if (scope !== "session")
    return { status: 200, value: { agents: scope === "agent" ? [...context.rules.agentNames] : null } };
  return rowsAnswer(
    context.archive
      .entries("notes")
      .map(({ key, json }) => `{"name":${JSON.stringify(key)},"content":${json}}`),
  );
};

export const notesOperation = defineRead({
  name: "notes",
  summary: "Lists the notes that the session's agents see.",
  scopes: ["sessions:read"],
  path: "/v1/sessions/:session/notes",
  params: z.strictObject({}),
  run: listNotes,
});
