import { hashName } from "../../sandbox/id.ts";

/** Makes the names of called threads. */

/** Returns the id of a child; a start that is repeated gives the same one. */
export const childId = (parent: string, run: string, call: string, index: string): string =>
  `t_${hashName(parent, run, call, index).slice(0, 26)}`;

const longestSlug = 12;

const slugOf = (task: string): string => {
  const word = task.match(/\p{L}{3,}/u)?.[0]?.toLowerCase() ?? "task";
  return [...word].slice(0, longestSlug).join("");
};

/** Returns the label `<agent>-<slug>-<n>`, which is for people and never in a prompt. */
export const labelOf = (agent: string, task: string, n: number): string => `${agent}-${slugOf(task)}-${n}`;

/**
 * Removes ids of threads and `recall` texts, which differ each time, from a text that loop detectors compare.
 */
export const stripIds = (text: string): string =>
  text.replace(/\bt_[a-z2-7]{26}\b/g, "t_").replace(/(\brecall\(\\*"b)\d+/g, "$1");
