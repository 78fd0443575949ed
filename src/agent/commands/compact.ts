import * as z from "zod";
import { clockTicked } from "../advance.ts";
import { changeRun } from "../draft.ts";
import { own } from "../own.ts";
import { refuseField } from "../problem.ts";
import { compactionRunStarted } from "../runs.ts";
import { done, roomForRun, wellFormed, write } from "./command.ts";
import type { Command } from "./command.ts";

const compactSchema = z.strictObject({
  thread: z.string().max(64).default("main"),
  instructions: wellFormed(4_000).optional().describe("What the summary must keep."),
});

/** Summarises the chat now, or before the next turn of a run (EF-27); nothing to summarise changes nothing. */
export const compact: Command = write(compactSchema, (context, { thread: id, instructions = null }) => {
  const { draft } = context;
  const thread = own(draft.state.threads, id);
  if (thread === undefined) return refuseField("not_found", "/thread", "no such thread");
  if (thread.run !== null) changeRun(draft, id, { compact: { instructions } });
  else if (thread.chat.length > 0) {
    roomForRun(context);
    compactionRunStarted(draft, id, instructions);
  }
  clockTicked(draft, "compact");
  return done(draft, { run: draft.state.threads[id]?.run?.id ?? null }, 202);
});
