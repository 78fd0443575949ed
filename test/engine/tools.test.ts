import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Toolbox } from "../../src/tools/define-tool.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf, teamOf } from "../support/teams.ts";
import { benchOf, eventsOf, lastText, say } from "./harness.ts";

const done = "{ reply: [{ text: done }] }";
const call = (name: string, args = "{}"): string => `{ reply: [{ call: ${name}, args: ${args} }] }`;
const script = (...replies: string[]): string => `replies: [${[...replies, done].join(", ")}]`;

const withToolboxes = (yaml: string, toolboxes: string): string =>
  yaml.replace("toolboxes: [probe]", `toolboxes: ${toolboxes}`);

const run = async (yaml: string, create: object = {}, extra: readonly Toolbox[] = []) => {
  const probe = createProbe();
  const bench = await benchOf(yaml, { toolboxes: [probe.toolbox, ...extra], names: ["looks"] }, create);
  const end = await say(bench);
  const declared = bench.requests[0]?.tools.map(({ name }) => name) ?? [];
  return { bench, probe, end, declared };
};

test("★ TB-4: a tool outside the agent's whitelist is denied as not_permitted and nothing runs", async () => {
  const { bench, probe, declared } = await run(
    withToolboxes(scripted(script(call("put"))), "[{ name: probe, tools: [look] }]"),
  );
  expect(declared).toEqual(["ask_user", "look", "recall", "report_status"]);
  expect(probe.calls).toEqual([]);
  expect(eventsOf(bench, "tool_call_end")[0]).toMatchObject({
    outcome: "denied",
    output: "not_permitted: tester may not use put",
  });
  expect(eventsOf(bench, "tool_call_start")).toEqual([]);
});

test("TB-4: a scalar and an object give the same tools, tools: [] gives none, and declaration is YAML order", async () => {
  const namesOf = async (toolboxes: string): Promise<readonly string[]> =>
    (await run(withToolboxes(scripted(script()), toolboxes))).declared;
  expect(await namesOf("[search, probe]")).toEqual(await namesOf("[{ name: search }, { name: probe }]"));
  expect((await namesOf("[search, probe]")).slice(0, 5)).toEqual([
    "ask_user",
    "search_content",
    "search_files",
    "look",
    "put",
  ]);
  expect(await namesOf("[{ name: probe, tools: [] }]")).toEqual(["ask_user", "recall", "report_status"]);
  expect(await namesOf("[{ name: ask, tools: [] }]")).toEqual(["recall", "report_status"]);
});

test("SE-15: a tool that no deployment has is unknown_tool, and the nearest name is offered", async () => {
  const { bench } = await run(scripted(script(call("looks"))));
  expect(lastText(bench, "tool")).toBe('unknown_tool: there is no tool "looks"; did you mean "look"?');
});

test("SE-15: a core tool that this agent lacks exists all the same: it is not permitted", async () => {
  const { bench } = await run(scripted(script(call("load_skill", "{ name: x }"))));
  expect(lastText(bench, "tool")).toBe("not_permitted: tester may not use load_skill");
});

test("CF-26, AG-19: the session's ceiling bounds tools by name and glob, at declaration and at dispatch", async () => {
  const { bench, probe, declared } = await run(scripted(script(call("put"), call("look"))), {
    tools: ["lo*", "recall"],
  });
  expect(declared).toEqual(["look", "recall"]);
  expect(probe.names()).toEqual(["look()"]);
  expect(eventsOf(bench, "tool_call_end").map(({ outcome }) => outcome)).toEqual(["denied", "ok"]);
  const none = await run(scripted(script()), { tools: [] });
  expect(none.declared).toEqual([]);
});

test("CF-26: two sessions with other ceilings do not see each other's, and a crash keeps them", async () => {
  const engine = await engineOf(scripted(script()), { toolboxes: [createProbe().toolbox] });
  const names = (tools: readonly string[] | null): readonly string[] => [
    ...engine.agent("tester", { tools, clientTools: [], model: null } as never).tools.keys(),
  ];
  expect(names(["look"])).toEqual(["look"]);
  expect(names(["put"])).toEqual(["put"]);
  expect(names(null)).toContain("fire");
  const { bench } = await run(scripted(script()), { tools: ["look"] });
  bench.crash();
  await say(bench, "Again");
  expect(bench.requests.at(-1)?.tools.map(({ name }) => name)).toEqual(["look"]);
});

test("★ CF-14, SE-21: tool_access of any text disables every tool; calls are dropped before they are stored", async () => {
  for (const access of ["none", "NONE", "nnoe"]) {
    const three = `replies: [{ reply: [{ text: Trying. }, { call: look }, { call: put }, { call: fire }] }]`;
    const { bench, probe, declared, end } = await run(
      scripted(three, `options: { tool_access: ${access} }`),
      {
        client_tools: [{ name: "pick", description: "Picks.", params: { type: "object" } }],
      },
    );
    expect(declared).toEqual([]);
    expect(bench.requests[0]?.toolChoice).toBe("none");
    expect(probe.calls).toEqual([]);
    expect(JSON.stringify(bench.chat())).not.toContain("tool_call");
    expect(eventsOf(bench, "error")[0]).toMatchObject({ code: "tools_disabled" });
    expect(end).toMatchObject({ state: "completed" });
  }
  const open = await run(scripted(script(call("look")), 'options: { tool_access: "  " }'));
  expect(open.probe.names()).toEqual(["look()"]);
});

test("SE-22: writable_paths reach the tools as written: absent is unbounded, [] is nothing", async () => {
  const pathsOf = async (option: string): Promise<readonly string[] | undefined> => {
    const { probe } = await run(scripted(script(call("look")), option));
    return probe.calls[0]?.context.writablePaths;
  };
  expect(await pathsOf("")).toBeUndefined();
  expect(await pathsOf("options: { writable_paths: [] }")).toEqual([]);
  expect(await pathsOf('options: { writable_paths: ["src/**"] }')).toEqual(["src/**"]);
});

test("CF-14, SE-16: command_timeout and its greatest value reach the tools in seconds", async () => {
  const { probe } = await run(
    scripted(
      script(call("look")),
      "options: { command_timeout: 90s, max_command_timeout: 5m, working_dir: /workspace/src/./lib/ }",
    ),
  );
  expect(probe.calls[0]?.context.commandTimeout).toEqual({ default: 90, max: 300 });
  expect(probe.calls[0]?.context.workingDir).toBe("src/lib");
});

test("CF-14, TB-33: a sandbox that ends commands earlier bounds the times that nobody wrote", async () => {
  const yaml = `${scripted(script(call("look")))}\nsandbox: { limits: { wall: 1m } }\n`;
  const { probe } = await run(yaml);
  expect(probe.calls[0]?.context.commandTimeout).toEqual({ default: 60, max: 60 });
});

test("CF-14, SE-18: tool_output_limits cut a tool's output, the rest is there for recall", async () => {
  const { bench } = await run(
    scripted(
      script(call("look", `{ name: ${"x".repeat(900)} }`), call("recall", "{ id: b1 }")),
      "options: { tool_output_limits: { look: 200 } }",
    ),
  );
  const [look, recalled] = eventsOf(bench, "tool_call_end");
  expect(String(look?.["output"])).toHaveLength(200 - "b99999".length + "b1".length);
  expect(look).toMatchObject({ truncated: true });
  expect(String(recalled?.["output"])).toContain(`look(${"x".repeat(900)}) done`);
});

test("CF-14, SE-20: cache_tool_results answers the same reading call from memory, off by default", async () => {
  const twice = script(call("look", "{ name: a, fail: false }"), call("look", "{ fail: false, name: a }"));
  expect((await run(scripted(twice))).probe.names()).toEqual(["look(a)", "look(a)"]);
  const cached = await run(scripted(twice, "options: { cache_tool_results: true }"));
  expect(cached.probe.names()).toEqual(["look(a)"]);
  expect(eventsOf(cached.bench, "tool_cache_hit")).toHaveLength(1);
});

test("CF-14, SE-32: on_interrupt says what becomes of a call that a crash interrupted", async () => {
  const after = async (rule: string) => {
    const probe = createProbe(false);
    const yaml = scripted(script(call("fire")), `options: { on_interrupt: { fire: ${rule} } }`);
    const bench = await benchOf(yaml, { toolboxes: [probe.toolbox] }, {});
    bench.send("Go");
    await bench.steps();
    probe.instant = true;
    bench.crash();
    await bench.idle();
    return { runs: probe.calls.length, asks: Object.values(bench.state().asks).length, bench };
  };
  expect(await after("rerun")).toMatchObject({ runs: 2, asks: 0 });
  expect(await after("ask")).toMatchObject({ runs: 1, asks: 1 });
  const unknown = await after("unknown");
  expect(unknown.runs).toBe(1);
  expect(lastText(unknown.bench, "tool")).toContain("outcome is unknown");
  expect(eventsOf((await after("fail")).bench, "run_end")[0]).toMatchObject({ state: "failed" });
});

const custom = (name: string, text: string, more: object = {}) => ({
  ...defineTool({
    name,
    description: "Custom.",
    params: z.strictObject({ path: z.string().default("").describe("Path.") }),
    safety: "read",
    run: () => ({ content: text }),
  }),
  ...more,
});

test("TB-37: a toolbox of extensions.ts works like a built-in one", async () => {
  const own = { name: "own", description: "Own.", tools: [custom("weigh", "3 kg")] };
  const { bench, declared } = await run(withToolboxes(scripted(script(call("weigh"))), "[own]"), {}, [own]);
  expect(declared).toContain("weigh");
  expect(lastText(bench, "tool")).toBe("3 kg");
  expect(eventsOf(bench, "tool_call_start")[0]).toMatchObject({ toolbox: "own", safety: "read" });
});

test("★ TB-37, SE-16: an output of another shape than outputs have is an error of the tool, and the run goes on", async () => {
  const odd = [
    { content: [{ type: "text" }] },
    { content: ["text"] },
    { content: [{ type: "image" }] },
    { content: "x", changes: 5 },
    { content: "x", stores: 5 },
    { content: "x", status: "fine" },
    null,
    [],
    undefined,
    "The tide is in.",
  ];
  for (const output of odd) {
    const look = defineTool({
      name: "look",
      description: "Looks.",
      params: z.strictObject({}),
      safety: "read",
      run: () => output as never,
    });
    const toolboxes = [{ name: "probe", description: "Probe.", tools: [look] }];
    const bench = await benchOf(scripted(script(call("look"))), { toolboxes }, {});
    bench.send("Go");
    await bench.steps();
    const [end] = eventsOf(bench, "tool_call_end");
    expect([output, end?.["outcome"], end?.["output"]]).toEqual([
      output,
      "error",
      expect.stringMatching(
        /^failed: the tool returned (content|changes|stores|status|a list|nothing|a text)/,
      ),
    ]);
    expect(lastText(bench, "assistant")).toBe("done");
  }
});

test("TB-37: a tool that returns a text is told what to return", async () => {
  const told = { ...custom("tide_at", ""), run: () => "The tide is in." as never };
  const yaml = withToolboxes(scripted(script(call("tide_at"))), "[own]");
  const bench = await benchOf(yaml, { toolboxes: [{ name: "own", description: "Own.", tools: [told] }] }, {});
  bench.send("Go");
  await bench.steps();
  expect(lastText(bench, "tool")).toBe(
    'failed: the tool returned a text; its run returns an object like { content: "…" }',
  );
});

test("TB-37: what a tool throws is logged with its place; with its message on a developer's machine only", async () => {
  const error = new Error("no tide at 25\n    at canary");
  error.stack = (error.stack ?? "").replace(
    /(canary\n)/,
    `$1    at swim (file:///sea/hush-hush/tide.ts:2:3)\n`,
  );
  const broken = { ...custom("tide_at", ""), run: () => Promise.reject(error) };
  const logged = async (env: Readonly<Record<string, string>>) => {
    const yaml = withToolboxes(scripted(script(call("tide_at"))), "[own]");
    const toolboxes = [{ name: "own", description: "Own.", tools: [broken] }];
    const bench = await benchOf(yaml, { toolboxes, env: { ...env, KEY: "hush-hush" } }, {});
    bench.send("Go");
    await bench.steps();
    expect(lastText(bench, "tool")).toBe("failed: no tide at 25");
    return bench.logs.filter(({ msg }) => msg === "tool_threw");
  };
  const call1 = { level: "warn", msg: "tool_threw", thread: "main", tool: "tide_at" };
  const [deployed, ...more] = await logged({});
  expect(more).toEqual([]);
  expect(deployed).toMatchObject({ ...call1, fault: "Error", frames: expect.any(Array) as unknown });
  expect(JSON.stringify(deployed)).not.toContain("25");
  const [own] = await logged({ LIMPET_DEV: "1" });
  expect(own).toMatchObject({ ...call1, message: "no tide at 25" });
  expect(own?.["below"]).toMatch(/^\n {4}at swim \(file:\/\/\/sea\/\[secret:KEY\]\/tide\.ts:2:3\)\n {4}at /);
});

test("TB-37, SE-16: a timeout that is no time is an error of the tool, and the run goes on", async () => {
  for (const timeout of ["30s", Number.NaN, 0, -1, 1e12]) {
    const own = { ...custom("weigh", "3 kg"), timeout: () => timeout as number };
    const toolboxes = [{ name: "own", description: "Own.", tools: [own] }];
    const yaml = withToolboxes(scripted(script(call("weigh"))), "[own]");
    const bench = await benchOf(yaml, { toolboxes }, {});
    bench.send("Go");
    await bench.steps();
    expect([timeout, lastText(bench, "tool"), lastText(bench, "assistant")]).toEqual([
      timeout,
      "failed: the tool returned a timeout that is not a number of milliseconds",
      "done",
    ]);
  }
});

test("TB-37: a tool that replaces a built-in one wins, wherever its toolbox stands", async () => {
  const own = { name: "own", description: "Own.", tools: [custom("fs_read", "mine", { replaces: true })] };
  for (const order of ["[filesystem, own]", "[own, filesystem]"]) {
    const { bench, declared } = await run(
      withToolboxes(scripted(script(call("fs_read", "{ path: a }"))), order),
      {},
      [own],
    );
    expect(declared.filter((name) => name === "fs_read")).toHaveLength(1);
    expect(lastText(bench, "tool")).toBe("mine");
    expect(eventsOf(bench, "tool_call_start")[0]).toMatchObject({ toolbox: "own" });
  }
});

test("TB-37: a clash that does not say replaces fails the build", async () => {
  const own = { name: "own", description: "Own.", tools: [custom("fs_read", "mine")] };
  const yaml = withToolboxes(scripted(script()), "[filesystem, own]");
  await expect(teamOf(yaml, { toolboxes: [own] })).rejects.toThrow(/name_conflict/);
});

test("CF-26, TB-5: the listing of an agent's tools is what its requests declare, each with its class", async () => {
  const engine = await engineOf(scripted(script()), { toolboxes: [createProbe().toolbox] });
  const { declared } = await run(scripted(script()));
  expect(engine.toolsOf("tester").map(({ name }) => name)).toEqual(declared);
  expect(engine.toolsOf("tester").find(({ name }) => name === "fire")).toMatchObject({
    toolbox: "probe",
    safety: "unsafe",
  });
  expect(engine.toolsOf("ghost")).toEqual([]);
});
