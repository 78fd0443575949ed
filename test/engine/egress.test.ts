import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngines } from "../../src/engine/engines.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { openBench } from "../support/bench.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { engineOptions, teamOf } from "../support/teams.ts";
import { say, wireEnv } from "./harness.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const yaml = `
providers:
  - { name: main, kind: openai, base_url: "https://agents.example.com/v1", api_key: "\${KEY}", model: gpt-6.1-sol }
agents: [{ name: helper, effects: [] }]
`;

const ended = async (engine: Engine): Promise<Record<string, unknown>> => {
  const bench = openBench({ engine });
  bench.ok("create");
  return say(bench);
};

test("★ TB-18: a deployment does not call itself: not at a host that it was called at, in old revisions too", async () => {
  const called: string[] = [];
  const answer = async (input: RequestInfo | URL): Promise<Response> => {
    called.push(input instanceof Request ? input.url : String(input));
    return Response.json({ error: { message: "no" } }, { status: 401 });
  };
  const team = await teamOf(yaml);
  const engines = createEngines(engineOptions(team, { env: wireEnv(fake), fetch: answer }));
  const before = await teamOf(yaml.replace("agents:", "context: { max_chars: 31000 }\nagents:"));
  const { revision, definition } = createEngines(engineOptions(before)).deployed();
  expect(revision).not.toBe(team.revision);
  const old = engines.loadPinned(revision, definition);
  await ended(engines.deployed());
  expect(called).toEqual(["https://agents.example.com/v1/chat/completions"]);
  engines.learnHost("agents.example.com");
  for (const engine of [engines.deployed(), old]) {
    expect(await ended(engine)).toMatchObject({ state: "failed", reason: "provider_error" });
  }
  expect(called).toHaveLength(1);
});

/** A deployment whose outgoing requests are answered here, and how many of them left. */
const deployed = async (text: string) => {
  let left = 0;
  const answer = async (): Promise<Response> => {
    left += 1;
    return Response.json({ error: { message: "no" } }, { status: 401 });
  };
  const engines = createEngines(engineOptions(await teamOf(text), { env: wireEnv(fake), fetch: answer }));
  return {
    engines,
    /** Whether a request of its model leaves. */
    leaves: async (): Promise<boolean> => {
      const before = left;
      await ended(engines.deployed());
      return left > before;
    },
  };
};

test("AP-14 TB-18: a deployment does not call the hosts of access.hosts, whoever called it where", async () => {
  const access = "access: { hosts: [agents.example.com, b.example] }\nagents:";
  expect(await (await deployed(yaml)).leaves()).toBe(true);
  const { engines, leaves } = await deployed(yaml.replace("agents:", access));
  expect(await leaves()).toBe(false);
  for (let at = 0; at < 500; at += 1) engines.learnHost(`host-${at}.example`);
  expect(await leaves()).toBe(false);
});

test("AP-14: of the hosts that it was called at it knows the newest 20", async () => {
  const { engines, leaves } = await deployed(yaml);
  engines.learnHost("agents.example.com");
  for (let at = 0; at < 19; at += 1) engines.learnHost(`host-${at}.example`);
  expect(await leaves()).toBe(false);
  engines.learnHost("agents.example.com");
  engines.learnHost("host-19.example");
  expect(await leaves(), "one that is still called stays").toBe(false);
  for (let at = 0; at < 20; at += 1) engines.learnHost(`other-${at}.example`);
  expect(await leaves()).toBe(true);
});
