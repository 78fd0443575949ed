import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool, parkCallOn } from "../../../src/tools/define-tool.ts";
import {
  chatOf,
  childIds,
  crew,
  delegate,
  endings,
  eventsAs,
  itemsOf,
  member,
  mission,
  resultsOf,
  spawn,
  task,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, said } from "../../support/scripts.ts";
import { openAsks, textsOf } from "../loop/play.ts";

describe("AG-13 AG-14 AG-27: ways to call", () => {
  test("AG-13: persistent continues the one thread of the agent; a new task finds the old conversation", async () => {
    const again = (words: string) => delegate("coder", { persistent: true, task: words });
    const made = await mission([
      member("lead", [said(again("First")), said(again("Second")), done]),
      member("coder", [said("One."), said("Two.")]),
    ]);
    expect(resultsOf(made)).toEqual(["ok: One.", "ok: Two."]);
    const [coder = "", ...others] = childIds(made);
    expect(others).toEqual([]);
    expect(chatOf(made, coder).map(textsOf)).toEqual(["First", "One.", "Second", "Two."]);
    made.bench.crash();
    expect(made.bench.state().threads[coder]?.child?.idle).toBe(true);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-13 AG-24 AG-25: what a persistent agent said in an earlier task is not the last text of a later one", async () => {
    const again = (words: string) => delegate("coder", { persistent: true, task: words });
    const silent = said(["look", {}]);
    const made = await mission([
      member(
        "lead",
        [said(again("First")), said(again("Second")), said(["check_children", {}]), done],
        "options: { interaction_mode: interactive }",
      ),
      member("coder", [said("One."), silent, silent], "options: { max_iterations: 2 }"),
    ]);
    expect(resultsOf(made)[1]).toMatch(/^error: failed: .* ended with max_iterations/);
    expect(resultsOf(made)[1]).not.toContain("One.");
    expect(resultsOf(made)[2]).toContain('"last_text":""');
  });

  test("AG-13: a persistent thread that is at work is child_busy", async () => {
    const twice = [task("coder", { persistent: true }), task("coder", { persistent: true })];
    const made = await mission([
      member("lead", [said(spawn(twice, { on_error: "collect" })), done]),
      member("coder", [done]),
    ]);
    expect(itemsOf(made).map(({ state, reason }) => `${state} ${reason}`)).toEqual([
      "completed end_turn",
      "failed child_busy",
    ]);
  });

  test("AG-13 EF-27 SE-46: a kept thread that is being compacted when its caller ends leaves with a finished run", async () => {
    const kept = said(delegate("coder", { persistent: true }));
    const { bench, probe } = await crew(
      [
        member("lead", [said(delegate("writer")), done]),
        member("writer", [kept, kept, said(["fire", {}]), done]),
        {
          name: "coder",
          script: `scenes:
  - { name: tells, when: { purpose: compaction }, reply: [{ text: Told. }] }
  - { name: says, reply: [{ text: { repeat: "word ", times: 4000 } }] }`,
        },
      ],
      { instant: false },
    );
    bench.send("Go");
    for (let turn = 0; turn < 5; turn++) await bench.steps();
    const [, coder = ""] = childIds({ bench });
    bench.hold = true;
    bench.ok("compact", { thread: coder });
    await bench.steps();
    expect(bench.requests.at(-1)?.context).toMatchObject({ thread: coder, purpose: "compaction" });
    for (const call of probe.calls) call.finish();
    await bench.steps();
    bench.release();
    await bench.idle();
    expect(endings({ bench })).toEqual([
      "coder completed:end_turn",
      "coder completed:end_turn",
      "writer completed:end_turn",
      "coder cancelled:cancelled",
      "lead completed:end_turn",
    ]);
    checkInvariants(bench, ["in_1"]);
  });

  test("AG-14: an ad-hoc agent has the caller's tools without those for agents, its own prompt, and its turns", async () => {
    const prompt = "Count limpets.";
    const made = await mission([
      member(
        "lead",
        [
          said(["spawn_agent", { task: "Count", system_prompt: prompt, max_turns: 2 }]),
          ...Array.from({ length: 4 }, () => said(["look", {}])),
        ],
        "delegation: { ad_hoc: true }",
      ),
    ]);
    const [child = ""] = childIds(made);
    const request = made.bench.requests.find(({ context }) => context.thread === child);
    expect(request?.system).toContain(prompt);
    expect(request?.system).not.toContain("You are lead");
    const names = request?.tools.map(({ name }) => name) ?? [];
    expect(names).toContain("look");
    expect(names).toContain("task_complete");
    expect(names.filter((name) => /agent|child/.test(name))).toEqual([]);
    expect(endings(made)[0]).toBe("lead failed:max_iterations");
    expect(eventsAs(made, "turn_start").filter(({ thread }) => thread === child)).toHaveLength(2);
  });

  test("AG-14: it has its caller's provider, also one that the caller was given", async () => {
    const made = await mission([
      member("lead", [said(delegate("coder")), done], "delegation: { model: p_writer }"),
      member("coder", [done], "delegation: { ad_hoc: true }"),
      member("writer", [said(["spawn_agent", { task: "Count" }]), done, done]),
    ]);
    const [coder, nameless] = childIds(made);
    const usedBy = (thread: string | undefined): readonly string[] => [
      ...new Set(
        eventsAs(made, "llm_request_start").flatMap((event) =>
          event.thread === thread ? event.data.provider : [],
        ),
      ),
    ];
    expect([usedBy(coder), usedBy(nameless)]).toEqual([["p_writer"], ["p_writer"]]);
  });

  test("AG-14: without delegation.ad_hoc there is no spawn_agent", async () => {
    const made = await mission([
      member("lead", [said(["spawn_agent", { task: "Count" }]), done]),
      member("coder", [done]),
    ]);
    expect(resultsOf(made)).toEqual(["denied: not_permitted: lead may not use spawn_agent"]);
  });

  test("AG-27: a child's question goes to the person, labelled with the child", async () => {
    const made = await crew([
      member("lead", [said(delegate("coder")), done]),
      member("coder", [said(["ask_user", { question: "Tabs?" }]), said("Thanks.")]),
    ]);
    made.bench.send("Go");
    await made.bench.idle();
    const [ask = ""] = openAsks(made.bench);
    const [coder = ""] = childIds(made);
    const { data } = made.bench.ok("asks") as unknown as { data: readonly object[] };
    expect(data[0]).toMatchObject({ thread: coder, agent: "coder", label: "coder-the-1" });
    expect(made.bench.ok("get")).toMatchObject({ status: "waiting" });
    made.bench.ok("answer", { ask, decision: "answer", text: "Yes" });
    await made.bench.idle();
    expect(resultsOf(made, coder)).toEqual(["ok: Yes"]);
    expect(resultsOf(made)).toEqual(["ok: Thanks."]);
  });

  test("AG-8: a provider may be chosen among delegation.providers, no other", async () => {
    const made = await mission([
      member(
        "lead",
        [
          said(delegate("coder", { provider: "p_writer" })),
          said(delegate("coder", { provider: "p_lead" })),
          done,
        ],
        "delegation: { providers: [p_writer] }",
      ),
      member("coder", [said("By the coder's model.")]),
      member("writer", [said("By the writer's model.")]),
    ]);
    expect(resultsOf(made)).toEqual([
      "ok: By the writer's model.",
      "error: not_permitted: provider: you may not choose p_lead; choose among p_writer, or leave it out",
    ]);
  });

  test("CF: delegation.model is the model of children that name none", async () => {
    const made = await mission([
      member("lead", [said(spawn([task("coder"), task("writer")])), done], "delegation: { model: p_writer }"),
      member("coder", [said("No.")]),
      member("writer", [said("Written.")], "model: play"),
    ]);
    expect(itemsOf(made).map(({ result }) => result)).toEqual(["Written.", "Written."]);
    expect(made.bench.requests.filter(({ context }) => context.agent === "coder")).toHaveLength(1);
  });

  test("AG-32: a child that has 20 messages to read takes no more", async () => {
    const child = "{{results.delegate_to_agent.child}}";
    const steers = Array.from({ length: 21 }, () => ["steer_child", { child, message: "Hurry" }] as const);
    const { bench } = await crew(
      [
        member(
          "lead",
          [said(delegate("coder", { async: true })), said(...steers), done],
          "delegation: { async: true }",
        ),
        member("coder", [said(["look", {}]), done]),
      ],
      { instant: false },
    );
    bench.send("Go");
    for (let turn = 0; turn < 4; turn++) await bench.steps();
    const answers = resultsOf({ bench }).slice(1);
    expect(answers.slice(0, 20).every((each) => each.startsWith("ok: "))).toBe(true);
    expect(answers.slice(20)).toEqual([expect.stringMatching(/^error: limit: 20 messages wait for it/)]);
  });

  test("AG-22: of a task's timeout_seconds and the agent's own time the shorter ends it", async () => {
    const own = (seconds: number): string =>
      `middleware: [{ kind: timeout, params: { duration: ${seconds}s, count: wall } }]`;
    for (const [given, yaml] of [
      [10, ""],
      [10, own(60)],
      [60, own(10)],
    ] as const) {
      const made = await crew(
        [
          member("lead", [said(spawn([task("coder", { timeout_seconds: given })])), done]),
          member("coder", [said(["look", {}]), done], yaml),
        ],
        { instant: false },
      );
      made.bench.send("Go");
      await made.bench.steps();
      await made.bench.tick(9_999);
      expect(endings(made)).toEqual([]);
      await made.bench.tick(1);
      await made.bench.pass(5_000);
      expect(itemsOf(made)[0]).toMatchObject({ state: "failed", reason: "deadline_exceeded" });
    }
  });

  test("SE-14 AG-16: the session's own output schema is for the person's answer, not for a child's", async () => {
    const made = await mission(
      [member("lead", [said(delegate("coder")), said('{"done":true}')]), member("coder", [said("No JSON.")])],
      { create: { output_schema: { type: "object", required: ["done"] } } },
    );
    expect(resultsOf(made)).toEqual(["ok: No JSON."]);
    expect(endings(made)).toEqual(["coder completed:end_turn", "lead completed:end_turn"]);
  });

  test("MO-38: a model that the session chose is main's; with scope tree its children's, too", async () => {
    for (const [scope, provider] of [
      ["main", "p_coder"],
      ["tree", "p_writer"],
    ] as const) {
      const made = await crew([
        member("lead", [done]),
        member("coder", [said("By the coder.")]),
        member("writer", [said(delegate("coder")), done]),
      ]);
      made.bench.ok("patch", { model: "p_writer", scope });
      made.bench.send("Go");
      await made.bench.idle();
      const asked = eventsAs(made, "llm_request_start");
      expect(asked[0]?.data.provider).toBe("p_writer");
      expect(asked.find(({ thread }) => thread !== "main")?.data.provider).toBe(provider);
    }
  });

  test("MO-38: a model that the session chose for the tree stands before the provider that a call chose", async () => {
    const made = await crew([
      member("lead", [done], "delegation: { providers: [p_coder] }"),
      member("coder", [said("By the coder.")]),
      member("writer", [said(delegate("coder", { provider: "p_coder" })), done]),
    ]);
    made.bench.ok("patch", { model: "p_writer", scope: "tree" });
    made.bench.send("Go");
    await made.bench.idle();
    const child = eventsAs(made, "llm_request_start").find(({ thread }) => thread !== "main");
    expect(child?.data.provider).toBe("p_writer");
  });

  test("MO-38: the scope of a chosen model can be changed alone, and a change is told", async () => {
    const made = await crew([
      member("lead", [done]),
      member("coder", [said("By the coder.")]),
      member("writer", [said(delegate("coder")), done]),
    ]);
    const { bench } = made;
    bench.ok("patch", { model: "p_writer" });
    bench.ok("patch", { scope: "tree" });
    bench.ok("patch", { scope: "tree" });
    bench.send("Go");
    await bench.idle();
    const changes = eventsAs(made, "model_changed").map(({ data }) => data);
    expect(changes).toMatchObject([{ to: "p_writer", scope: "main" }, { scope: "tree" }]);
    const child = eventsAs(made, "llm_request_start").find(({ thread }) => thread !== "main");
    expect(child?.data.provider).toBe("p_writer");
  });

  test("AG-19 TB-38: the tools of the session's caller go to a child only where every caller lends its tools", async () => {
    const client = [{ name: "beep", description: "Beeps.", params: { type: "object" } }];
    const offered = async (inherit: string): Promise<boolean> => {
      const made = await mission(
        [
          member("lead", [said(delegate("coder")), done], `delegation: { inherit: ${inherit} }`),
          member("coder", [done]),
        ],
        { create: { client_tools: client } },
      );
      const [own, called] = made.bench.requests.map(({ tools }) => tools.some(({ name }) => name === "beep"));
      expect(own).toBe(true);
      return called ?? false;
    };
    expect(await offered("own")).toBe(false);
    expect(await offered("intersect")).toBe(false);
    expect(await offered("union")).toBe(true);
  });

  test("TB-7 TB-8: calling an agent may need a person, and what is remembered covers that agent alone", async () => {
    const ask = "permissions: { preset: open, rules: [{ tool: delegate_to_agent, action: ask }] }";
    const made = await crew([
      member("lead", [said(delegate("Coder")), said(delegate("coder")), said(delegate("writer")), done], ask),
      member("coder", [said("Coded.")]),
      member("writer", [said("Written.")]),
    ]);
    made.bench.send("Go");
    await made.bench.idle();
    const answerOpen = async (remember: string): Promise<void> => {
      const [open = "", ...more] = openAsks(made.bench);
      expect(more).toEqual([]);
      made.bench.ok("answer", { ask: open, decision: "approve", remember });
      await made.bench.idle();
    };
    expect(childIds(made)).toEqual([]);
    await answerOpen("session");
    expect(resultsOf(made)).toEqual(["ok: Coded.", "ok: Coded."]);
    await answerOpen("once");
    expect(resultsOf(made).at(-1)).toBe("ok: Written.");
  });

  test("AG-9: a tool of a team's own may start children by parking on them", async () => {
    const both = defineTool({
      name: "both",
      description: "Calls both.",
      params: z.strictObject({}),
      safety: "idempotent",
      run: () =>
        parkCallOn({
          on: "thread",
          tasks: [
            { agent: "coder", task: "Code", context: "" },
            { agent: "writer", task: "Write", context: "" },
          ],
          on_error: "collect",
          answer: "items",
        }),
    });
    const made = await mission(
      [
        member("lead", [said(["both", {}]), done]),
        member("coder", [said("Coded.")]),
        member("writer", [said("Written.")]),
      ],
      { tools: [both] },
    );
    expect(itemsOf(made).map(({ result }) => result)).toEqual(["Coded.", "Written."]);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("SE-16: an invalid `parked` value is an error of the tool, and the session goes on", async () => {
    const odd = defineTool({
      name: "odd",
      description: "Waits for something odd.",
      params: z.strictObject({}),
      safety: "idempotent",
      run: () => parkCallOn({ on: "thread", tasks: "coder", on_error: "collect", answer: "items" } as never),
    });
    const made = await mission([member("lead", [said(["odd", {}]), done]), member("coder", [done])], {
      tools: [odd],
    });
    expect(resultsOf(made)).toEqual(["error: failed: the tool returned a `parked` value that is no wait"]);
  });
});
