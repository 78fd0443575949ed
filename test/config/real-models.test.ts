import { afterEach, expect, test } from "vitest";
import type { Bindings } from "../../src/engine/secrets/secrets.ts";
import { createEngine } from "../../src/engine/create.ts";
import { lastEvent, say, wireEnv } from "../engine/harness.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { eventsAs, resultsOf } from "../support/crew.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider, FakeReply, FakeRequest } from "../support/fake-provider.ts";
import type { Speech } from "../support/fake-provider-reply.ts";
import { shippedTeam, shippedYaml } from "../support/shipped.ts";
import { engineOptions } from "../support/teams.ts";
import { workspaceWith } from "../support/workspace.ts";

/** Shipped teams with a provider that stands in them as a comment swapped in, on a fake model API. */

let provider: FakeProvider | null = null;
afterEach(async () => {
  await provider?.close();
  provider = null;
});

const uncommented = (text: string): string => text.replaceAll(/^ {2}# /gm, "  ");

/** A session of such a team; `at` is where its provider is said to be. */
const sessionOf = async (
  name: string,
  yaml: string,
  at: string,
  secret: string,
  more: Bindings = {},
): Promise<Bench> => {
  const reachable = yaml.replaceAll(
    /^ {4}(?:base_url: .*\n {4})?api_key:/gm,
    `    base_url: ${at}\n    api_key:`,
  );
  const team = await shippedTeam(name, reachable);
  const env = wireEnv(provider as FakeProvider, { [secret]: "sk-the-only-key", ...more });
  const bench = openBench({ engine: createEngine(engineOptions(team, { env })) });
  bench.ok("create");
  return bench;
};

const says = (...pieces: Speech["pieces"]): FakeReply => ({ speech: { pieces } });

const assistants = [
  ["openai", "OPENAI_API_KEY"],
  ["grok", "XAI_API_KEY"],
  ["gemini", "GEMINI_API_KEY"],
  ["openai-compatible", "MODELS_API_KEY"],
] as const;

test.each(assistants)(
  "CF-41: assistant with the block of %s swapped in works with %s alone",
  async (kind, secret) => {
    provider = await startFakeProvider(() => says({ text: "Here I am." }));
    const yaml = shippedYaml("assistant");
    const block = [...yaml.matchAll(/^ {2}# - name: default\n(?: {2}# {3}.*\n)+/gm)]
      .map(([text]) => uncommented(text))
      .find((text) => text.includes(`kind: ${kind}\n`)) as string;
    const swapped = yaml.replace(/^ {2}- name: default\n(?: {4}.*\n)+/m, block);
    const url = provider.url(kind === "openai-compatible" ? "compatible" : kind);
    const bench = await sessionOf("assistant", swapped, url, secret);
    expect(await say(bench)).toMatchObject({ state: "completed", result: { text: "Here I am." } });
    expect(provider.requests.map((request) => request.headers["authorization"])).toEqual([
      "Bearer sk-the-only-key",
    ]);
  },
);

/** The agent whose model is asked. */
const agentOf = ({ body }: FakeRequest): string =>
  /You are (\w+)/.exec(JSON.stringify(body["system"]))?.[1] ?? "";

const answersIn = ({ body }: FakeRequest): number =>
  (body["messages"] as readonly { role: string }[]).filter(({ role }) => role === "assistant").length;

/** Its first answer is a call, its second a sentence. */
const callsOnce =
  (calls: Readonly<Record<string, readonly [string, object]>>) =>
  (request: FakeRequest): FakeReply => {
    const [call, args] = calls[agentOf(request)] ?? [];
    return call === undefined || args === undefined || answersIn(request) > 0
      ? says({ text: "That is all." })
      : says({ call, args });
  };

const devTeam = async (
  script: (request: FakeRequest) => FakeReply,
  yaml = shippedYaml("dev-team"),
  more: Bindings = {},
): Promise<Bench> => {
  provider = await startFakeProvider(script);
  const [block = ""] = /^ {2}# - name: lead\n(?: {2}# .*\n)+/m.exec(yaml) ?? [];
  const swapped = yaml
    .replace(block, uncommented(block))
    .replaceAll(/^ {2}- \{ name: \w+, kind: scripted, .*\n/gm, "");
  return sessionOf("dev-team", swapped, provider.url("anthropic"), "ANTHROPIC_API_KEY", more);
};

const task = { agent: "coder", task: "Write the program.", context: "" };

test.each([
  ["delegate_to_agent", task],
  ["spawn_agents", { tasks: [{ ...task, agent: "reviewer" }, task] }],
  ["delegate", { tasks: [task], on_error: "collect" }],
  ["dispatch_tasks", { tasks: [{ id: "a", agent: "coder", message: "Write it.", blocking: true }] }],
])("★ CF-40: called with %s, the coder is not started before a person approves", async (call, args) => {
  const bench = await devTeam(callsOnce({ lead: [call, args] }));
  bench.send("Build it.");
  await bench.idle();
  const [ask, ...others] = Object.values(bench.state().asks);
  expect(others).toEqual([]);
  expect(ask).toMatchObject({ kind: "approval" });
  expect(Object.keys(bench.state().threads)).toEqual(["main"]);
  bench.ok("answer", { ask: ask?.id, decision: "approve" });
  await bench.idle();
  const started = eventsAs({ bench }, "agent_start").map(({ agent }) => agent.name);
  expect(started).toContain("coder");
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
});

test("CF-40: the others are called without a question", async () => {
  const bench = await devTeam(callsOnce({ lead: ["delegate_to_agent", { ...task, agent: "explorer" }] }));
  expect(await say(bench, "Build it.")).toMatchObject({ state: "completed" });
  expect(eventsAs({ bench }, "agent_start").map(({ agent }) => agent.name)).toEqual(["lead", "explorer"]);
});

test("★ CF-40: a reviewer that calls fs_write is refused at dispatch", async () => {
  const bench = await devTeam(
    callsOnce({
      lead: ["delegate_to_agent", { ...task, agent: "reviewer" }],
      reviewer: ["fs_write", { path: "bin/tides.sh", content: "echo high" }],
    }),
  );
  await say(bench, "Build it.");
  const [call] = eventsAs({ bench }, "tool_call_end").filter(({ agent }) => agent.name === "reviewer");
  expect(resultsOf({ bench }, call?.thread)).toEqual([
    "denied: not_permitted: reviewer may not use fs_write",
  ]);
  expect(eventsAs({ bench }, "tool_call_start").map(({ data }) => data.tool)).toEqual(["delegate_to_agent"]);
});

test("★ CF-40 SE-39: the coder's edits are checked, and a red check goes back to its model before its task ends", async () => {
  const { env, text } = await workspaceWith({
    "test/run.sh": '[ "$(sh bin/tides.sh)" = high ] || { echo "the tide is $(sh bin/tides.sh)"; exit 1; }',
  });
  const path = "bin/tides.sh";
  const complete = says({ call: "task_complete", args: { status: "completed", summary: "It is high." } });
  const coder: readonly FakeReply[] = [
    says({ call: "fs_write", args: { path, content: "echo low" } }),
    says({ call: "fs_edit", args: { path, old_text: "low", new_text: "high" } }),
    complete,
  ];
  const leads = callsOnce({ lead: ["delegate_to_agent", task] });
  const ownCommand = 'verify_after_edit: true\n      verify_command: "sh test/run.sh"';
  const bench = await devTeam(
    (request) => (agentOf(request) === "coder" ? (coder[answersIn(request)] ?? complete) : leads(request)),
    shippedYaml("dev-team").replace("verify_after_edit: true", ownCommand),
    env,
  );
  bench.send("Build it.");
  await bench.idle();
  bench.ok("answer", { ask: Object.keys(bench.state().asks)[0], decision: "approve" });
  await bench.idle();
  const asked = provider?.requests.filter((request) => agentOf(request) === "coder") ?? [];
  expect(asked).toHaveLength(3);
  const notes = asked.map(
    (request) => JSON.stringify(request.body["messages"]).split('from=\\"verify\\"').length - 1,
  );
  expect(notes, "the red check is told once, the green one never").toEqual([0, 1, 1]);
  expect(JSON.stringify(asked[1]?.body["messages"])).toContain("the tide is low");
  const checks = eventsAs({ bench }, "verify");
  expect(checks.map(({ agent, data }) => `${agent.name} ${data.state}`)).toEqual([
    "coder started",
    "coder failed",
    "coder started",
    "coder passed",
  ]);
  expect(await text(path)).toBe("echo high");
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
});
