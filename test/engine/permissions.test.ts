import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { benchOf, eventsOf, lastText, refused } from "./harness.ts";

/** Three calls of every class, then an answer. */
const calls = (...names: string[]): string =>
  `replies: [{ reply: [${names.map((name, at) => `{ call: ${name}, args: { name: "${at}" } }`).join(", ")}] }, { reply: [{ text: done }] }]`;

const yaml = (replies: string, agent = "", team = ""): string =>
  scripted(replies, agent, team).replace("    permissions: { preset: open }\n", "");

const started = async (text: string, create: object = {}) => {
  const probe = createProbe();
  const bench = await benchOf(text, { toolboxes: [probe.toolbox] }, create);
  bench.send("Go");
  await bench.idle();
  return { bench, probe };
};

const asks = (bench: Bench) => Object.values(bench.state().asks);

const tools = ["look", "put", "fire"];
const verdicts = {
  sandboxed: ["ran", "asked", "asked"],
  ask: ["ran", "asked", "asked"],
  open: ["ran", "ran", "ran"],
  locked: ["ran", "denied", "denied"],
};

const verdictOn = async (tool: string, agent: string, team: string): Promise<string> => {
  const { bench, probe } = await started(yaml(calls(tool), agent, team));
  if (probe.calls.length > 0) return "ran";
  return asks(bench).length > 0 ? "asked" : "denied";
};

test("TB-6: the presets of team and agent decide over custom tools by their class", async () => {
  for (const [preset, expected] of Object.entries(verdicts)) {
    const block = `permissions: { preset: ${preset} }`;
    const ofTeam = await Promise.all(tools.map((tool) => verdictOn(tool, "", block)));
    expect(ofTeam, preset).toEqual(expected);
    const open = "permissions: { preset: open }";
    const ofAgent = await Promise.all(tools.map((tool) => verdictOn(tool, block, open)));
    expect(ofAgent, preset).toEqual(expected);
  }
});

test("AP-19, TB-6: an approval says why its rule is there, where the rule does; a deny says it in the result", async () => {
  const rules = (reason: string): string =>
    `permissions: { preset: open, rules: [{ tool: fire, action: ask${reason} }] }`;
  const why = await started(yaml(calls("fire"), "", rules(", reason: Fire needs a person.")));
  const rule = "rule ask fire";
  expect(asks(why.bench)[0]?.approval).toEqual({
    tool: "fire",
    input: { name: "0" },
    rule,
    reason: "Fire needs a person.",
    remember: { tool: "fire", pattern: "*" },
  });
  expect(eventsOf(why.bench, "ask_user")[0]).toMatchObject({
    ask: { approval: { reason: "Fire needs a person." } },
  });
  const bare = await started(yaml(calls("fire"), "", rules("")));
  expect(asks(bare.bench)[0]?.approval).toEqual({
    tool: "fire",
    input: { name: "0" },
    rule,
    remember: { tool: "fire", pattern: "*" },
  });
});

test("SE-29: open asks keep the order in which they were opened, over a crash and in every listing", async () => {
  const { bench } = await started(yaml(calls("fire", "fire", "fire", "fire", "fire", "fire")));
  const inputs = (): readonly unknown[] => asks(bench).map(({ approval }) => approval?.input);
  const expected = ["0", "1", "2", "3", "4", "5"].map((name) => ({ name }));
  expect(inputs()).toEqual(expected);
  const order = bench.ok("get")["open_asks"];
  bench.crash();
  expect(inputs()).toEqual(expected);
  expect(bench.ok("get")["open_asks"]).toEqual(order);
  const listed = (params: object): readonly string[] =>
    (bench.ok("asks", params)["data"] as unknown as readonly { readonly id: string }[]).map(({ id }) => id);
  expect(listed({ status: "open" })).toEqual(order);
  bench.ok("answer", { ask: order?.[2], decision: "deny" });
  expect(listed({})).toEqual(order);
  const seqs = asks(bench).map(({ seq }) => bench.events()[seq - 1]);
  expect(seqs.every((event) => event?.type === "ask_user")).toBe(true);
});

test("TB-6: a deny of the team beats an allow of the agent, in either order, and says its reason", async () => {
  const deny = "{ tool: fire, action: deny, reason: Owned by ops }";
  const allow = "{ tool: 'f*', action: allow }";
  for (const [team, agent] of [
    [deny, allow],
    [allow, deny],
  ]) {
    const { bench, probe } = await started(
      yaml(
        calls("fire"),
        `permissions: { preset: open, rules: [${agent}] }`,
        `permissions: { rules: [${team}] }`,
      ),
    );
    expect(probe.names()).toEqual([]);
    expect(lastText(bench, "tool")).toBe("denied: a rule forbids this call (rule deny fire): Owned by ops");
    expect(eventsOf(bench, "tool_call_end")[0]).toMatchObject({
      outcome: "denied",
      permission: { verdict: "deny", by: "rule deny fire" },
    });
  }
});

test("TB-6: an ask of a rule stands over an allow, even in an open preset", async () => {
  const rules =
    "permissions: { preset: open, rules: [{ tool: fire, action: allow }, { tool: '*', action: ask }] }";
  const { bench, probe } = await started(yaml(calls("fire"), rules));
  expect(probe.names()).toEqual([]);
  expect(asks(bench)[0]?.approval).toMatchObject({ tool: "fire", rule: "rule ask *" });
});

test("TB-6: an expired rule no longer holds", async () => {
  const rules = (date: string): string =>
    `permissions: { preset: open, rules: [{ tool: fire, action: deny, expires: "${date}" }] }`;
  expect((await started(yaml(calls("fire"), rules("2001-01-01")))).probe.names()).toEqual(["fire(0)"]);
  expect((await started(yaml(calls("fire"), rules("2999-01-01")))).probe.names()).toEqual([]);
});

test("SE-28: a rule's own ask_timeout and on_timeout apply to its approvals; limits.asks to others", async () => {
  const rules =
    "permissions: { rules: [{ tool: fire, action: ask, ask_timeout: 30m, on_timeout: approve }] }\nlimits: { asks: { timeout: 2h } }";
  const { bench, probe } = await started(yaml(calls("fire", "put"), "", rules));
  const time = (): number => (asks(bench)[0]?.expires_at ?? 0) - (asks(bench)[0]?.opened_at ?? 0);
  expect(time()).toBe(1_800_000);
  await bench.pass(1_800_000);
  expect(probe.names()).toEqual(["fire(0)"]);
  expect(time()).toBe(7_200_000);
  await bench.pass(7_200_000);
  expect(probe.names()).toEqual(["fire(0)"]);
  expect(lastText(bench, "tool")).toBe("denied: this call was not approved in time.");
});

const question =
  "replies: [{ reply: [{ call: ask_user, args: { question: Why? } }] }, { reply: [{ text: done }] }]";
const openFor = async (agent: string, team: string): Promise<number> => {
  const { bench } = await started(yaml(question, agent, team));
  const [ask] = asks(bench);
  return (ask?.expires_at ?? 0) - (ask?.opened_at ?? 0);
};

test("CF-14, SE-28: question_timeout is the agent's own; without it limits.asks.timeout holds, 24 h by default", async () => {
  expect(await openFor("", "")).toBe(86_400_000);
  expect(await openFor("", "limits: { asks: { timeout: 72h } }")).toBe(72 * 3_600_000);
  expect(await openFor("options: { question_timeout: 5m }", "limits: { asks: { timeout: 72h } }")).toBe(
    300_000,
  );
  expect(await openFor("options: { question_timeout: 96h }", "limits: { asks: { timeout: 72h } }")).toBe(
    96 * 3_600_000,
  );
});

test("SE-28: limits.asks.on_timeout is what an unanswered question leads to", async () => {
  const after = async (rule: string) => {
    const { bench } = await started(
      yaml(question, "", `limits: { asks: { timeout: 1h, on_timeout: ${rule} } }`),
    );
    await bench.pass(3_600_000);
    return { result: lastText(bench, "tool"), end: eventsOf(bench, "run_end")[0]?.["reason"] };
  };
  expect(await after("{ answer: Because }")).toEqual({ result: "Because", end: "end_turn" });
  expect((await after("continue")).result).toBe("No answer came; decide or finish.");
  expect((await after("fail")).end).toBe("deadline_exceeded");
});

const hosts = (): ReturnType<typeof createProbe>["toolbox"] => ({
  name: "lab",
  description: "A lab.",
  tools: [
    defineTool({
      name: "mix",
      description: "Mixes.",
      params: z.strictObject({ what: z.string().describe("What.") }),
      subject: ({ what }) => [what],
      run: ({ what }) => ({ content: `mixed ${what}` }),
    }),
  ],
});

const mixing = `
providers:
  - { name: p, kind: scripted, model: m, script: { script: 1, start: again, scenes: [{ name: five, when: { call: 0 }, reply: [{ call: mix, args: { what: a } }, { call: mix, args: { what: b } }, { call: mix, args: { what: c } }] }, { name: more, when: { input: { equals: More } , last: { tool: mix } }, reply: [{ text: done }] }, { name: again, when: { input: { equals: More } }, reply: [{ call: mix, args: { what: d } }] }, { name: rest, reply: [{ text: done }] }] } }
agents:
  - { name: x, toolboxes: [lab], effects: [] }
  - { name: y, toolboxes: [lab], effects: [] }
`;
const lab = async (yamlText = mixing, create: object = {}) => {
  const bench = openBench({ engine: await engineOf(yamlText, { toolboxes: [hosts()] }) });
  bench.ok("create", create);
  bench.send("Go");
  await bench.idle();
  return bench;
};

test("a call of a reply is judged once while nothing changes", async () => {
  const seen: string[] = [];
  const mix = defineTool({
    name: "mix",
    description: "Mixes.",
    params: z.strictObject({ what: z.string().describe("What.") }),
    subject: ({ what }) => {
      seen.push(what);
      return [what];
    },
    run: () => ({ content: "mixed" }),
  });
  const toolbox = { name: "lab", description: "A lab.", tools: [mix] };
  const open = mixing.replaceAll("effects: []", "effects: [], permissions: { preset: open }");
  const bench = openBench({ engine: await engineOf(open, { toolboxes: [toolbox], now: () => 0 }) });
  bench.ok("create", {});
  bench.send("Go");
  await bench.idle();
  expect(bench.chat().filter(({ role }) => role === "tool")).toHaveLength(3);
  expect(seen).toEqual(["a", "b", "c"]);
});

test("TB-8, TB-9: remember for the session settles every ask it covers and holds in later runs; once settles one", async () => {
  const bench = await lab();
  expect(asks(bench)).toHaveLength(3);
  bench.ok("answer", { ask: asks(bench)[0]?.id, decision: "approve", remember: "once" });
  await bench.idle();
  expect(asks(bench)).toHaveLength(2);
  expect(bench.state().grants).toEqual([]);
  bench.ok("answer", { ask: asks(bench)[0]?.id, decision: "approve", remember: "session" });
  await bench.idle();
  expect(asks(bench)).toEqual([]);
  expect(bench.state().grants).toMatchObject([{ scope: "session", tool: "mix", pattern: "*" }]);
  expect(bench.chat().filter(({ role }) => role === "tool")).toHaveLength(3);
});

test("TB-8: a grant is of its scope: a session's for all its agents, an agent's for that agent alone", async () => {
  const engine = await engineOf(mixing, { toolboxes: [hosts()] });
  const session = { tools: null, clientTools: [], model: null } as never;
  const grant = { id: "g1", agent: "x", tool: "mix", pattern: "*", by: "key1", at: 0 };
  const call = { name: "mix", args: '{"what":"a"}' };
  const of = (agent: string, scope: "session" | "agent") =>
    engine
      .agent(agent, session)
      .judge(call, [{ ...grant, scope }], { depth: 0, untrusted: false, page: null });
  expect(of("x", "agent")).toMatchObject({ verdict: "allow", by: "grant g1" });
  expect(of("y", "agent").verdict).toBe("ask");
  expect(of("y", "session").verdict).toBe("allow");
});

test("TB-6, TB-8: a grant never beats a deny, and a deny that came in the meantime beats an approval", async () => {
  const bench = await lab();
  const denied = mixing + "permissions: { rules: [{ tool: mix, match: a, action: deny }] }";
  bench.deploy(await engineOf(denied, { toolboxes: [hosts()] }));
  const about = asks(bench).find(({ approval }) => JSON.stringify(approval?.input) === '{"what":"a"}');
  bench.ok("answer", { ask: about?.id, decision: "approve", remember: "session" });
  await bench.idle();
  const results = bench.events().filter(({ type }) => type === "tool_call_end");
  expect(results.map(({ data }) => (data as { outcome: string }).outcome)).toEqual(["denied"]);
  expect(bench.state().grants).toEqual([]);
});

test("TB-9: an approver's edit is checked against schema and rules again", async () => {
  const bench = await lab(mixing + "permissions: { rules: [{ tool: mix, match: acid, action: deny }] }");
  const [ask] = asks(bench);
  const edit = (input: object) => ({ ask: ask?.id, decision: "edit", input });
  // It is a person who reads this, and no model that could call the tool again.
  expect(refused(bench, "answer", edit({ what: 5 }))).toMatchObject({
    code: "answer_invalid",
    detail: "/input: what: expected a text, found the number 5",
  });
  expect(refused(bench, "answer", edit({ what: "acid" })).detail).toContain("a rule forbids");
  expect(asks(bench)).toHaveLength(3);
  bench.ok("answer", edit({ what: "water" }));
  for (const { id } of asks(bench)) bench.ok("answer", { ask: id, decision: "deny", message: "Not today" });
  await bench.idle();
  const results = eventsOf(bench, "tool_call_end").map(({ output }) => output);
  expect(results).toContain('[arguments changed by the approver: {"what":"water"}]\nmixed water');
  expect(results.filter((text) => text === "denied: Not today")).toHaveLength(2);
});

test("SE-29: interactive false applies the default of every ask at once", async () => {
  const { bench, probe } = await started(yaml(calls("fire"), "", "sessions: { interactive: false }"));
  expect(probe.names()).toEqual([]);
  expect(eventsOf(bench, "run_end")[0]).toMatchObject({ state: "completed" });
  const own = await started(yaml(calls("fire")), { interactive: false });
  expect(eventsOf(own.bench, "ask_expired")).toHaveLength(1);
});
