import { expect, test } from "vitest";
import { hasDecision } from "../../src/session/decisions.ts";
import { digestJson } from "../../src/tools/canonical.ts";
import type { Bench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { benchOf, eventsOf } from "./harness.ts";

/** What the log of a session says was decided in it (TB-11). */

const fire = (name: string, rules: string): string =>
  scripted(
    `replies: [{ reply: [{ call: fire, args: { name: ${name} } }] }, { reply: [{ text: done }] }]`,
    "",
    `permissions: { rules: [${rules}] }`,
  );

const started = async (text: string): Promise<Bench> => {
  const bench = await benchOf(text, { toolboxes: [createProbe().toolbox] }, {});
  bench.send("Go");
  await bench.idle();
  return bench;
};

const denied = { verdict: "deny", rule: "rule deny fire", tool: "fire", answer: null, who: null };

test("TB-11: a denied call is told with its arguments, which no other event has brought", async () => {
  const bench = await started(fire("a", "{ tool: fire, action: deny }"));
  expect(eventsOf(bench, "tool_call_end")).toMatchObject([{ input: { name: "a" } }]);
  expect(bench.decisions()).toMatchObject([{ ...denied, input_sha256: digestJson({ name: "a" }) }]);
  expect(bench.decisions(bench.decisions()[0]?.seq)).toEqual([]);
});

test("TB-11: arguments that are too long for an event are told by the digest of the whole", async () => {
  for (const action of ["deny", "allow"]) {
    const digests = await Promise.all(
      ["x", "y"].map(async (end) => {
        const name = "a".repeat(70_000) + end;
        const bench = await started(fire(name, `{ tool: fire, action: ${action} }`));
        expect(bench.decisions()).toMatchObject([{ verdict: action, input_sha256: digestJson({ name }) }]);
        return bench.decisions()[0]?.input_sha256;
      }),
    );
    expect(digests[0]).not.toBe(digests[1]);
  }
});

test("TB-11 TB-6: a deny that came after an approval is what the audit says of the call", async () => {
  const bench = await started(fire("a", "{ tool: fire, action: ask }"));
  bench.deploy(
    await engineOf(fire("a", "{ tool: fire, action: deny }"), { toolboxes: [createProbe().toolbox] }),
  );
  const [ask] = Object.values(bench.state().asks);
  bench.ok("answer", { ask: ask?.id, decision: "approve" });
  await bench.idle();
  expect(bench.decisions()).toMatchObject([{ verdict: "ask" }, { answer: "approve" }, denied]);
});

test("TB-11: a commit knows whether its events decided, so that a call that the preset allows costs no look at the log", async () => {
  const seqs = (bench: Bench): readonly number[] =>
    bench
      .events()
      .filter(hasDecision)
      .map(({ seq }) => seq);
  for (const action of ["allow", "ask", "deny"]) {
    const bench = await started(fire("a", `{ tool: fire, action: ${action} }`));
    expect(bench.decisions().length).toBeGreaterThan(0);
    expect(seqs(bench)).toEqual(bench.decisions().map(({ seq }) => seq));
  }
  const bench = await started(fire("a", ""));
  expect(eventsOf(bench, "tool_call_start")).toMatchObject([{ permission: { verdict: "allow" } }]);
  expect([seqs(bench), bench.decisions()]).toEqual([[], []]);
});
