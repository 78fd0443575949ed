import * as z from "zod";
import { taskDependencies, taskDescription, taskId, taskMetadata, taskTitle } from "../../tools/stores.ts";

/** This file holds the parameters that the tools of this toolbox share. */

export const idParameter = taskId.describe("Id of the task, like task_1.");
export const onlyId = z.strictObject({ id: idParameter });

const titleText = "What is to be done, in one line.";
export const titleParameter = taskTitle.describe(titleText);

/** The optional fields of a task, which may also be changed. */
export const optionalParameters = {
  description: taskDescription.optional().describe("All that whoever does it has to know."),
  blocked_by: taskDependencies.optional().describe("Ids of the tasks that have to be completed before."),
  metadata: taskMetadata.optional().describe("Values of your own."),
};
export const changeableParameters = {
  title: taskTitle.optional().describe(titleText),
  ...optionalParameters,
  metadata: taskMetadata.optional().describe("Merged into what is there; null removes a value."),
};
