import { hashName } from "../../sandbox/id.ts";

/** Called threads get their names here. */

/** A start that is repeated gives the same child id. */
export const childId = (parent: string, run: string, call: string, index: string): string =>
  `t_${hashName(parent, run, call, index).slice(0, 26)}`;

const longestSlug = 12;

const slugOf = (task: string): string => {
  const word = task.match(/\p{L}{3,}/u)?.[0]?.toLowerCase() ?? "task";
  return [...word].slice(0, longestSlug).join("");
};

/** The label `<agent>-<slug>-<n>` is for people and never in a prompt. */
export const labelOf = (agent: string, task: string, n: number): string => `${agent}-${slugOf(task)}-${n}`;

/** Loop detectors compare a text without ids of threads and `recall` texts, since these differ each time. */
export const stripIds = (text: string): string =>
  text.replace(/\bt_[a-z2-7]{26}\b/g, "t_").replace(/(\brecall\(\\*"b)\d+/g, "$1");
