import { describe, expect, test } from "vitest";
import { engineOf } from "../../durable-objects/team-parts.ts";
import type { Session } from "../../src/agent/state/session.ts";
import type { TeamDirectory } from "../../src/engine/access/rpc.ts";
import { createEngines } from "../../src/engine/engines.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { openBench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import { scripted } from "../support/scripts.ts";
import { engineOptions, teamOf } from "../support/teams.ts";
import type { EngineExtras } from "../support/teams.ts";
import { lastEvent, lastText, say, wireEnv } from "./harness.ts";

/** What a session of `old` runs on after `now` was deployed in its place. */
const afterDeploy = async (old: Engine, now: string, extras: EngineExtras = {}): Promise<Engine> => {
  const team = await teamOf(now, extras);
  return createEngines(engineOptions(team, extras)).loadPinned(old.revision, old.definition);
};
const deployedOf = async (yaml: string, extras: EngineExtras = {}): Promise<Engine> =>
  createEngines(engineOptions(await teamOf(yaml, extras), extras)).deployed();

const opened = (engine: Engine) => {
  const bench = openBench({ engine });
  bench.ok("create");
  return bench;
};

const team = (instructions: string, toolboxes = "[probe]", more = ""): string => `
providers:
  - { name: p, kind: scripted, model: m, script: { script: 1, start: s, scenes: [{ name: use, when: { last: { text: { equals: Use } } }, reply: [{ call: recall, args: { id: b1 } }] }, { name: s, reply: [{ text: ok }] }] } }
agents:
  - { name: helper, instructions: ${instructions}, toolboxes: ${toolboxes}, effects: [] }
${more}`;
const probes = (): EngineExtras => ({ toolboxes: [createProbe().toolbox] });

test("CF-31: the revision is of the definition: connections and operator's sections do not change it", async () => {
  const revision = async (yaml: string): Promise<string> => (await deployedOf(yaml, probes())).revision;
  const base = await revision(team("One"));
  expect(base).toMatch(/^r_[0-9a-f]{20}$/);
  expect(await revision(team("One", "[probe]", "sessions: { on_busy: queue }"))).toBe(base);
  expect(await revision(team("One").replace("model: m,", "model: m, retry: { max_wait: 1m },"))).toBe(base);
  expect(await revision(team("Two"))).not.toBe(base);
  expect(await revision(team("One", "[probe, search]"))).not.toBe(base);
});

test("CF-32: after a deploy an old session keeps its instructions and tools, a new one has the new", async () => {
  const old = await deployedOf(team("Old rules"), probes());
  const bench = opened(old);
  await say(bench);
  const next = team("New rules", "[probe, search]");
  bench.deploy(await afterDeploy(old, next, probes()));
  await say(bench, "Again");
  expect(bench.requests.at(-1)?.system).toBe(bench.requests[0]?.system);
  expect(bench.requests.at(-1)?.tools).toEqual(bench.requests[0]?.tools);
  expect(lastEvent(bench, "run_start")).toMatchObject({ revision: old.revision });
  const fresh = opened(await deployedOf(next, probes()));
  await say(fresh);
  expect(fresh.requests[0]?.system).toContain("New rules");
  expect(fresh.state().revision).not.toBe(old.revision);
});

test("CF-32: a deploy in mid-run changes nothing of that run", async () => {
  const probe = createProbe(false);
  const extras = { toolboxes: [probe.toolbox] };
  const looks = (instructions: string): string =>
    team(instructions).replace(
      "start: s, scenes: [",
      "start: s, scenes: [{ name: look, when: { call: 0 }, reply: [{ call: look }] }, ",
    );
  const old = await deployedOf(looks("Old rules"), extras);
  const bench = opened(old);
  bench.send("Hi");
  await bench.steps();
  probe.instant = true;
  bench.deploy(await afterDeploy(old, looks("New rules"), extras));
  await bench.idle();
  expect(bench.requests).toHaveLength(2);
  expect(bench.requests[1]?.system).toContain("Old rules");
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
});

test("★ CF-32: connections come from the deployed Worker: a new address, key and header reach an old session", async () => {
  const fake = await startFakeProvider();
  try {
    const wire = (url: string, header: string, instructions: string): string => `
providers: [{ name: p, kind: openai, base_url: "${url}", api_key: "\${KEY}", model: gpt-4o, headers: { X-Team: ${header} } }]
agents: [{ name: helper, instructions: ${instructions}, effects: [] }]`;
    const env = wireEnv(fake);
    const old = await deployedOf(wire("https://gone.example/v1", "one", "Old"), { env });
    const next = wire(fake.url("openai"), "two", "New");
    const bench = opened(await afterDeploy(old, next, { env: { ...env, KEY: "sk-rotated" } }));
    await say(bench);
    expect(fake.requests[0]?.headers).toMatchObject({ authorization: "Bearer sk-rotated", "x-team": "two" });
    expect(fake.requests[0]?.text).toContain("Old");
  } finally {
    await fake.close();
  }
});

const waits = async (now: string, missing: string, extras: EngineExtras = {}) => {
  const old = await deployedOf(team("Old"), probes());
  const bench = opened(old);
  await say(bench);
  bench.deploy(await afterDeploy(old, now, extras));
  bench.send("Again");
  await bench.idle();
  expect(lastEvent(bench, "run_waiting")).toMatchObject({ on: [{ kind: "config", missing }] });
  expect(bench.ok("get")).toMatchObject({ status: "waiting", waiting_for: [{ kind: "config" }] });
  expect(bench.requests).toHaveLength(1);
  return { bench, old };
};

test("★ CF-34: a run whose toolbox was taken away waits and names it; redeployed, it goes on by itself and finishes", async () => {
  const { bench, old } = await waits(team("New", "[]"), "toolbox probe");
  bench.deploy(await afterDeploy(old, team("Newer"), probes()));
  await bench.pass(300_000);
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
  expect(bench.requests.at(-1)?.system).toContain("Old");
  expect(lastText(bench, "assistant")).toBe("ok");
});

test("CF-34: after 24 hours the run fails config_changed, with what was lacking", async () => {
  const { bench } = await waits(team("New", "[]"), "toolbox probe");
  expect(bench.alarm()).not.toBeNull();
  await bench.pass(86_400_000);
  expect(lastEvent(bench, "run_end")).toMatchObject({
    state: "failed",
    reason: "config_changed",
    error: { code: "config_changed", detail: "this deployment lacks toolbox probe" },
  });
  expect(bench.alarm()).toBeNull();
});

test("CF-34 AG-15: a called agent that fails after 24 hours lets its caller go on at once", async () => {
  const crew = (toolboxes: string, first: string): string => `
providers:
  - { name: l, kind: scripted, model: m, script: { script: 1, replies: [{ reply: [{ call: delegate_to_agent, args: { agent: hand, task: Dig, context: "" } }] }, { reply: [{ text: over }] }] } }
  - { name: h, kind: scripted, model: m, script: { script: 1, replies: [{ reply: [${first}] }, { reply: [{ text: dug }] }] } }
agents:
  - { name: lead, provider: l, toolboxes: [], effects: [] }
  - { name: hand, provider: h, description: Digs., toolboxes: ${toolboxes}, effects: [] }
defaults: { delegation: {} }`;
  const old = await deployedOf(crew("[probe]", "{ call: look }"), {
    toolboxes: [createProbe(false).toolbox],
  });
  const bench = opened(old);
  bench.send("Go");
  await bench.steps();
  bench.deploy(await afterDeploy(old, crew("[]", "{ text: no }"), {}));
  await bench.idle();
  expect(lastEvent(bench, "run_waiting")).toMatchObject({ on: [{ kind: "config" }] });
  await bench.tick(86_400_000);
  await bench.idle();
  const ends = bench.events().flatMap((event) => (event.type === "run_end" ? [event.data.reason] : []));
  expect(ends).toEqual(["config_changed", "end_turn"]);
});

test("CF-34 RE-3: the deadline of a run that waits for its agent fires in its own second", async () => {
  const timed = (toolboxes: string): string =>
    team("Old", toolboxes).replace(
      "effects: []",
      "effects: [], middleware: [{ kind: timeout, params: { duration: 90s, count: wall } }]",
    );
  const bench = opened(await afterDeploy(await deployedOf(timed("[probe]"), probes()), timed("[]")));
  bench.send("Go");
  await bench.idle();
  expect(bench.ok("get")).toMatchObject({ waiting_for: [{ kind: "config" }] });
  expect(bench.alarm()).toBe(bench.now() + 90_000);
  await bench.pass(90_000);
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "failed", reason: "deadline_exceeded" });
  expect(bench.alarm()).toBeNull();
});

test("CF-34 AG-37: a run whose named check was taken out of the extensions waits: its answer is not let through", async () => {
  const checked = (params: string): string =>
    team("Old").replace(
      "effects: []",
      `effects: [], middleware: [{ kind: output_guardrail, params: { ${params} } }]`,
    );
  const extras = { ...probes(), checks: [{ name: "polite", check: () => "it is not polite" }] };
  const old = await deployedOf(checked("check: polite"), extras);
  const bench = opened(await afterDeploy(old, checked("max_length: 9"), probes()));
  bench.send("Go");
  await bench.idle();
  expect(lastEvent(bench, "run_end")).toEqual({});
  expect(lastEvent(bench, "run_waiting")).toMatchObject({ on: [{ missing: "check polite" }] });
  bench.deploy(await afterDeploy(old, checked("max_length: 9"), extras));
  await bench.pass(300_000);
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "failed", reason: "output_invalid" });
});

test("CF-34: a provider that is gone, or is of another kind now, is named", async () => {
  await waits(team("New").replace("name: p,", "name: q,"), "provider p (scripted)", probes());
  const other =
    "providers: [{ name: p, kind: openai, model: m, api_key: k, allow_literal_secrets: true }]\nagents: [{ name: helper, effects: [] }]";
  await waits(other, "provider p (scripted)", probes());
});

test("CF-34: a waiting run can be cancelled", async () => {
  const { bench } = await waits(team("New", "[]"), "toolbox probe");
  bench.ok("cancel");
  await bench.idle();
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "cancelled" });
});

describe.each([
  ["toolbox", team("New", "[]").replace("name: p,", "name: script,")],
  ["provider", team("New", "[]")],
])("CF-34 RE-P13: a deploy takes the %s of a parked or running call away", (_, without) => {
  const asking =
    "permissions: { rules: [{ tool: fire, action: ask, on_timeout: approve, ask_timeout: 10m }] }";
  const takenAway = async (agent: string, more = "") => {
    const fires = "{ reply: [{ call: fire, args: { name: a } }] }";
    const yaml = scripted(`replies: [${fires}, { reply: [{ text: Done. }] }]`, agent, more);
    const probe = createProbe(false);
    const tools = { toolboxes: [probe.toolbox] };
    const old = await deployedOf(yaml, tools);
    const bench = opened(old);
    bench.send("Go");
    await bench.steps();
    probe.instant = true;
    bench.deploy(await afterDeploy(old, without));
    await bench.idle();
    const restored = async (): Promise<void> => {
      expect(bench.ok("get")).toMatchObject({ waiting_for: [{ kind: "config" }] });
      bench.deploy(await afterDeploy(old, yaml, tools));
      await bench.idle();
      expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
    };
    return { bench, probe, restored };
  };

  test("CF-34 SE-30: a call that is approved meanwhile waits for it, and runs once it is back", async () => {
    const { bench, probe, restored } = await takenAway("", asking);
    const [ask = ""] = Object.keys(bench.state().asks);
    bench.ok("answer", { ask, decision: "approve" });
    await bench.idle();
    await restored();
    expect(probe.names()).toEqual(["fire(a)"]);
  });

  test("CF-34 SE-28: an ask that nobody answers meanwhile ends as its definition says", async () => {
    const { bench, probe, restored } = await takenAway("", asking);
    await bench.pass(600_000);
    expect(lastEvent(bench, "ask_expired")).toMatchObject({ applied: "approve" });
    await restored();
    expect(probe.names()).toEqual(["fire(a)"]);
  });

  test("CF-34 SE-32: a call that the deploy interrupted goes by its agent's on_interrupt", async () => {
    const { bench, probe, restored } = await takenAway("options: { on_interrupt: { fire: rerun } }");
    await restored();
    expect(probe.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "ok" });
  });
});

test("CF-34: a toolbox with one tool less lets agents that use the others go on", async () => {
  const narrow = (tool: string): string => team("Old", `[{ name: probe, tools: [${tool}] }]`);
  const [box] = probes().toolboxes ?? [];
  if (box === undefined) throw new Error("no toolbox");
  const less = { toolboxes: [{ ...box, tools: box.tools.filter(({ name }) => name !== "fire") }] };
  const able = await afterDeploy(await deployedOf(narrow("look"), probes()), narrow("put"), less);
  expect(await say(opened(able))).toMatchObject({ state: "completed" });
  const unable = await afterDeploy(await deployedOf(narrow("fire"), probes()), narrow("put"), less);
  const bench = opened(unable);
  await say(bench);
  expect(lastEvent(bench, "run_waiting")).toMatchObject({ on: [{ missing: "tool fire of toolbox probe" }] });
});

test("CF-33: a definition that cannot be read, or is of a format this release does not know, makes its runs wait", async () => {
  const engines = createEngines(engineOptions(await teamOf(team("Now"), probes()), probes()));
  for (const definition of ["{", "null", '{"format":99}', '{"format":1}', '{"format":1,"providers":{}}']) {
    const revision = `r_${definition.length}`;
    const engine = engines.loadPinned(revision, definition);
    expect(engine.revision).toBe(revision);
    const session = { tools: null, clientTools: [], model: null } as never;
    expect(engine.agent("helper", session).missing, definition).not.toBeNull();
  }
});

test("★ CF-33: a definition that is not the one its revision names is not run, as none that fails its build is", async () => {
  const engines = createEngines(engineOptions(await teamOf(team("Now"), probes()), probes()));
  const old = await deployedOf(team("Old"), probes());
  const session = { tools: null, clientTools: [], model: null } as never;
  const missing = (from: string, to: string): string | null => {
    const definition = old.definition.replace(from, to);
    expect(definition === old.definition).toBe(from === to);
    const revision = createEngines(engineOptions(engines.deployed().team, probes()));
    return revision.loadPinned(old.revision, definition).agent("helper", session).missing;
  };
  expect(missing("Old", "Old")).toBeNull();
  for (const [from, to] of [
    ['"max_iterations":100', '"max_iterations":"many"'],
    ['"guards":', '"gards":'],
    ['"skills":[]', '"skills":null'],
    ["Old", "Any"],
  ] as const)
    expect([from, missing(from, to)]).toEqual([from, `a readable revision ${old.revision}`]);
});

test("CF-33: a session with another pin loads its definition once, however often it is called", async () => {
  const old = await deployedOf(team("Old"), probes());
  const engines = createEngines(engineOptions(await teamOf(team("Now"), probes()), probes()));
  let loads = 0;
  const directory = {
    definition: async () => {
      loads += 1;
      return old.definition;
    },
  };
  const directories = { team: () => directory as unknown as TeamDirectory };
  const parts = { engines: () => engines, ...directories };
  const session = { revision: old.revision } as Session;
  const found = [await engineOf(parts, session), await engineOf(parts, session), await engineOf(parts, null)];
  expect(found.map(({ revision }) => revision)).toEqual([
    old.revision,
    old.revision,
    engines.deployed().revision,
  ]);
  expect(loads).toBe(1);
});

test("CF-33: an engine of a revision is built once, and the deployed one is always the same", async () => {
  const engines = createEngines(engineOptions(await teamOf(team("Now"), probes()), probes()));
  const { revision, definition } = engines.deployed();
  expect(engines.deployed()).toBe(engines.deployed());
  expect(engines.loadPinned(revision, definition)).toBe(engines.loadPinned(revision, definition));
  const session = { tools: null, clientTools: [], model: null } as never;
  const agent = engines.loadPinned(revision, definition).agent("helper", session);
  expect(agent.system({ depth: 0, light: false })).toEqual(
    engines.deployed().agent("helper", session).system({ depth: 0, light: false }),
  );
});

test("CF-31: nothing secret stands in a stored definition", async () => {
  const yaml = `
providers: [{ name: p, kind: openai, base_url: "https://canary-host.example", api_key: canary-key, allow_literal_secrets: true, model: gpt-4o, headers: { X-Key: canary-header } }]
agents: [{ name: helper, effects: [] }]`;
  const { definition } = await deployedOf(yaml);
  expect(definition).not.toContain("canary");
});
