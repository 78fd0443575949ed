import { expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/client.ts";
import { createLocalWorkspace } from "../sandbox/local.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { engineOf } from "../support/teams.ts";
import { eventsOf } from "./harness.ts";

/** Rules and grants that come while calls wait (TB-6, TB-7, TB-9). */

const yaml = (calls: string, permissions: string): string => `
providers:
  - name: script
    kind: scripted
    model: play
    script: { script: 1, replies: [{ reply: [${calls}] }, { reply: [{ text: done }] }] }
agents:
  - { name: tester, toolboxes: [filesystem], effects: [], permissions: ${permissions} }
`;

const write = (path: string): string => `{ call: fs_write, args: { path: ${path}, content: new } }`;

/** A session whose calls were asked for; in its workspace, `docs/link` leads to `infra/main.tf`. */
const asked = async (text: string) => {
  const { fetch } = createLocalWorkspace();
  const sandbox = createSandbox({ fetch }, "any");
  for (const path of ["infra/main.tf", "docs/a"]) await sandbox.write(path, "old", { key: path });
  const request = { argv: ["ln", "-s", "../infra/main.tf", "docs/link"], execId: "link" };
  for await (const _ of sandbox.exec(request, new AbortController().signal));
  const env = { SANDBOX: { fetch } };
  const bench = openBench({ engine: await engineOf(text, { env }) });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  const deny = async (match: string): Promise<void> =>
    bench.deploy(
      await engineOf(`${text}permissions: { rules: [{ tool: "*", match: "${match}", action: deny }] }\n`, {
        env,
      }),
    );
  const infra = async () => new TextDecoder().decode(await sandbox.read("infra/main.tf"));
  return { bench, deny, infra };
};

const approve = async (bench: Bench, remember: "once" | "session" = "once"): Promise<void> => {
  const [ask] = Object.keys(bench.state().asks);
  bench.ok("answer", { ask, decision: "approve", remember });
  await bench.idle();
};

const texts = (bench: Bench) => eventsOf(bench, "tool_call_end").map(({ output }) => output);

test("TB-9: what is remembered holds for calls of the same reply that still wait for their turn", async () => {
  const { bench } = await asked(yaml(["docs/b", "docs/c", "docs/d"].map(write).join(), "{ preset: ask }"));
  await approve(bench, "session");
  expect(texts(bench)).toEqual(["b", "c", "d"].map((name) => `Wrote 3 bytes to docs/${name}.`));
  expect(eventsOf(bench, "ask_user")).toHaveLength(1);
});

test("TB-7, TB-9: a call that a new grant lets through goes through no link", async () => {
  const { bench, infra } = await asked(yaml([write("docs/b"), write("docs/link")].join(), "{ preset: ask }"));
  await approve(bench, "session");
  expect(texts(bench)[1]).toMatch(/^not_permitted: docs\/link goes through the link/);
  expect(await infra()).toBe("old");
});

test("TB-6, TB-7: approved, then a deny in force on what lies below: refused", async () => {
  const remove = "{ call: fs_delete, args: { path: infra, recursive: true } }";
  const { bench, deny, infra } = await asked(yaml(remove, "{ preset: ask }"));
  await deny("**/*.tf");
  await approve(bench);
  expect(texts(bench)).toEqual([expect.stringMatching(/^not_permitted: .* applies to infra\/main.tf/)]);
  expect(await infra()).toBe("old");
});

test("TB-6, SE-28: a deny that came in the meantime beats an approval by time, too", async () => {
  const rule = "{ tool: fs_write, action: ask, on_timeout: approve, ask_timeout: 60s }";
  const { bench, deny, infra } = await asked(
    yaml(write("infra/main.tf"), `{ preset: open, rules: [${rule}] }`),
  );
  await deny("infra/**");
  await bench.pass(61_000);
  expect(texts(bench)).toEqual(["denied: a rule forbids this call (rule deny * infra/**)"]);
  expect(eventsOf(bench, "ask_expired")).toMatchObject([{ applied: "deny" }]);
  expect(await infra()).toBe("old");
});
