import { describe, expect, test } from "vitest";
import type { Crew } from "../../support/crew.ts";
import { chatOf, crew, delegate, eventsAs, leadEnds, member, rawIn, toRest } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { said } from "../../support/scripts.ts";
import { textsOf } from "../loop/play.ts";

/** An announcement outlives whatever else ends or shrinks the chat between its tries, and within them (AG-30, AG-31). */

const announcing = (retries: number, iterations: number): string =>
  `delegation: { async: true, announce: { timeout: 60s, retries: ${retries}, backoff: 2s } }
options: { max_iterations: ${iterations} }`;

/** The words of the summary are no answer. */
const unsaid = "middleware: [{ kind: output_guardrail, params: { must_not_contain: [A summary] } }]";

const look = said(["look", {}]);

const long = "A long answer. ".repeat(400);

const many = (reply: string, times: number): readonly string[] => Array.from({ length: times }, () => reply);

const failed = "failed:max_iterations";

test("AG-30 AG-31: a result that comes in the commit in which its caller's run completes has all its tries", async () => {
  const made = await crew([
    member(
      "lead",
      [
        said(["shared_tasks_create", { title: "x" }]),
        said(delegate("coder", { async: true, task_id: "task_1" })),
        said(["submit", {}], ["shared_tasks_cancel", { id: "task_1" }]),
        ...many(look, 8),
      ],
      `permissions: { preset: open, rules: [{ tool: shared_tasks_cancel, action: ask }] }
toolboxes: [probe, tasks]
${announcing(1, 4)}`,
    ),
    member("coder", [said(["ask_user", { question: "Well?" }]), said("Coded.")]),
  ]);
  made.bench.send("Go");
  await made.bench.idle();
  const approval = Object.values(made.bench.state().asks).find(({ kind }) => kind === "approval");
  made.bench.ok("answer", { ask: approval?.id, decision: "approve" });
  await toRest(made);
  expect(leadEnds(made)).toEqual(["completed:terminal_tool", failed, failed]);
  expect(rawIn(made)).toEqual([expect.stringContaining('"agent":"coder"')]);
  checkInvariants(made.bench, ["in_1"]);
});

describe("AG-31: between two tries", () => {
  /** Two runs of long answers, then a run whose result two tries do not tell. */
  const untold = async (...between: readonly string[]): Promise<Crew> => {
    const made = await crew([
      member(
        "lead",
        [
          said(long),
          said(long),
          said(delegate("coder", { async: true })),
          said("Started."),
          look,
          look,
          ...between,
          ...many(look, 8),
        ],
        `${announcing(2, 2)}\n${unsaid}`,
      ),
      member("coder", [look, said("Coded.")]),
    ]);
    for (const text of ["One", "Two", "Go"]) {
      made.bench.send(text);
      await made.bench.idle();
    }
    expect(leadEnds(made).at(-1)).toBe(failed);
    return made;
  };

  test("AG-31 EF-27: a compaction by hand tells nobody: the tries go on, then the result is there once", async () => {
    const made = await untold(said("A summary of all that."));
    made.bench.ok("compact", {});
    await made.bench.idle();
    expect(eventsAs(made, "compaction")).toHaveLength(1);
    await toRest(made);
    expect(leadEnds(made).filter((end) => end.startsWith("failed"))).toHaveLength(3);
    expect(rawIn(made)).toEqual([expect.stringContaining('"result":"Coded."')]);
  });

  test("AG-31 AP-18: a light run tells nobody: the tries go on, then the result is there once", async () => {
    const made = await untold(said("Heartbeat fine."));
    made.bench.send("Beat", { light: true });
    await made.bench.idle();
    expect(leadEnds(made).at(-1)).toBe("completed:end_turn");
    await toRest(made);
    expect(leadEnds(made).filter((end) => end === failed)).toHaveLength(3);
    expect(rawIn(made)).toEqual([expect.stringContaining('"result":"Coded."')]);
  });
});

test("AG-31 SE-3: a result that the model refuses to report is asked for again, in a chat that needs no repair", async () => {
  const made = await crew([
    member(
      "lead",
      [
        said(delegate("coder", { async: true })),
        said("Started."),
        "{ reply: [{ refusal: No. }], finish: refusal }",
        said("Told."),
      ],
      announcing(2, 2),
    ),
    member("coder", [said("Coded.")]),
  ]);
  made.bench.send("Go");
  await made.bench.idle();
  await toRest(made);
  expect(leadEnds(made).at(-1)).toBe("completed:end_turn");
  const texts = chatOf(made, "main").map(textsOf);
  expect(texts.slice(-3)).toEqual(["No.", expect.stringContaining("not been reported"), "Told."]);
  checkInvariants(made.bench, ["in_1"]);
});

test("AG-31 EF-27: a result that was compacted within the run that was to announce it is there once", async () => {
  const made = await crew([
    member(
      "lead",
      [
        said(delegate("coder", { async: true })),
        said("Started."),
        ...many(said(long, ["look", {}]), 4),
        said("A summary of all that."),
        ...many(look, 8),
      ],
      `${announcing(0, 8)}\n${unsaid}`,
    ),
    member("coder", [look, said("Coded.")]),
  ]);
  made.bench.send("Go");
  made.bench.hold = true;
  for (let round = 0; round < 60; round++) {
    await made.bench.steps();
    const { run, compact } = made.bench.state().threads["main"] ?? {};
    if (
      run?.announces === true &&
      run.turn === 4 &&
      compact === null &&
      eventsAs(made, "compaction").length === 0
    )
      made.bench.ok("compact", {});
    made.bench.release();
    made.bench.hold = true;
  }
  made.bench.release();
  await toRest(made);
  const { from, count } = eventsAs(made, "compaction")[0]?.data.retired ?? { from: "", count: 0 };
  expect(from).toBe("msg_main_0");
  expect(count).toBeGreaterThan(4);
  expect(leadEnds(made)).toEqual(["completed:end_turn", "failed:output_invalid"]);
  expect(rawIn(made)).toEqual([expect.stringContaining('"result":"Coded."')]);
});

test.each([
  ["between two tries of the first", false],
  ["in the last try of the first", true],
])("AG-31: a second result that comes %s has all its own", async (_, within) => {
  const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const made = await crew([
    member(
      "lead",
      [
        said(delegate("coder", { async: true }), delegate("writer", { async: true })),
        said("Started."),
        ...names.map((name) => said(["look", { name }])),
      ],
      announcing(1, 2),
    ),
    member("coder", [look, said("Coded.")]),
    member("writer", [said(["ask_user", { question: "Well?" }]), said("Written.")]),
  ]);
  const { bench, probe } = made;
  bench.send("Go");
  await bench.idle();
  expect(leadEnds(made)).toEqual(["completed:end_turn", failed]);
  if (within) {
    probe.instant = false;
    await bench.tick(2_000);
    await bench.steps();
    expect(bench.state().threads["main"]?.run?.announces).toBe(true);
  }
  const [ask] = Object.values(bench.state().asks);
  bench.ok("answer", { ask: ask?.id, decision: "answer", text: "Well." });
  for (let round = 0; round < 3; round++) await bench.steps();
  probe.instant = true;
  for (const call of probe.calls) call.finish();
  await toRest(made);
  expect(leadEnds(made)).toEqual(["completed:end_turn", failed, failed, failed]);
  expect(rawIn(made)).toEqual([expect.stringMatching(/"result":"Coded."[^]*"result":"Written."/)]);
  checkInvariants(bench, ["in_1"]);
});

describe("AG-30 AG-31: a result that a run at work could take", () => {
  const asked = member("coder", [said(["ask_user", { question: "Well?" }]), said("Coded.")]);
  const answered = ({ bench }: Crew): void => {
    const [ask] = Object.values(bench.state().asks);
    bench.ok("answer", { ask: ask?.id, decision: "answer", text: "Well." });
  };
  const finished = async ({ bench, probe }: Crew, calls: number): Promise<void> => {
    for (let round = 0; round < 3; round++) await bench.steps();
    expect(probe.calls).toHaveLength(calls);
    probe.instant = true;
    for (const call of probe.calls) call.finish();
  };

  test("★ AG-31 AP-18: is left by a light run to one that tells the person", async () => {
    const made = await crew(
      [
        member(
          "lead",
          [
            said(delegate("coder", { async: true })),
            said("Started."),
            look,
            said("Heartbeat fine."),
            said("The coder is done."),
          ],
          announcing(1, 4),
        ),
        asked,
      ],
      { instant: false },
    );
    made.bench.send("Go");
    for (let round = 0; round < 4; round++) await made.bench.steps();
    made.bench.send("Beat", { light: true });
    for (let round = 0; round < 3; round++) await made.bench.steps();
    answered(made);
    await finished(made, 1);
    await toRest(made);
    expect(leadEnds(made)).toEqual(Array.from({ length: 3 }, () => "completed:end_turn"));
    const seen = made.bench.requests.map(({ messages }) =>
      messages.some((each) => textsOf(each).includes('"result":"Coded."')),
    );
    expect(seen.filter(Boolean)).toHaveLength(1);
    expect(seen.at(-1)).toBe(true);
    expect(chatOf(made, "main").map(textsOf).at(-1)).toBe("The coder is done.");
    expect(rawIn(made)).toEqual([]);
    checkInvariants(made.bench, ["in_1", "in_2"]);
  });

  test("AG-31: and did, but then failed, is told by a run of its own, or is there once", async () => {
    const made = await crew(
      [
        member(
          "lead",
          [said(delegate("coder", { async: true })), look, look, ...many(look, 4)],
          announcing(1, 3),
        ),
        asked,
      ],
      { instant: false },
    );
    made.bench.send("Go");
    for (let round = 0; round < 4; round++) await made.bench.steps();
    answered(made);
    await finished(made, 1);
    await toRest(made);
    expect(leadEnds(made)).toEqual([failed, failed]);
    expect(rawIn(made)).toEqual([expect.stringContaining('"result":"Coded."')]);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-31: and did, but failed while a third waited, is among what is there at last", async () => {
    const made = await crew(
      [
        member(
          "lead",
          [
            said(
              delegate("coder", { async: true }),
              delegate("writer", { async: true }),
              delegate("editor", { async: true }),
            ),
            said("Started."),
            look,
            look,
            ...many(look, 8),
          ],
          announcing(0, 2),
        ),
        member("coder", [look, said("Coded.")]),
        member("writer", [look, said("Written.")]),
        member("editor", [look, said("Edited.")]),
      ],
      { instant: false },
    );
    const { bench, probe } = made;
    bench.send("Go");
    for (let round = 0; round < 4; round++) await bench.steps();
    const [coder, writer, editor] = probe.calls;
    expect(probe.calls).toHaveLength(3);
    for (const call of [coder, writer, editor]) {
      call?.finish();
      for (let round = 0; round < 4; round++) await bench.steps();
      for (const each of probe.calls.slice(3, call === coder ? 3 : 4)) each.finish();
      for (let round = 0; round < 4; round++) await bench.steps();
    }
    await finished(made, probe.calls.length);
    await toRest(made);
    const raw = rawIn(made).join("\n");
    expect(
      ["Coded.", "Written.", "Edited."].map((text) => raw.split(`"result":"${text}"`).length - 1),
    ).toEqual([1, 1, 1]);
    checkInvariants(bench, ["in_1"]);
  });
});
