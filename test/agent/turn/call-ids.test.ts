import { afterAll, beforeAll, expect, test } from "vitest";
import { many } from "../../effects/context.ts";
import { done, ranOn } from "../../effects/wire.ts";
import type { FakeProvider } from "../../support/fake-provider.ts";
import { startFakeProvider } from "../../support/fake-provider.ts";
import { benchOf, wireEnv } from "../../engine/harness.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { workspaceWith } from "../../support/workspace.ts";

let fake: FakeProvider;

beforeAll(async () => {
  fake = await startFakeProvider();
});

afterAll(() => fake.close());

test("MO-3 SE-6 TB-12 TB-29 ★: a provider that numbers its calls anew each turn gets every call done, also behind a window", async () => {
  const workspace = await workspaceWith();
  const { bench } = await ranOn(fake, {
    effects: "- { kind: sliding_window, params: { threshold: 0.4, recent_zone: 2, medium_zone: 2 } }",
    window: 12_000,
    boxes: "exec, filesystem",
    env: workspace.env,
    turns: [
      ...many(20, (turn) => [
        { text: "It is known. ".repeat(120) },
        { call: "exec_shell", id: "call_0", args: { script: `echo ${turn} >> log` } },
        { call: "fs_edit", id: "call_1", args: { path: `f${turn}`, old_text: "", new_text: "x" } },
      ]),
      [{ call: "exec_run", id: "call_0", args: { command: "sh", args: ["-c", "cat log; echo f* | wc -w"] } }],
      done,
    ],
  });
  const calls = bench.events().filter(({ type }) => type === "tool_call_start");
  expect(bench.events().some(({ type }) => type === "messages_retired" || type === "compaction")).toBe(true);
  expect(new Set(calls.map(({ call }) => call)).size).toBe(41);
  expect(calls[0]).toMatchObject({ call: "call_0" });
  const last = bench.events().findLast(({ type }) => type === "tool_call_end");
  const numbers = many(20, (turn) => `${turn}\n`).join("");
  expect(last).toMatchObject({ data: { outcome: "ok", output: `${numbers}20\n[exit 0]` } });
  checkInvariants(bench, []);
});

test("MO-3 SE-6: agents whose provider gives their calls the same ids have calls of their own", async () => {
  const says = (pieces: readonly unknown[]) => ({ speech: { pieces } });
  const works = ["one", "two"].map((what) => ({
    call: "delegate_to_agent",
    id: `call_${what}`,
    args: { agent: "worker", context: "none", task: `Do ${what}.` },
  }));
  fake.play(({ body }) => {
    const { messages, system } = body as { messages: readonly unknown[]; system: unknown };
    if (!JSON.stringify(system).includes("You work."))
      return says(messages.length === 1 ? works : done) as never;
    const call = { call: "exec_run", id: "call_0", args: { command: "echo", args: ["hi"] } };
    return says(JSON.stringify(messages).includes("call_0") || messages.length > 2 ? done : [call]) as never;
  });
  const workspace = await workspaceWith();
  const bench = await benchOf(
    `
providers:
  - { name: main, kind: anthropic, base_url: ${fake.url("anthropic")}, api_key: "\${KEY}", model: claude-sonnet-5-5 }
agents:
  - { name: lead, toolboxes: [agents], delegation: { may_call: [worker] }, permissions: { preset: open }, effects: [] }
  - { name: worker, toolboxes: [exec], instructions: You work., permissions: { preset: open }, effects: [] }
`,
    { env: wireEnv(fake, workspace.env) },
    {},
  );
  bench.send("Go");
  await bench.idle();
  const calls = bench
    .events()
    .flatMap(({ type, call, agent }) =>
      type === "tool_call_start" && agent.name === "worker" ? [call] : [],
    );
  expect(calls).toHaveLength(2);
  expect(new Set(calls).size).toBe(2);
});
