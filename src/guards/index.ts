import type { Guard } from "../agent/definition/guard.ts";
import { equalReplies } from "./equal-replies.ts";
import { toolLoops } from "./tool-loops.ts";

/** Built-in guards that judge calls; their kinds are keys of an agent's `guards`. */
export const guards: readonly Guard[] = [toolLoops];

/** Kinds that extensions may not use, including those that options configure. */
export const guardKinds: readonly string[] = [...guards, equalReplies].map(({ kind }) => kind);
