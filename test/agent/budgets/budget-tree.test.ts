import { describe, expect, test } from "vitest";
import type { Crew, CrewOptions } from "../../support/crew.ts";
import {
  childIds,
  coder,
  crew,
  delegate,
  endings,
  eventsAs,
  itemsOf,
  lead,
  mission,
  resultsOf,
  spawn,
  task,
  writer,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, said } from "../../support/scripts.ts";
import { dataOf, ends, onlyAsk, openAsks } from "../loop/play.ts";

/** Budgets of a tree of threads (AG-22, EF-38, EF-39): a child spends from everything above it. */

/** A dollar for a million tokens, whatever they are. */
const priced = "models: { play: { price: { input: 1, output: 1, cache_read: 1, cache_write: 1 } } }";

/** The same reply, claiming so many tokens. */
const claiming = (total: number, reply = done): string =>
  reply.replace(/ \}$/, `, usage: { input: ${total - 10}, output: 10 } }`);

const limit = (keys: string, more = ""): string =>
  `guards: { tool_loops: false, budget: { ${keys} } }\n${more}`;

/** Lets all children of `lead` be asked at once. */
const wide = "delegation: { max_children_per_call: 8 }";

const many = "sessions: { max_running_threads: 8 }";

const inLedger = ({ bench }: Crew): number => bench.ledger().reduce((sum, { usage }) => sum + usage.total, 0);

/** Model calls at the same time, at most. */
const mostAtOnce = ({ bench }: Crew): number => {
  let open = 0;
  let most = 0;
  for (const { type } of bench.events()) {
    if (type === "llm_request_start") open += 1;
    if (type === "llm_finish" || type === "attempt_aborted") open -= 1;
    most = Math.max(most, open);
  }
  return most;
};

const eight = (reply: string, yaml: string, options: CrewOptions = {}): Promise<Crew> =>
  mission(
    [
      lead(
        [
          said(
            spawn(
              Array.from({ length: 8 }, () => task("coder")),
              { on_error: "collect" },
            ),
          ),
          done,
        ],
        yaml,
      ),
      coder([reply, reply, reply]),
    ],
    { team: many, ...options },
  );

describe("EF-39: one account for the tree", () => {
  test("EF-39 AG-22: what children spend is booked on everything above, once", async () => {
    const made = await mission([
      lead([said(spawn([task("coder"), task("writer")])), claiming(700)]),
      coder([claiming(1_000, said(delegate("writer"))), claiming(300)]),
      writer([claiming(500)]),
    ]);
    expect(endings(made)).toEqual([
      "writer completed:end_turn",
      "writer completed:end_turn",
      "coder completed:end_turn",
      "lead completed:end_turn",
    ]);
    const total = inLedger(made);
    expect(made.bench.state().spent.usage.total).toBe(total);
    const usage = eventsAs(made, "run_end").map(({ agent, data }) => [agent.name, data.result.usage.total]);
    expect(usage).toEqual([
      ["writer", 500],
      ["writer", 500],
      ["coder", 1_000 + 300 + 500],
      ["lead", total],
    ]);
    expect(made.bench.state().spent.toolCalls).toBe(2);
    expect(eventsAs(made, "run_end").at(-1)?.data.result.cost_usd).toBe(0);
  });

  test("EF-38 AG-9 ★: three children with room for all: their calls are open at the same time", async () => {
    const members = [
      lead([said(spawn([task("coder"), task("coder"), task("coder")])), done], limit("max_tokens: 90000")),
      coder([done]),
    ];
    expect(mostAtOnce(await mission(members))).toBe(3);
  });

  test("EF-38: with room for one call the others wait until it has ended, and go on by themselves", async () => {
    const made = await mission([
      lead([said(spawn([task("coder"), task("coder"), task("coder")])), done], limit("max_tokens: 12000")),
      coder([claiming(900)], "max_tokens: 8000"),
    ]);
    expect(mostAtOnce(made)).toBe(1);
    expect(endings(made)).toEqual([
      ...Array.from({ length: 3 }, () => "coder completed:end_turn"),
      "lead completed:end_turn",
    ]);
    expect(dataOf(made.bench, "budget_reached")).toEqual([]);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("EF-38: cost is kept back as tokens are", async () => {
    const made = await mission(
      [
        lead(
          [said(spawn([task("coder"), task("coder"), task("coder")])), done],
          limit("max_cost_usd: 0.012"),
        ),
        coder([claiming(900)], "max_tokens: 8000"),
      ],
      { team: priced },
    );
    expect(mostAtOnce(made)).toBe(1);
    expect(ends(made.bench)).toHaveLength(4);
    expect(ends(made.bench).every((end) => end === "completed:end_turn")).toBe(true);
  });

  test("EF-39: what a child's sibling keeps back is not taken from the child's own budget", async () => {
    const made = await mission([
      lead([said(spawn([task("coder"), task("coder")])), done]),
      coder([claiming(900)], limit("max_tokens: 9000", "max_tokens: 8000")),
    ]);
    expect(mostAtOnce(made)).toBe(2);
    expect(ends(made.bench)).toHaveLength(3);
  });

  test("EF-38: the wait holds no slot, needs no clock, and survives a crash", async () => {
    const made = await crew(
      [
        lead([said(spawn([task("coder"), task("writer")])), done], limit("max_tokens: 12000")),
        coder([claiming(900)], "max_tokens: 8000"),
        writer([claiming(900)], "max_tokens: 8000"),
      ],
      { team: "sessions: { max_running_threads: 1 }" },
    );
    const { bench } = made;
    bench.send("Go");
    await bench.steps();
    bench.crash();
    await bench.idle();
    expect(ends(bench).at(-1)).toBe("completed:end_turn");
    expect(mostAtOnce(made)).toBe(1);
    checkInvariants(bench, ["in_1"]);
  });

  test("EF-38: three children on one root budget: their sum stays below it, but for the last call's estimate", async () => {
    const spender = claiming(3_000, said(["look", {}]));
    const made = await mission([
      lead(
        [said(spawn([task("coder"), task("coder"), task("coder")], { on_error: "collect" })), done],
        limit("max_tokens: 20000"),
      ),
      coder(
        Array.from({ length: 40 }, () => spender),
        "max_tokens: 1000",
      ),
    ]);
    expect(ends(made.bench).at(-1)).toBe("failed:budget_exceeded");
    const spent = made.bench.state().spent.usage.total;
    expect(spent).toBeGreaterThan(15_000);
    expect(spent).toBeLessThanOrEqual(20_000 + 3 * 3_000);
    expect(inLedger(made)).toBe(spent);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-22: root $0.10 with 8 children: the tree stops within one call of the cap", async () => {
    const made = await eight(claiming(9_000, said(["look", {}])), limit("max_cost_usd: 0.1", wide), {
      team: `${priced}\n${many}`,
    });
    const usd = made.bench.state().spent.cost / 1e9;
    expect(usd).toBeGreaterThan(0.08);
    expect(usd).toBeLessThanOrEqual(0.1 + 8 * 0.009);
    expect(ends(made.bench).at(-1)).toBe("failed:budget_exceeded");
    expect(made.bench.state().threads["main"]?.run).toBeNull();
    expect(Object.keys(made.bench.state().threads)).toEqual(["main"]);
    const after = made.bench.requests.length;
    await made.bench.pass(3_600_000);
    expect(made.bench.requests).toHaveLength(after);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("EF-38: reservations hold although eight ask at once: no two are granted what only one can have", async () => {
    const made = await crew(
      [
        lead(
          [
            said(
              spawn(
                Array.from({ length: 8 }, () => task("coder")),
                { on_error: "collect" },
              ),
            ),
            done,
          ],
          limit("max_tokens: 30000", wide),
        ),
        coder([claiming(2_000)], "max_tokens: 8000"),
      ],
      { team: many },
    );
    const { bench } = made;
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.release();
    bench.hold = true;
    await bench.steps();
    const holds = Object.values(bench.state().threads).flatMap(({ run }) =>
      run?.phase.at === "thinking" ? [run.phase.call.reservation.tokens] : [],
    );
    const spent = bench.state().threads["main"]?.run?.spent.usage.total ?? 0;
    expect(holds.length).toBeGreaterThan(1);
    expect(holds.length).toBeLessThan(8);
    expect(holds.reduce((sum, tokens) => sum + tokens, spent)).toBeLessThanOrEqual(30_000);
    bench.release();
    await bench.idle();
    expect(ends(bench).at(-1)).toBe("completed:end_turn");
  });
});

describe("AG-22: whose exhaustion ends what", () => {
  test("AG-22 AG-25: a child's own budget ends only the child, and its caller reads why", async () => {
    const made = await mission([
      lead([said(spawn([task("coder"), task("writer")], { on_error: "collect" })), said("I go on.")]),
      coder([claiming(4_000, said("Half of it", ["look", {}])), done], limit("max_tokens: 4200")),
      writer([said("Written.")]),
    ]);
    expect(endings(made)).toEqual([
      "writer completed:end_turn",
      "coder failed:budget_exceeded",
      "lead completed:end_turn",
    ]);
    const items = itemsOf(made);
    expect(items.map(({ state, reason }) => [state, reason])).toEqual([
      ["failed", "budget_exceeded"],
      ["completed", "end_turn"],
    ]);
    expect(items[0]?.completion).toMatchObject({
      summary: "Half of it",
      caveats: [expect.stringContaining("max_tokens: 4000 of 4200 tokens")],
    });
  });

  test("AG-22: a budget above is the smaller one: the child stops with the tree, and its call has its result", async () => {
    const made = await mission([
      lead([said(delegate("coder")), done], limit("max_tokens: 6000")),
      coder(
        Array.from({ length: 9 }, () => claiming(2_500, said(["look", {}]))),
        limit("max_tokens: 100000", "max_tokens: 300"),
      ),
    ]);
    expect(endings(made)).toEqual(["coder cancelled:cancelled", "lead failed:budget_exceeded"]);
    expect(eventsAs(made, "run_end").at(-1)?.data.error?.detail).toMatch(
      /^max_tokens: \d+ of 6000 tokens are spent/,
    );
    expect(eventsAs(made, "budget_reached").map(({ thread }) => thread)).toEqual(["main"]);
    expect(resultsOf(made)).toHaveLength(1);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-22: a child whose own budget is over ends, though one above could be asked for more", async () => {
    const made = await mission([
      lead([said(delegate("coder")), said("So be it.")], limit("max_tokens: 6000, on_exceeded: ask")),
      coder([claiming(4_900, said(["look", {}])), done], limit("max_tokens: 5000", "max_tokens: 300")),
    ]);
    expect(endings(made)[0]).toBe("coder failed:budget_exceeded");
    expect(eventsAs(made, "budget_reached")[0]?.thread).not.toBe("main");
  });

  test("AG-22: a limit of calls counts below it, too", async () => {
    const { bench, probe } = await mission([
      lead([said(delegate("coder")), said("So be it.")], limit("max_tool_calls: 2")),
      coder([said(["look", {}], ["look", {}]), said("I could not.")]),
    ]);
    expect(probe.calls).toHaveLength(1);
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
  });

  test("EF-39: the session's budget bounds the tree, and its next input is refused", async () => {
    const made = await mission(
      [
        lead([said(delegate("coder")), done]),
        coder(
          Array.from({ length: 9 }, () => claiming(2_500, said(["look", {}]))),
          "max_tokens: 300",
        ),
      ],
      { create: { budget: { max_tokens: 6_000 } } },
    );
    expect(endings(made)).toEqual(["coder cancelled:cancelled", "lead failed:budget_exceeded"]);
    expect(eventsAs(made, "budget_reached")[0]?.data).toMatchObject({
      scope: "session",
      kind: "max_tokens",
      limit: 6_000,
    });
    expect(made.bench.perform("send", { content: "More" })).toMatchObject({
      ok: false,
      problem: { code: "budget_exceeded" },
    });
  });
});

describe("EF-37: a tree that asks", () => {
  const team = [
    lead(
      [said(spawn([task("coder"), task("coder")], { on_error: "collect" })), done],
      limit("max_tokens: 5000, on_exceeded: ask"),
    ),
    coder([claiming(2_500, said(["look", {}])), claiming(500)], "max_tokens: 300"),
  ];

  test.each(["now", "after_turn"])(
    "SE-31 EF-37: a stop (%s) ends what waits for more, and its question",
    async (mode) => {
      const made = await mission(team);
      const { bench } = made;
      const sent = bench.requests.length;
      bench.ok("cancel", { mode });
      await bench.idle();
      expect(endings(made)).toEqual([
        "coder cancelled:cancelled",
        "coder cancelled:cancelled",
        "lead cancelled:cancelled",
      ]);
      expect(openAsks(bench)).toEqual([]);
      expect(dataOf(bench, "ask_cancelled")).toHaveLength(1);
      expect(bench.requests).toHaveLength(sent);
      expect(bench.alarm()).toBeNull();
      checkInvariants(bench, ["in_1"]);
    },
  );

  test("EF-37 AG-22: one ask at the top; everything below waits for it and goes on", async () => {
    const made = await mission(team);
    const { bench } = made;
    const ask = bench.state().asks[onlyAsk(bench)];
    expect(ask).toMatchObject({ thread: "main", budget: { scope: "run", limit: 5_000 } });
    expect(bench.ok("get")).toMatchObject({ status: "waiting" });
    expect(eventsAs(made, "run_waiting").at(-1)?.data.on[0]).toMatchObject({
      kind: expect.stringMatching(/budget|ask|thread/),
    });
    const sent = bench.requests.length;
    await bench.pass(3_600_000);
    expect(bench.requests).toHaveLength(sent);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 50_000 });
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn", "completed:end_turn"]);
    expect(openAsks(bench)).toEqual([]);
    checkInvariants(bench, ["in_1"]);
  });

  test("AG-37 EF-37: while a person is asked for more, active time stands still in the whole tree", async () => {
    const active = "middleware: [{ kind: timeout, params: { duration: 10m, count: active } }]";
    const { bench } = await mission(team.map((member) => ({ ...member, yaml: `${member.yaml}\n${active}` })));
    await bench.pass(3_600_000);
    expect(ends(bench)).toEqual([]);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 50_000 });
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn", "completed:end_turn"]);
  });

  test.each([
    ["an expiry", null],
    ["a no", "deny"],
  ])("EF-37 AG-22: %s ends the tree", async (_, decision) => {
    const made = await mission(team);
    const { bench } = made;
    if (decision === null) await bench.pass(86_400_000);
    else bench.ok("answer", { ask: onlyAsk(bench), decision });
    await bench.idle();
    expect(ends(bench).at(-1)).toBe("failed:budget_exceeded");
    expect(childIds(made)).toHaveLength(2);
    expect(Object.keys(bench.state().threads)).toEqual(["main"]);
    checkInvariants(bench, ["in_1"]);
  });

  test("EF-37: a child that asks for itself lets its siblings go on", async () => {
    const made = await mission([
      lead([said(spawn([task("coder"), task("writer")])), done]),
      coder([claiming(4_000, said(["look", {}])), done], limit("max_tokens: 4200, on_exceeded: ask")),
      writer([said(["look", {}]), done]),
    ]);
    const { bench } = made;
    expect(endings(made)).toEqual(["writer completed:end_turn"]);
    const ask = bench.state().asks[onlyAsk(bench)];
    expect(ask?.thread).not.toBe("main");
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 20_000 });
    await bench.idle();
    expect(endings(made).slice(1)).toEqual(["coder completed:end_turn", "lead completed:end_turn"]);
  });

  test("EF-37 AG-22: calls of a child wait for more of the tree's", async () => {
    const made = await mission([
      lead([said(delegate("coder")), done], limit("max_tool_calls: 1, on_exceeded: ask")),
      coder([said(["look", { name: "a" }]), done]),
    ]);
    const { bench, probe } = made;
    expect(probe.calls).toEqual([]);
    bench.crash();
    await bench.idle();
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 5 });
    await bench.idle();
    expect(probe.names()).toEqual(["look(a)"]);
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
  });

  test("EF-37 AP-41: agents in the background ask for more of the session each by itself; one answer that is enough is for all", async () => {
    const background = (agent: string) => delegate(agent, { async: true });
    const { bench } = await crew(
      [
        lead(
          [
            claiming(100, said(background("coder"), background("writer"))),
            claiming(100, done),
            ...[done, done].map((each) => claiming(100, each)),
          ],
          "delegation: { async: true }",
        ),
        coder([claiming(2_000, said(["look", {}])), claiming(100, done)]),
        writer([claiming(2_000, said(["look", {}])), claiming(100, done)]),
      ],
      { create: { budget: { max_tokens: 4_000, on_exceeded: "ask" } } },
    );
    bench.send("Go");
    await bench.idle();
    const [first = "", second = ""] = openAsks(bench);
    expect(bench.state().asks[second]?.budget).toMatchObject({ scope: "session", limit: 4_000 });
    bench.ok("answer", { ask: first, decision: "approve", limit: 90_000 });
    expect(openAsks(bench)).toEqual([]);
    await bench.idle();
    expect(bench.ok("get")).toMatchObject({ budget: { max_tokens: { limit: 90_000, scope: "session" } } });
    expect(new Set(endings({ bench }))).toEqual(
      new Set(["lead completed:end_turn", "coder completed:end_turn", "writer completed:end_turn"]),
    );
    checkInvariants(bench, ["in_1"]);
  });

  test("SE-29 AG-22: without anybody to ask the tree stops at once", async () => {
    const made = await mission(team, { create: { interactive: false } });
    expect(ends(made.bench).at(-1)).toBe("failed:budget_exceeded");
    expect(eventsAs(made, "ask_expired")).toHaveLength(1);
    checkInvariants(made.bench, ["in_1"]);
  });
});
