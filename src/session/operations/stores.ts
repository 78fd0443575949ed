import * as z from "zod";
import { taskNumber, taskView } from "../../agent/state/board.ts";
import type { CommandHandler, ReadContext } from "../command.ts";
import { defineRead, rowsAnswer } from "../command.ts";
import { refuse } from "../problems.ts";
import { pageAnswer, pageSchema } from "./lists.ts";

/** This file reads the stores that the threads share; a store that no agent uses does not exist. */

const requireToolbox = ({ rules }: ReadContext, toolbox: string): void => {
  if (!rules.stores.listed.has(toolbox))
    refuse("not_found", `no agent of this session has the toolbox ${toolbox}`);
};

export const stateCommand: CommandHandler = defineRead(z.strictObject({}), (context) => {
  requireToolbox(context, "state");
  return rowsAnswer(
    context.archive
      .entries("state")
      .map(
        ({ key, revision, json }) => `{"key":${JSON.stringify(key)},"revision":${revision},"value":${json}}`,
      ),
  );
});

export const tasksCommand: CommandHandler = defineRead(pageSchema, (context, query) => {
  requireToolbox(context, "tasks");
  const { tasks: board } = context.state;
  const { onDependencyFailure } = context.rules.stores;
  const live = Object.values(board).map((task) => ({
    at: taskNumber(task),
    id: task.id,
    json: () => JSON.stringify(taskView(board, task, onDependencyFailure)),
  }));
  return pageAnswer(context, { of: "tasks", live, stored: () => [], descending: false }, query);
});

/** Returns the session's notes, or the owner of shared ones, for whose notes the router then asks the team. */
export const notesCommand: CommandHandler = defineRead(z.strictObject({}), (context) => {
  requireToolbox(context, "notes");
  const { notes: scope } = context.rules.stores;
  if (scope !== "session")
    return { status: 200, value: { agents: scope === "agent" ? [...context.rules.agentNames] : null } };
  return rowsAnswer(
    context.archive
      .entries("notes")
      .map(({ key, json }) => `{"name":${JSON.stringify(key)},"content":${json}}`),
  );
});
