import * as z from "zod";
import { rewindThread } from "../../agent/run/rewind.ts";
import type { PastView } from "../../agent/state/records.ts";
import type { Session } from "../../agent/state/session.ts";
import type { Archive } from "../command.ts";
import { okAnswer } from "../command.ts";
import { defineWrite } from "../define-operation.ts";
import { refuse, refuseField } from "../problems.ts";
import { requireRest, viewAfter } from "./session.ts";

/** Defines the way back to a turn boundary of the chat of `main`. */

export const pastSchema = z.strictObject({
  at: z
    .union([z.int().min(0), z.string().max(128)])
    .describe("The last event or message that stays; inside a turn it rounds down to before the turn."),
  files: z
    .enum(["keep", "restore"])
    .default("keep")
    .describe("What happens to the workspace; restoring it needs a snapshot by the sandbox."),
});

const messagePattern = /^msg_main_(\d{1,15})$/;

/** Returns the view at the turn boundary that a caller names. */
export const findPastView = (
  state: Session,
  archive: Archive,
  { at, files }: z.output<typeof pastSchema>,
): PastView => {
  if (files === "restore")
    return refuseField("no_file_snapshot", "/files", "the sandbox has no snapshot of the files; use keep");
  if (typeof at === "number" && at > state.head)
    return refuse("cursor_ahead", `at: the newest event is ${state.head}`, {
      meta: { head_seq: state.head },
    });
  const [, pos] = typeof at === "number" ? [] : (messagePattern.exec(at) ?? []);
  const place = typeof at === "number" ? { seq: at } : pos === undefined ? null : { pos: Number(pos) };
  return (
    (place && archive.pastView("main", place)) ??
    refuseField("not_found", "/at", "no event reports such a message of main")
  );
};

export const rewindOperation = defineWrite({
  name: "rewind",
  summary: "Takes the chat back to the end of a turn; what followed is retired and stays readable.",
  scopes: ["sessions:manage"],
  method: "POST",
  path: "/v1/sessions/:session/rewind",
  params: pastSchema,
  isTagged: true,
  matches: "session",
  run: (context, params) => {
    const { draft, archive } = context;
    requireRest(draft);
    rewindThread(draft, "main", findPastView(draft.state, archive, params));
    draft.state.updatedAt = draft.context.now;
    return okAnswer(viewAfter(context));
  },
});
