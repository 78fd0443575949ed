import { hashName } from "../../sandbox/id.ts";

/** Names of called threads. */

/** The same start is the same child, however often it is repeated. */
export const childId = (parent: string, run: string, call: string, index: string): string =>
  `t_${hashName(parent, run, call, index).slice(0, 26)}`;

const longestSlug = 12;

const slugOf = (task: string): string => {
  const word = task.match(/\p{L}{3,}/u)?.[0]?.toLowerCase() ?? "task";
  return [...word].slice(0, longestSlug).join("");
};

/** `<agent>-<slug>-<n>`: for people, never in a prompt. */
export const labelOf = (agent: string, task: string, n: number): string => `${agent}-${slugOf(task)}-${n}`;

/** A text of called agents as loop detectors compare it: ids of threads and of texts kept for `recall` are others each time. */
export const stripIds = (text: string): string =>
  text.replace(/\bt_[a-z2-7]{26}\b/g, "t_").replace(/(\brecall\(\\*"b)\d+/g, "$1");
