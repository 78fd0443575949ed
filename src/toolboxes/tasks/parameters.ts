import * as z from "zod";
import { taskDependencies, taskDescription, taskId, taskMetadata, taskTitle } from "../../tools/stores.ts";

/** Parameters that the tools of this toolbox share. */

export const idParameter = taskId.describe("Id of the task, like task_1.");
export const onlyId = z.strictObject({ id: idParameter });

const titleText = "The task in one line.";
export const titleParameter = taskTitle.describe(titleText);

/** Optional fields of a task, which may also be changed. */
export const optionalParameters = {
  description: taskDescription.optional().describe("Everything that its assignee needs to know."),
  blocked_by: taskDependencies.optional().describe("Ids of the tasks that have to be completed first."),
  metadata: taskMetadata.optional().describe("Additional values."),
};
export const changeableParameters = {
  title: taskTitle.optional().describe(titleText),
  ...optionalParameters,
  metadata: taskMetadata.optional().describe("Merged into the existing values; null removes a value."),
};
