import { expect, test } from "vitest";
import { childIds, crew, delegate, member, resultsOf } from "../../support/crew.ts";
import { said } from "../../support/scripts.ts";
import { refused, run } from "../loop/play.ts";

/** How much text waits in a session's inboxes: it is loaded at every wake (SE-24, RE-P12). */

const asks =
  'replies: [{ reply: [{ call: ask_user, args: { question: "On?" } }] }, { reply: [{ text: A. }] }]';

/** As much text as a body may have. */
const largest = Array.from({ length: 8 }, () => ({ type: "text", text: "x".repeat(1_048_576) }));

test.each(["queue", "steer", "interrupt", "rollback"])(
  "SE-24 RE-P12: what waits has 16 Mi characters in all; more is refused in mode %s and stores nothing",
  async (on_busy) => {
    const { bench } = await run(asks);
    for (const id of ["a", "b"]) bench.ok("send", { id, content: largest, on_busy: "queue" });
    expect(refused(bench, "send", { content: "x", on_busy })).toBe("too_many_inputs");
    expect(bench.perform("send", { content: "x", on_busy })).toMatchObject({
      problem: { detail: expect.stringMatching(/16777216 characters.*withdraw/), retryAfterMs: 5_000 },
    });
    bench.ok("withdraw", { input: "a" });
    bench.ok("send", { content: "x", on_busy });
  },
);

test("SE-24 SE-27 RE-P12: an edit makes what waits no longer than it may be", async () => {
  const { bench } = await run(asks);
  for (const id of ["a", "b"]) bench.ok("send", { id, content: largest, on_busy: "queue" });
  bench.ok("edit_input", { input: "a", content: largest });
  bench.ok("edit_input", { input: "b", content: "short" });
  bench.ok("send", { id: "c", content: largest.slice(1), on_busy: "queue" });
  expect(refused(bench, "edit_input", { input: "b", content: largest })).toBe("too_many_inputs");
});

test("SE-24 AG-32 RE-P12: what waits for called agents counts, too; their caller reads it, and a resting main waits for nothing", async () => {
  const steer = ["steer_child", { child: "{{results.delegate_to_agent.child}}", message: "Hurry" }] as const;
  const { bench, probe } = await crew(
    [
      member(
        "lead",
        [
          said(delegate("coder", { async: true })),
          said(["look", {}]),
          said(steer),
          said("Done."),
          said("Again."),
        ],
        "delegation: { async: true }",
      ),
      member("coder", [said(["look", {}]), said("Done.")]),
    ],
    { instant: false },
  );
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 4; turn++) await bench.steps();
  };
  bench.send("Go");
  await turns();
  const [coder = ""] = childIds({ bench });
  for (const id of ["a", "b"]) bench.ok("send", { id, content: largest, thread: coder, on_busy: "steer" });
  probe.calls.find(({ context }) => context.thread === "main")?.finish();
  await turns();
  expect(resultsOf({ bench }).at(-1)).toMatch(/^error: limit: .*16777216 characters/);
  expect(bench.send("More")).toMatchObject({ status: "applied" });
  expect(refused(bench, "send", { content: "x", on_busy: "queue" })).toBe("too_many_inputs");
});
