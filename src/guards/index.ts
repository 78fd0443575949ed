import type { Guard } from "../agent/guard.ts";
import { toolLoops } from "./tool-loops.ts";

/** The built-in guards that judge calls, by their key in an agent's `guards`. */
export const guards: readonly Guard[] = [toolLoops];
