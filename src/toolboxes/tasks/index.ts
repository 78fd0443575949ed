import type { Toolbox } from "../../tools/define-tool.ts";
import { sharedTasksCancel } from "./shared-tasks-cancel.ts";
import { sharedTasksClaim } from "./shared-tasks-claim.ts";
import { sharedTasksCreate } from "./shared-tasks-create.ts";
import { sharedTasksGet } from "./shared-tasks-get.ts";
import { sharedTasksList } from "./shared-tasks-list.ts";
import { sharedTasksReassign } from "./shared-tasks-reassign.ts";
import { sharedTasksUpdate } from "./shared-tasks-update.ts";
import { sharedTasksWatch } from "./shared-tasks-watch.ts";

export const tasksToolbox: Toolbox = {
  name: "tasks",
  description: "A task board that all agents of the session share.",
  tools: [
    sharedTasksCreate,
    sharedTasksList,
    sharedTasksGet,
    sharedTasksClaim,
    sharedTasksReassign,
    sharedTasksUpdate,
    sharedTasksCancel,
    sharedTasksWatch,
  ],
};
