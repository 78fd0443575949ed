import { describe, expect, test } from "vitest";
import type { Crew, Member } from "../../support/crew.ts";
import {
  chatOf,
  childIds,
  crew,
  delegate,
  endings,
  mission,
  passTurns,
  resultsOf,
  toRest,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { replies, said } from "../../support/scripts.ts";
import { dataOf, ends, lastResult, play, roles, run, textsOf } from "../loop/play.ts";

/** Guardrails where it is not a plain text that ends a run (AG-37). */

const key = "-----BEGIN PRIVATE KEY-----";

const guardrail = (params: string): string =>
  `middleware: [{ kind: output_guardrail, params: { ${params} } }]`;

const noKey = 'must_not_contain: ["BEGIN PRIVATE KEY"]';

const report = (summary: string, more: object = {}): string =>
  said(["task_complete", { status: "completed", summary, ...more }]);

const called = (each: readonly string[], yaml: string): Promise<Crew> =>
  mission([
    { name: "lead", script: replies(said(delegate("coder")), said("Done.")) },
    { name: "coder", script: replies(...each), yaml } satisfies Member,
  ]);

describe("AG-37 AG-23: reports", () => {
  test.each([
    ["summary", report(key)],
    ["caveats", report("Coded.", { caveats: [key] })],
  ])(
    "AG-37: a report whose %s breaks a rule fails the run, and its caller never reads it",
    async (_, reply) => {
      const made = await called([reply], guardrail(`${noKey}, text: "Not shown."`));
      expect(endings(made)[0]).toBe("coder failed:output_invalid");
      expect(resultsOf(made)).toEqual([
        expect.stringMatching(/^error: failed: .* ended with output_invalid: the report was not accepted/),
      ]);
      expect(JSON.stringify(chatOf(made, "main"))).not.toContain(key);
      const [end] = dataOf(made.bench, "run_end");
      expect(end?.result.text).toBe("Not shown.");
      expect(JSON.stringify(dataOf(made.bench, "agent_end"))).not.toContain(key);
      checkInvariants(made.bench, ["in_1"]);
    },
  );

  test("AG-37: on retry the reason is injected, and the next report counts", async () => {
    const made = await called([report(key), report("Coded.")], guardrail(`${noKey}, on_fail: retry`));
    const [coder = ""] = childIds(made);
    expect(chatOf(made, coder).map(textsOf)).toContain(
      "Your report was not accepted: it contains a text that must not be in it. Report again.",
    );
    expect(resultsOf(made)).toEqual(["ok: Coded."]);
    checkInvariants(made.bench, ["in_1"]);
  });

  test.each([
    ["fail", "coder failed:output_invalid"],
    ["retry", "coder cancelled:cancelled"],
  ])(
    "SE-31 AG-37: a graceful stop lets no answer through that breaks a rule, and starts no other (%s)",
    async (onFail, end) => {
      for (const answer of [report(key), said(key)]) {
        const made = await crew([
          { name: "lead", script: replies(said(delegate("coder")), said("Done.")) },
          {
            name: "coder",
            script: replies(answer, said("Coded.")),
            yaml: guardrail(`${noKey}, on_fail: ${onFail}`),
          },
        ]);
        made.bench.send("Go");
        await passTurns(made, 1);
        made.bench.ok("cancel", { mode: "after_turn" });
        made.bench.release();
        await toRest(made);
        checkInvariants(made.bench, ["in_1"]);
        expect(made.bench.requests).toHaveLength(2);
        expect(endings(made)[0]).toBe(end);
        expect(JSON.stringify(chatOf(made, "main"))).not.toContain(key);
        expect(JSON.stringify(dataOf(made.bench, "agent_end"))).not.toContain(key);
      }
    },
  );

  test("AG-37: retries of reports are bounded", async () => {
    const made = await called(
      [report(key), report(key)],
      guardrail(`${noKey}, on_fail: retry, max_retries: 1`),
    );
    expect(endings(made)[0]).toBe("coder failed:output_invalid");
  });

  test("AG-37: replace puts its text in the report's place", async () => {
    const made = await called([report(key)], guardrail(`${noKey}, on_fail: replace, text: "Held back."`));
    expect(endings(made)[0]).toBe("coder completed:terminal_tool");
    expect(resultsOf(made)).toEqual(["ok: Held back."]);
  });

  test("AG-37 AG-26: what is handed over is no answer: the peer's is checked", async () => {
    const handing = said(["handoff", { agent: "writer", reason: "It fits", context: key }]);
    const made = await mission([
      { name: "lead", script: replies(said(delegate("coder")), said("Done.")) },
      {
        name: "coder",
        script: replies(handing),
        yaml: `options: { max_handoffs: 1 }\n${guardrail("min_length: 5")}`,
      },
      { name: "writer", script: replies(said("Well written.")) },
    ]);
    expect(resultsOf(made)).toEqual(["ok: Well written."]);
  });
});

test("AG-37 AG-32: what must not be told is not shown of a child at work, either", async () => {
  const made = await crew(
    [
      {
        name: "lead",
        script: replies(
          said(delegate("coder", { async: true }), ["look", { name: "l" }]),
          said(["check_children", {}]),
          said("Done."),
        ),
        yaml: "delegation: { async: true }",
      },
      {
        name: "coder",
        script: replies(said(`I found ${key}`, ["look", { name: "c" }]), said("Coded.")),
        yaml: guardrail(`${noKey}, text: "Not shown."`),
      },
    ],
    { instant: false },
  );
  made.bench.send("Go");
  for (let round = 0; round < 3; round++) await made.bench.steps();
  made.probe.calls.find(({ name }) => name === "l")?.finish();
  for (let round = 0; round < 3; round++) await made.bench.steps();
  const checked = resultsOf(made).find((text) => text.includes("last_text"));
  expect(checked).toContain('"state":"running"');
  expect(checked).toContain('"last_text":"Not shown."');
});

describe("AG-37: words beside a report or a hand-over", () => {
  const handing = ["handoff", { agent: "writer", reason: "It fits", context: "The plan" }] as const;
  const reported = (summary: string) => ["task_complete", { status: "completed", summary }] as const;
  const textOfRun = (made: Crew): string | undefined => dataOf(made.bench, "run_end")[0]?.result.text;

  test.each([
    ["a report", said(key, reported("Coded.")), noKey],
    [
      "a report that another takes the place of",
      said(key, reported(key)),
      `${noKey}, on_fail: replace, text: Held.`,
    ],
    ["a report whose next try counts", said(key, reported("Coded.")), `${noKey}, on_fail: retry`],
    ["a hand-over", said(key, handing), noKey],
  ])("AG-37: what must not be told is told beside %s no more", async (_, reply, params) => {
    const made = await mission([
      { name: "lead", script: replies(said(delegate("coder")), said("Done.")) },
      { name: "coder", script: replies(reply), yaml: `options: { max_handoffs: 1 }\n${guardrail(params)}` },
      { name: "writer", script: replies(said("Written.")) },
    ]);
    expect(endings(made)[0]).toBe("coder completed:terminal_tool");
    const [end] = dataOf(made.bench, "run_end");
    expect(end).toMatchObject({ message: null, result: { text: "" } });
    expect(JSON.stringify(chatOf(made, "main"))).not.toContain(key);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-37: other words stay, also those that are no finished answer", async () => {
    const made = await called([said("Hm.", reported("Coded."))], guardrail(`${noKey}, min_length: 5`));
    expect(textOfRun(made)).toBe("Hm.");
    expect(resultsOf(made)).toEqual(["ok: Coded."]);
  });
});

test("AG-37: an answer that is refused, or replaced by nothing, leaves none, though the run said words before it", async () => {
  const script = replies(said("Let me look.", ["look", {}]), said(key), said("Done."));
  for (const [more, end] of [
    ["", "failed:output_invalid"],
    [", on_fail: replace, text: ' '", "completed:end_turn"],
  ] as const) {
    const { bench } = await run(script, { agent: guardrail(noKey + more) });
    expect(ends(bench)).toEqual([end]);
    expect(dataOf(bench, "run_end")[0]).toMatchObject({ message: null, result: { text: "" } });
    bench.send("Go on");
    await bench.idle();
    expect(bench.chat().map(textsOf)).toEqual(["Go", "Let me look.", "look() done", "Go on", "Done."]);
    expect(dataOf(bench, "error").map(({ code }) => code)).not.toContain("history_repaired");
    checkInvariants(bench, ["in_1", "in_2"]);
  }
});

test("AG-37: each guardrail has retries of its own, also after a crash", async () => {
  const texts = [
    "long enough, but rude",
    "long enough, still rude",
    "short",
    "tiny",
    "long enough, and please",
  ];
  const { bench } = await play(`replies: [${texts.map((text) => said(text)).join(", ")}]`, {
    agent: [
      "middleware:",
      "  - { kind: output_guardrail, params: { min_length: 10, on_fail: retry } }",
      "  - { kind: output_guardrail, params: { must_not_contain: [rude], on_fail: retry } }",
    ].join("\n"),
  });
  bench.hold = true;
  bench.send("Go");
  await bench.steps();
  for (const _ of texts) {
    bench.crash();
    await bench.steps();
    bench.release();
    bench.hold = true;
    await bench.steps();
  }
  bench.release();
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(lastResult(bench).text).toBe("long enough, and please");
});

describe("AG-37: other ends", () => {
  const cut = (text: string): string => `{ reply: [{ text: ${JSON.stringify(text)} }], finish: length }`;

  test("AG-37 SE-13: a text that was cut three times is checked as a whole, and told pieces are taken back", async () => {
    const { bench } = await run(`replies: [${cut("-----BEGIN ")}, ${cut("PRIVATE ")}, ${cut("KEY")}]`, {
      agent: guardrail(`${noKey}, text: "Not shown."`),
    });
    expect(ends(bench)).toEqual(["failed:output_invalid"]);
    expect(lastResult(bench).text).toBe("Not shown.");
    const told = dataOf(bench, "message_added").filter(({ message }) => message.role === "assistant");
    const taken = dataOf(bench, "messages_retired").flatMap(({ messages }) => messages);
    expect(
      told.filter(({ message }) => !taken.includes(message.id)).map(({ message }) => textsOf(message)),
    ).toEqual(["Not shown."]);
    checkInvariants(bench, []);
  });

  test("AG-37: a text beside a terminal call is an answer, too", async () => {
    const beside = `{ reply: [{ text: "${key}" }, { call: submit }] }`;
    const silent = await run(`replies: [${beside}]`, { agent: guardrail(noKey) });
    expect(ends(silent.bench)).toEqual(["failed:output_invalid"]);
    expect(lastResult(silent.bench).text).toBe("");
    expect(dataOf(silent.bench, "run_end")[0]?.message).toBeNull();
    const instead = await run(`replies: [${beside}]`, {
      agent: guardrail(`${noKey}, on_fail: replace, text: "Submitted."`),
    });
    expect(ends(instead.bench)).toEqual(["completed:terminal_tool"]);
    expect(lastResult(instead.bench).text).toBe("Submitted.");
    expect(roles(instead.bench)).toEqual(["user", "assistant", "tool", "assistant"]);
    const nothing = await run("replies: [{ reply: [{ call: submit }] }]", {
      agent: guardrail("min_length: 5"),
    });
    expect(ends(nothing.bench)).toEqual(["completed:terminal_tool"]);
    checkInvariants(instead.bench, []);
  });

  test("AG-37 AG-25: what must not be said does not reach the caller of a run that a limit ended, either", async () => {
    const look = `{ reply: [{ text: "I found ${key}" }, { call: look }] }`;
    const limited = "options: { max_iterations: 1 }";
    const made = await called([look], `${limited}\n${guardrail(`${noKey}, text: "Not shown."`)}`);
    expect(endings(made)[0]).toBe("coder failed:max_iterations");
    expect(JSON.stringify(chatOf(made, "main"))).not.toContain(key);
    expect(resultsOf(made)[0]).toContain("Not shown.");
    expect(JSON.stringify(dataOf(made.bench, "agent_end"))).not.toContain(key);
    const short = await called([look], `${limited}\n${guardrail("min_length: 500")}`);
    expect(resultsOf(short)[0]).toContain(`I found ${key}`);
  });
});
