import { describe, expect, test } from "vitest";
import type { Crew } from "../../support/crew.ts";
import {
  chatOf,
  childIds,
  crew,
  crewOf,
  delegate,
  endings,
  eventsAs,
  itemsOf,
  leadEnds,
  member,
  resultsOf,
  spawn,
  task,
  toRest,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, said } from "../../support/scripts.ts";
import { insist } from "../../support/power-cut.ts";
import { textsOf } from "../loop/play.ts";

const background = "delegation: { async: true, announce: { timeout: 60s, retries: 2, backoff: 2s } }";

const later = (agent: string) => delegate(agent, { async: true });

/** Messages that the runtime put into a chat. */
const toldIn = (made: Crew, thread = "main"): readonly string[] =>
  chatOf(made, thread)
    .filter(({ role, origin }) => role === "user" && origin === "agent")
    .map(textsOf);

describe("AG-30: background children", () => {
  const simple = [
    member("lead", [said(later("coder")), said("Started."), said("The coder is done.")], background),
    member("coder", [said(["look", {}]), said("Coded.")]),
  ];

  test("AG-30: the call returns at once; the end starts a run of the resting main, told once", async () => {
    const made = await crew(simple);
    made.bench.send("Go");
    await made.bench.idle();
    const [coder = ""] = childIds(made);
    expect(resultsOf(made)).toEqual([`ok: {"agent":"coder","child":"${coder}","state":"running"}`]);
    expect(endings(made)).toEqual([
      "lead completed:end_turn",
      "coder completed:end_turn",
      "lead completed:end_turn",
    ]);
    expect(toldIn(made)).toHaveLength(1);
    expect(toldIn(made)[0]).toContain('"result":"Coded."');
    const [, , second] = eventsAs(made, "run_start");
    expect(second?.data.inputs).toEqual([`in_${coder}_run_2`]);
    const purposes = eventsAs(made, "llm_request_preparing").map(({ data }) => data.purpose);
    expect(purposes).toEqual(["turn", "turn", "turn", "turn", "announce"]);
    expect(textsOf(chatOf(made, "main").at(-1) ?? { parts: [] })).toBe("The coder is done.");
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-30: a busy caller hears it at its next turn boundary, and nothing of its turn is skipped", async () => {
    const made = await crew(
      [
        member("lead", [said(later("coder")), said(["put", { name: "a" }]), done], background),
        member("coder", [said("Coded.")]),
      ],
      { instant: false },
    );
    made.bench.send("Go");
    await made.bench.steps();
    await made.bench.steps();
    for (const call of made.probe.calls) call.finish();
    await made.bench.idle();
    expect(resultsOf(made)[1]).toBe("ok: put(a) done");
    expect(endings(made).filter((end) => end.startsWith("lead"))).toHaveLength(1);
    expect(made.bench.requests.at(-1)?.messages.map(textsOf).join("\n")).toContain('"result":"Coded."');
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-30: calls to an agent with async: true always run in the background; a list waits for the others only", async () => {
    const made = await crew([
      member("lead", [said(spawn([task("coder"), task("writer")])), done, done]),
      member("coder", [said(["look", {}]), said(["look", {}]), said("Coded.")], "async: true"),
      member("writer", [said("Written.")]),
    ]);
    made.bench.send("Go");
    await made.bench.idle();
    expect(itemsOf(made)).toMatchObject([
      { agent: "coder", state: "running" },
      { agent: "writer", state: "completed", result: "Written." },
    ]);
    expect(toldIn(made)).toHaveLength(1);
  });

  test("AG-30: without delegation.async a task may not choose the background", async () => {
    const made = await crew([member("lead", [said(later("coder")), done]), member("coder", [done])]);
    made.bench.send("Go");
    await made.bench.idle();
    expect(resultsOf(made)[0]).toMatch(/^error: not_permitted: async: you may not leave coder/);
  });

  test("AG-30: a called agent ends only after its own background children, whose results it gets first", async () => {
    const made = await crew([
      member("lead", [said(delegate("coder")), done]),
      member("coder", [said(later("writer")), said("Nearly done."), said("Now I know.")], background),
      member("writer", [said(["look", {}]), said(["look", {}]), said("Written.")]),
    ]);
    made.bench.send("Go");
    await made.bench.idle();
    const [coder = ""] = childIds(made);
    expect(endings(made).map((end) => end.split(" ")[0])).toEqual(["writer", "coder", "lead"]);
    expect(toldIn(made, coder).at(-1)).toContain('"result":"Written."');
    expect(resultsOf(made)).toEqual(["ok: Now I know."]);
    const waits = eventsAs(made, "run_waiting").filter(({ thread }) => thread === coder);
    expect(waits.map(({ data }) => data.on)).toEqual([[{ kind: "thread" }]]);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-18 AG-30: cancelling main at rest cancels what it left in the background, and nothing starts by itself", async () => {
    const made = await crew(simple, { instant: false });
    made.bench.send("Go");
    await made.bench.steps();
    await made.bench.steps();
    expect(endings(made)).toEqual(["lead completed:end_turn"]);
    made.bench.ok("cancel", {});
    await made.bench.pass(5_000);
    expect(endings(made)).toEqual(["lead completed:end_turn", "coder cancelled:cancelled"]);
    expect(toldIn(made)).toEqual([]);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-30: cut at every write: the result is told exactly once", async () => {
    const open = await crewOf(simple);
    const play = async (made: Crew): Promise<void> => {
      insist(made.bench, "send", { id: "i1", content: "Go" }, "i1");
      await toRest(made);
      expect(toldIn(made)).toHaveLength(1);
      expect(childIds(made)).toHaveLength(1);
      checkInvariants(made.bench, ["i1"]);
    };
    const clean = open();
    const before = clean.bench.writes();
    await play(clean);
    const writes = clean.bench.writes() - before;
    for (let cut = 1; cut <= writes; cut++) {
      const made = open();
      made.bench.cutAt(cut);
      await play(made);
    }
  });
});

describe("AG-31: announcements", () => {
  /** Two turns are all a run has: an announcing run that looks twice fails. */
  const turns = `${background}\noptions: { max_iterations: 2 }`;
  const look = said(["look", {}]);
  const telling = (after: readonly string[], retries = 2) => [
    member(
      "lead",
      [said(later("coder")), said("Started."), ...after],
      turns.replace("retries: 2", `retries: ${retries}`),
    ),
    member("coder", [look, said("Coded.")]),
  ];
  test("AG-31: a failed announcement is tried again after backoff × 2ⁿ, without a second message", async () => {
    const looks = Array.from({ length: 6 }, () => look);
    const made = await crew(telling([...looks, said("The coder is done.")], 3));
    made.bench.send("Go");
    await made.bench.idle();
    for (const wait of [2_000, 4_000, 8_000]) {
      expect(made.bench.alarm()).toBe(made.bench.now() + wait);
      if (wait > 2_000) made.bench.crash();
      await made.bench.pass(wait);
    }
    expect(leadEnds(made)).toEqual([
      "completed:end_turn",
      ...Array.from({ length: 3 }, () => "failed:max_iterations"),
      "completed:end_turn",
    ]);
    expect(toldIn(made)).toHaveLength(1);
    expect(made.bench.state().threads["main"]?.announce).toBeNull();
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-31: the announcing run fails every time: the raw result is there once", async () => {
    const made = await crew(telling([look, look, look, look, look, look, said("And?")]));
    made.bench.send("Go");
    await toRest(made);
    const last = chatOf(made, "main").at(-1);
    expect(last).toMatchObject({ role: "assistant", origin: "agent" });
    expect(textsOf(last ?? { parts: [] })).toContain('"result":"Coded."');
    expect(leadEnds(made).filter((end) => end === "failed:max_iterations")).toHaveLength(3);
    expect(eventsAs(made, "message_added").at(-1)?.data.final).toBe(true);
    checkInvariants(made.bench, ["in_1"]);
    made.bench.send("And?");
    await made.bench.idle();
    expect(leadEnds(made).at(-1)).toBe("completed:end_turn");
  });

  test("AG-31: a person's own run that completes meanwhile ends the matter", async () => {
    const made = await crew(telling([look, look, said("It coded.")]));
    made.bench.send("Go");
    await made.bench.idle();
    made.bench.send("What came of it?");
    await made.bench.idle();
    expect(leadEnds(made).at(-1)).toBe("completed:end_turn");
    expect(made.bench.state().threads["main"]?.announce).toBeNull();
    expect(made.bench.alarm()).toBeNull();
  });

  test("AG-31: announce.timeout ends a run that tells too slowly", async () => {
    const slow = "delegation: { async: true, announce: { timeout: 30s, retries: 0 } }";
    const made = await crew(
      [
        member("lead", [said(later("coder")), said("Started."), said(["look", { name: "l" }]), done], slow),
        member("coder", [said(["look", { name: "c" }]), said("Coded.")]),
      ],
      { instant: false },
    );
    made.bench.send("Go");
    await made.bench.steps();
    await made.bench.steps();
    made.probe.calls.find(({ name }) => name === "c")?.finish();
    await made.bench.steps();
    await made.bench.tick(30_000);
    expect(leadEnds(made)).toEqual(["completed:end_turn", "failed:deadline_exceeded"]);
  });
});

describe("AG-32: looking after children", () => {
  const caring = (call: readonly [string, object], coder: readonly string[]) => [
    member("lead", [said(later("coder")), said(call), said(["check_children", {}]), done, done], background),
    member("coder", coder),
  ];
  const child = "{{results.delegate_to_agent.child}}";

  test("AG-32: check_children tells state, turns, usage and last text", async () => {
    const made = await crew(
      [
        member(
          "lead",
          [said(later("coder")), said(["look", { name: "l" }]), said(["check_children", {}]), done],
          background,
        ),
        member("coder", [said("Thinking aloud.", ["look", { name: "c" }]), said("Coded.")]),
      ],
      { instant: false },
    );
    made.bench.send("Go");
    await made.bench.steps();
    await made.bench.steps();
    made.probe.calls.find(({ name }) => name === "l")?.finish();
    await made.bench.steps();
    const [view] = JSON.parse((resultsOf(made)[2] ?? "").replace("ok: ", "")) as readonly object[];
    const [coder] = childIds(made);
    expect(view).toMatchObject({
      child: coder,
      agent: "coder",
      label: "coder-the-1",
      state: "running",
      task: "Do the coder's work",
      turns: 1,
      last_text: "Thinking aloud.",
    });
    made.probe.instant = true;
    for (const call of made.probe.calls) call.finish();
    await made.bench.idle();
  });

  test("AG-32: steer_child fills the inbox for the next model call; context and work stay", async () => {
    const made = await crew(
      caring(
        ["steer_child", { child, message: "Use tabs" }],
        [said(["look", {}]), said(["look", {}]), said("Coded.")],
      ),
    );
    made.bench.send("Go");
    await made.bench.idle();
    const [coder = ""] = childIds(made);
    expect(resultsOf(made)[1]).toBe(`ok: {"child":"${coder}","agent":"coder","state":"running"}`);
    expect(chatOf(made, coder).map(textsOf)).toContain("Use tabs");
    expect(toldIn(made)[0]).toContain('"result":"Coded."');
    expect(toldIn(made)[0]).not.toContain("warning");
  });

  test("AG-23 AG-32: a message that came before the report took effect brings another turn, whose report holds", async () => {
    const report = (summary: string) => ["task_complete", { status: "completed", summary }] as const;
    const made = await crew(
      [
        member(
          "lead",
          [said(later("coder")), said(["steer_child", { child, message: "Use tabs" }]), done, done],
          background,
        ),
        member("coder", [said(report("First."), ["look", {}]), said(report("Second."))]),
      ],
      { instant: false },
    );
    made.bench.send("Go");
    await made.bench.steps();
    await made.bench.steps();
    for (const call of made.probe.calls) call.finish();
    await made.bench.idle();
    const [coder = ""] = childIds(made);
    expect(resultsOf(made, coder)).toEqual(["ok: Reported.", "ok: look() done", "ok: Reported."]);
    expect(toldIn(made)).toHaveLength(1);
    expect(toldIn(made)[0]).toContain('"result":"Second."');
  });

  test("AG-32: only the caller looks after a child: to others it is unknown", async () => {
    const told = (id: string) => [
      member(
        "lead",
        [
          said(later("coder")),
          said(["look", { name: "l" }]),
          said(
            ["check_children", { child: id }],
            ["steer_child", { child: id, message: "x" }],
            ["cancel_child", { child: id }],
            ["answer_child", { child: id, question: "q_x", answer: "x" }],
          ),
          done,
          done,
        ],
        background,
      ),
      member("coder", [said(later("writer")), said("Nearly."), said("Coded.")], background),
      member("writer", [said(["look", { name: "w" }]), said("Written.")]),
    ];
    const play = async (id: string): Promise<Crew> => {
      const made = await crew(told(id), { instant: false });
      made.bench.send("Go");
      for (let round = 0; round < 3; round++) await made.bench.steps();
      made.probe.calls.find(({ name }) => name === "l")?.finish();
      await made.bench.steps();
      return made;
    };
    const [, writer = ""] = childIds(await play("t_none"));
    const made = await play(writer);
    expect(made.bench.state().threads[writer]?.agent).toBe("writer");
    const unknown = `error: child_not_found: you have no child ${writer}`;
    expect(resultsOf(made).slice(2)).toEqual([unknown, unknown, unknown, unknown]);
    for (const call of made.probe.calls) call.finish();
    await made.bench.idle();
    expect(endings(made)).toContain("writer completed:end_turn");
  });

  test("AG-32: cancel_child stops it, is idempotent, and its caller is not told again", async () => {
    const made = await crew([
      member(
        "lead",
        [
          said(later("coder")),
          said(["cancel_child", { child, reason: "changed my mind" }]),
          said(
            ["cancel_child", { child }],
            ["steer_child", { child, message: "x" }],
            ["cancel_child", { child: "t_none" }],
          ),
          done,
        ],
        background,
      ),
      member("coder", [said(["look", {}]), said(["look", {}]), said(["look", {}]), said("Coded.")]),
    ]);
    made.bench.send("Go");
    await made.bench.idle();
    const [coder = ""] = childIds(made);
    const [, first, second, steer, unknown] = resultsOf(made);
    expect(first).toBe(`ok: {"child":"${coder}","state":"cancelled"}`);
    expect(second).toBe(first);
    expect(steer).toBe(`error: child_ended: ${coder} has ended (cancelled): changed my mind`);
    expect(unknown).toBe("error: child_not_found: you have no child t_none");
    expect(toldIn(made)).toEqual([]);
    expect(endings(made)[0]).toBe("coder cancelled:cancelled");
    checkInvariants(made.bench, ["in_1"]);
  });

  test.each([
    ["nobody else is there", "delegation: { async: true }", []],
    ["nobody else is there to ask", "options: { interaction_mode: interactive }", []],
    ["nobody may be called", "delegation: { async: true, may_call: [] }", [member("coder", [done])]],
  ])("AG-20 AG-32: where %s, there is no tool to look after children", async (_, yaml, others) => {
    const made = await crew([member("lead", [done], yaml), ...others]);
    made.bench.send("Go");
    await made.bench.idle();
    const names = made.bench.requests[0]?.tools.map(({ name }) => name) ?? [];
    expect(names.filter((name) => name.endsWith("_child") || name.endsWith("_children"))).toEqual([]);
  });

  test("AG-14 AG-32: nameless agents in the background are looked after, too", async () => {
    const made = await crew([member("lead", [done], "delegation: { async: true, ad_hoc: true }")]);
    made.bench.send("Go");
    await made.bench.idle();
    expect(made.bench.requests[0]?.tools.map(({ name }) => name)).toContain("check_children");
  });

  test("AG-32: the tools exist only where background work or questions are configured", async () => {
    const names = async (yaml: string, coder = ""): Promise<readonly string[]> => {
      const made = await crew([member("lead", [done], yaml), member("coder", [done], coder)]);
      made.bench.send("Go");
      await made.bench.idle();
      return (
        made.bench.requests[0]?.tools
          .map(({ name }) => name)
          .filter((name) => name.endsWith("child") || name === "check_children") ?? []
      );
    };
    const all = ["check_children", "steer_child", "cancel_child", "answer_child"];
    expect(await names("")).toEqual([]);
    expect(await names(background)).toEqual(all);
    expect(await names("options: { interaction_mode: interactive }")).toEqual(all);
    expect(await names("", "async: true")).toEqual(all);
  });
});
