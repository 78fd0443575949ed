import { expect, test } from "vitest";
import { checkInvariants } from "../support/invariants.ts";
import { chatOf, childIds, delegate, endings, mission, replies, resultsOf, said } from "../support/crew.ts";
import { textsOf } from "./play.ts";

const lead = (...each: readonly string[]) => ({ name: "lead", script: replies(...each) });
const coder = (...each: readonly string[]) => ({ name: "coder", script: replies(...each) });

test("AG-7 AG-16 AG-24: a called agent reads context and task, and its answer is the caller's result", async () => {
  const made = await mission([
    lead(said(delegate("CODER", { task: "Write it", context: "Use tabs" })), said("All done.")),
    coder(said("I wrote it.")),
  ]);
  expect(resultsOf(made)).toEqual(["ok: I wrote it."]);
  expect(endings(made)).toEqual(["coder completed:end_turn", "lead completed:end_turn"]);
  const [child = ""] = childIds(made);
  expect(
    chatOf(made, child).map((message) => `${message.role} ${message.origin} ${textsOf(message)}`),
  ).toEqual([
    "user agent <delegation_context>\nUse tabs\n</delegation_context>",
    "user agent Write it",
    "assistant agent I wrote it.",
  ]);
  expect(Object.keys(made.bench.state().threads)).toEqual(["main"]);
  checkInvariants(made.bench, ["in_1"]);
});
