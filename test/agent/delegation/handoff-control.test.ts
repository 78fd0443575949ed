import { expect, test } from "vitest";
import type { Crew, Member } from "../../support/crew.ts";
import {
  chatOf,
  childIds,
  crew,
  delegate,
  endings,
  itemsOf,
  mission,
  resultsOf,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, replies, said } from "../../support/scripts.ts";
import { textsOf } from "../loop/play.ts";

/** A caller looks after a task in the background that was handed over: the id it holds stays good (AG-26, AG-32). */

const child = "{{results.delegate_to_agent.child}}";

const member = (name: string, each: readonly string[], yaml: string): Member => ({
  name,
  script: replies(...each),
  yaml,
});

const hand = (agent: string) => said(["handoff", { agent, reason: "It fits", context: "The plan" }]);

/** The lead's look ends once coder and writer have handed the task over to the tester, who looks. */
const handedOver = async (...then: readonly string[]): Promise<Crew> => {
  const handing = "options: { max_handoffs: 3 }";
  const made = await crew(
    [
      member(
        "lead",
        [said(delegate("coder", { async: true }), ["look", {}]), ...then, done, done],
        "delegation: { async: true }",
      ),
      member("coder", [hand("writer")], handing),
      member("writer", [hand("tester")], handing),
      member("tester", [said(["look", {}]), said("Tested.")], handing),
    ],
    { instant: false },
  );
  made.bench.send("Go");
  await made.bench.steps();
  await made.bench.steps();
  expect(endings(made)).toHaveLength(2);
  made.bench.crash();
  await made.bench.steps();
  return made;
};

/** Ends the calls of one agent that run, those that a crash repeated, too. */
const looked = async ({ bench, probe }: Crew, thread: string): Promise<void> => {
  for (const call of probe.calls) if (call.context.thread === thread) call.finish();
  await bench.steps();
};

test("AG-26 AG-32: check_children and steer_child reach the agent that has the task now", async () => {
  const made = await handedOver(
    said(["check_children", { child }]),
    said(["steer_child", { child, message: "Use tabs" }]),
    said(["check_children", {}]),
  );
  const [coder = "", writer = "", tester = ""] = childIds(made);
  await looked(made, "main");
  const [one, steered, all] = resultsOf(made).slice(2);
  expect(JSON.parse(one?.slice(4) ?? "")).toMatchObject([
    { child: tester, agent: "tester", state: "running" },
  ]);
  expect(steered).toBe(`ok: {"child":"${tester}","agent":"tester","state":"running"}`);
  expect(JSON.parse(all?.slice(4) ?? "")).toMatchObject([
    { child: tester, state: "running" },
    { child: writer, state: "completed", handed_over_to: tester },
    { child: coder, state: "completed", handed_over_to: writer },
  ]);
  await looked(made, tester);
  await made.bench.idle();
  expect(chatOf(made, tester).map(textsOf)).toContain("Use tabs");
  const told = chatOf(made, "main")
    .map(textsOf)
    .find((text) => text.startsWith("An agent"));
  expect(told).toContain(`"child":"${tester}"`);
  expect(told).toContain(`the task that ${coder} began`);
  checkInvariants(made.bench, ["in_1"]);
});

test("AG-26 AG-32: cancel_child stops the agent that has the task now, and is idempotent", async () => {
  const made = await handedOver(said(["cancel_child", { child }]), said(["cancel_child", { child }]));
  const [, , tester = ""] = childIds(made);
  await looked(made, "main");
  await made.bench.pass(5_000);
  const answer = `ok: {"child":"${tester}","state":"cancelled"}`;
  expect(resultsOf(made).slice(2)).toEqual([answer, answer]);
  expect(endings(made)).toContain("tester cancelled:cancelled");
  checkInvariants(made.bench, ["in_1"]);
});

for (const persistent of [false, true])
  test(`AG-26 AG-28: a question of the agent that has the task now is answered by the earlier id${persistent ? ", also where that thread stays" : ""}`, async () => {
    const made = await mission([
      member(
        "lead",
        [
          said(delegate("coder", { async: true, persistent })),
          said("Started."),
          said(["check_children", { child }]),
          said([
            "answer_child",
            { child, question: "{{results.check_children.0.question.id}}", answer: "Tabs." },
          ]),
          done,
          done,
        ],
        "delegation: { async: true }\noptions: { interaction_mode: interactive }",
      ),
      member("coder", [hand("writer")], "options: { max_handoffs: 1 }"),
      member("writer", [said(["request_input", { question: "Tabs or spaces?" }]), said("Written.")], ""),
    ]);
    const [, writer = ""] = childIds(made);
    expect(resultsOf(made, writer)).toEqual(["ok: Tabs."]);
    expect(itemsOf(made)).toMatchObject([
      { agent: "writer", child: writer, result: "Written.", handoffs: 1 },
    ]);
    expect(endings(made).at(-1)).toBe("lead completed:end_turn");
    checkInvariants(made.bench, ["in_1"]);
  });
