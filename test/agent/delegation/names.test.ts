import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../../src/tools/define-tool.ts";
import { childIds, crew, delegate, eventsAs, mission, resultsOf } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { replies, said } from "../../support/scripts.ts";
import { lastResult, play, refused, results } from "../loop/play.ts";

/** Names that every object of the language has are names like any other. */

const names = ["constructor", "__proto__", "toString", "hasOwnProperty"];

test.each(names)("AG-18 SE-23 SE-29: a thread or ask named %s is not found", async (name) => {
  const { bench } = await play("replies: [{ reply: [{ text: Done. }] }]");
  bench.send("Go");
  await bench.idle();
  expect(refused(bench, "send", { thread: name, content: "Hi", on_busy: "steer" })).toBe("not_found");
  expect(refused(bench, "cancel", { thread: name })).toBe("not_found");
  expect(refused(bench, "compact", { thread: name })).toBe("not_found");
  expect(refused(bench, "messages", { thread: name })).toBe("not_found");
  expect(refused(bench, "pin", { thread: name, message: "msg_main_0", pinned: true })).toBe("not_found");
  expect(refused(bench, "answer", { ask: name, decision: "answer", text: "Hi" })).toBe("not_found");
});

test.each(names)("AG-32: a child named %s is not found", async (child) => {
  const made = await mission([
    {
      name: "lead",
      script: replies(
        said(["cancel_child", { child }]),
        said(["steer_child", { child, message: "Go on" }]),
        said(["check_children", { child }]),
        said("Done."),
      ),
      yaml: "delegation: { async: true }",
    },
    { name: "coder", script: replies(said("Coded.")) },
  ]);
  expect(resultsOf(made).map((text) => text.split(": ", 2).join(": "))).toEqual(
    Array.from({ length: 3 }, () => "error: child_not_found"),
  );
});

test("AG-15: an agent named constructor is counted as any other", async () => {
  const made = await crew([
    { name: "lead", script: replies(said(delegate("constructor")), said("Done.")) },
    { name: "constructor", script: replies(said("Built.")) },
  ]);
  made.bench.send("Go");
  await made.bench.idle();
  expect(resultsOf(made)).toEqual(["ok: Built."]);
  expect(childIds(made)).toHaveLength(1);
  expect(eventsAs(made, "agent_start")[1]?.data.label).toBe("constructor-the-1");
  made.bench.crash();
  checkInvariants(made.bench, ["in_1"]);
});

test("SE-33 SE-44: a tool named constructor has its own class, limit and time", async () => {
  const gates: PromiseWithResolvers<void>[] = [];
  const tool = defineTool({
    name: "constructor",
    description: "Builds.",
    params: z.strictObject({}),
    safety: "read",
    workspace: "none",
    run: async () => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      return { content: "built" };
    },
  });
  const { bench } = await play(
    "replies: [{ reply: [{ call: constructor }] }, { reply: [{ text: Done. }] }]",
    {
      tools: [tool],
    },
  );
  bench.send("Go");
  await bench.steps();
  bench.crash();
  await bench.steps();
  await bench.tick(7);
  gates[1]?.resolve();
  await bench.idle();
  expect(results(bench)).toEqual(["ok: built"]);
  expect(lastResult(bench).tool_timings).toEqual({ constructor: 7 });
});

/** A name whose cut, at 64 UTF-16 units, would fall between the halves of a pair. */
const longName = `a${"😀".repeat(40)}`;

test("AG-32 SE-2: a long name in a refusal is cut between characters", async () => {
  const made = await mission([
    {
      name: "lead",
      script: replies(said(delegate(longName)), said(["check_children", { child: longName }]), said("Done.")),
      yaml: "delegation: { async: true }",
    },
    { name: "coder", script: replies(said("Coded.")) },
  ]);
  const refusals = resultsOf(made).join("\n");
  expect(refusals).toContain("😀");
  expect(refusals).not.toMatch(/[\ufffd\p{Cs}]/u);
});
