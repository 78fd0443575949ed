import { expect, test } from "vitest";
import type { Crew } from "../../support/crew.ts";
import {
  chatOf,
  childIds,
  crew,
  delegate,
  eventsAs,
  member,
  mission,
  resultsOf,
  spawn,
  task,
} from "../../support/crew.ts";
import { done, said } from "../../support/scripts.ts";
import { textsOf } from "../loop/play.ts";

/** A child's label is for people: prompts name its agent and its id (AG-15). */

const long = said("Word ".repeat(2_000));

const failing = "{ fail: [{ status: 400 }], reply: [{ text: Never. }] }";

const labels = (made: Crew): readonly string[] =>
  eventsAs(made, "agent_start").flatMap(({ data }) => data.label ?? []);

/** All that a model was sent. */
const prompts = ({ bench }: Crew): string => JSON.stringify(bench.requests);

test("AG-15: the result of a child that failed names its agent and id, never its label", async () => {
  const made = await mission([member("lead", [said(delegate("coder")), done]), member("coder", [failing])]);
  const [id = ""] = childIds(made);
  expect(resultsOf(made)[0]).toMatch(`error: failed: coder (${id}) ended with provider_error: `);
  expect(labels(made)).toEqual(["coder-the-1"]);
  expect(prompts(made)).not.toContain("coder-the-1");
});

test("AG-11 AG-15: a child that was stopped reads which agent failed, never its label", async () => {
  const made = await mission([
    member("lead", [said(spawn([task("coder"), task("writer")])), done]),
    member("coder", [said(["look", {}]), said(["look", {}]), said("Coded.")]),
    member("writer", [failing]),
  ]);
  const [, writer = ""] = childIds(made);
  expect(resultsOf(made)[0]).toContain(`"error":"stopped, since writer (${writer}) failed"`);
  expect(prompts(made)).not.toContain("-the-1");
});

test("AG-15 EF-22: a summary names the children that are at work by agent and id", async () => {
  const made = await crew(
    [
      member(
        "lead",
        [said(delegate("coder", { async: true })), long, long, long, said("A summary of all that.")],
        "delegation: { async: true }",
      ),
      member("coder", [said(["look", {}]), done]),
    ],
    { instant: false },
  );
  for (const text of ["Go", "On", "Go on"]) {
    made.bench.send(text);
    for (let round = 0; round < 3; round++) await made.bench.steps();
  }
  made.bench.ok("compact");
  for (let round = 0; round < 3; round++) await made.bench.steps();
  const [coder = ""] = childIds(made);
  const summary = made.bench.chat().map(textsOf).join("\n");
  expect(summary).toContain(`## Running Children\n- coder (${coder}): Do the coder's work`);
  expect(chatOf(made, "main").map(textsOf).join("\n")).not.toContain("coder-the-1");
});
