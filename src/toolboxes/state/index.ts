import type { Toolbox } from "../../tools/define-tool.ts";
import { sharedStateDelete } from "./shared-state-delete.ts";
import { sharedStateGet } from "./shared-state-get.ts";
import { sharedStateList } from "./shared-state-list.ts";
import { sharedStateSet } from "./shared-state-set.ts";

export const stateToolbox: Toolbox = {
  name: "state",
  description: "Values that all agents of the session share.",
  tools: [sharedStateGet, sharedStateList, sharedStateSet, sharedStateDelete],
};
