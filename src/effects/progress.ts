import * as z from "zod";
import { count } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";

const progressNote = (turns: number): string =>
  `You have worked for ${turns} turns. Call write_note now, and write down what is done, what remains, and what blocks you. Then go on.`;

/** Asks for a progress note every few turns, if the agent can write one. */
export const progress = defineBuiltIn({
  kind: "progress",
  description: "Asks for a progress note every few turns.",
  phase: "before_complete",
  order: "inject",
  params: z.strictObject({ interval: count(1).default(5).describe("Turns between two notes.") }),
  // Iteration 0 counts as asked, since nothing has been done yet.
  state: { initial: { asked: 0 }, reset: "run" },
  run: ({ iteration, tools }, { interval }, { asked }) => {
    if (iteration % interval > 0 || iteration === asked) return {};
    if (!tools.includes("write_note")) return {};
    return { edits: [{ inject: { text: progressNote(iteration) } }], state: { asked: iteration } };
  },
});
