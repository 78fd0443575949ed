import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTeamFile } from "../support/built-team.ts";
import type { TeamFile } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import { openConsole } from "../support/console-page.ts";
import { root } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";

/** What a person agrees to, as the console shows it, and what an operator takes back by a deploy (TB-6, TB-8). */

interface Parts {
  readonly files?: string;
  readonly rules?: string;
}

const always = "{ tool: exec_run, action: ask }";

/** A team whose agent runs a disguised command for `list`, a plain one for `other`, and writes a file for `write`. */
const yaml = ({ files = "[fs_read, fs_write]", rules = always }: Parts = {}): string => String.raw`
providers:
  - name: script
    kind: scripted
    model: play
    script:
      script: 1
      start: done
      scenes:
        - name: list
          when: { turn: 1, input: { contains: list } }
          reply: [{ call: exec_run, args: { command: sh, args: ["-c", "echo \u202Egnp.cod\u202C \u200Bend"] } }]
        - name: other
          when: { turn: 1, input: { contains: other } }
          reply: [{ call: exec_run, args: { command: sh, args: ["-c", "echo other"] } }]
        - name: write
          when: { turn: 1, input: { contains: write } }
          reply: [{ call: fs_write, args: { path: notes/a.md, content: text } }]
        - { name: done, reply: [{ text: Done. }] }
permissions: { rules: [${rules}] }
agents:
  - name: clerk
    toolboxes: [exec, { name: filesystem, tools: ${files} }]
    effects: []
`;

let team: TeamFile;
let server: DevServer;
let browser: Browser;
let api: Api;

const pictures = join(root, ".limpet/pictures");

/** Runs another team file on the same storage, as a deploy does. */
const deploy = async (parts: Parts): Promise<void> => {
  await server.kill();
  await team.deploy(yaml(parts));
  await server.start();
};

beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  team = await buildTeamFile(yaml());
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  api = createApi(server.url);
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  team?.remove();
});

/** Waits until so many runs of a session have ended. */
const ended = async (session: string, runs: number): Promise<void> => {
  const ends = async () => (await api.events(session)).filter(({ type }) => type === "run_end").length;
  await expect.poll(ends, { timeout: 20_000 }).toBe(runs);
};

const asksOf = async (session: string): Promise<readonly unknown[]> =>
  (await api.get(`/v1/sessions/${session}/asks`)).body["data"] as readonly unknown[];

test("★ TB-8 TB-9: the console shows a disguised command escaped, what may be remembered, and one button for each answer", async () => {
  const { page, complaints, start, say, close } = await openConsole(browser, server.url);
  const session = await start("list");
  const ask = page.locator(".ask");
  const approve = ask.getByRole("button", { name: "Approve", exact: true });
  const own = ask.getByRole("button", { name: "Approve my version" });
  const shown = String.raw`echo \u202egnp.cod\u202c \u200bend`;
  await ask.locator(".command", { hasText: shown }).waitFor();
  await ask.getByRole("tab", { name: "Input" }).click();
  await ask.getByRole("tabpanel").getByText(shown).waitFor();
  expect(await ask.innerText()).not.toMatch(/\p{Cf}/u);
  await page.screenshot({ path: join(pictures, "approval-disguised.png") });
  await ask.getByRole("button", { name: "Edit", exact: true }).click();
  const area = ask.getByRole("textbox");
  const before = await area.inputValue();
  expect(before).toContain(shown);
  expect([await approve.count(), await own.count()]).toEqual([1, 0]);
  await area.fill(before.replace("end", "END"));
  expect([await approve.count(), await own.count()]).toEqual([0, 1]);
  await page.screenshot({ path: join(pictures, "approval-edited.png") });
  await area.fill(before);
  expect([await approve.count(), await own.count()]).toEqual([1, 0]);
  expect(await asksOf(session)).toMatchObject([
    { approval: { remember: { tool: "exec_run", pattern: "sh -c 'echo \u202Egnp.cod\u202C \u200Bend'" } } },
  ]);
  await ask.getByRole("button", { name: "Once" }).click();
  await page.getByRole("menuitemradio", { name: /^In this session/ }).click();
  const pattern = String.raw`exec_run sh -c 'echo \u202egnp.cod\u202c \u200bend'`;
  expect(await ask.locator(".ask-rule code").textContent()).toBe(pattern);
  await approve.click();
  await ended(session, 1);
  await say("list again");
  await ended(session, 2);
  expect(await asksOf(session)).toHaveLength(1);
  await say("other");
  await ask.waitFor();
  await ask.getByRole("button", { name: "Deny…" }).click();
  await ask.getByRole("button", { name: /^Deny and tell/ }).click();
  await ended(session, 3);
  expect(complaints).toEqual([]);
  await close();
});

test("★ TB-6 CF-34: what a deploy takes back is gone for a session that was there before, and given back it is there again", async () => {
  const session = await api.create();
  const write = async (): Promise<unknown> => {
    const receipt = await api.post(`/v1/sessions/${session}/messages`, { content: "write", wait: 30 });
    expect([200, 202]).toContain(receipt.status);
    const end = (await api.events(session)).findLast(({ type }) => type === "tool_call_end");
    return end?.data;
  };
  expect(await write()).toMatchObject({ outcome: "ok" });
  await deploy({ files: "[fs_read]" });
  expect(await write()).toMatchObject({
    outcome: "denied",
    output: "not_permitted: clerk may not use fs_write any more",
  });
  await deploy({ rules: `${always}, { tool: fs_write, match: "notes/**", action: deny, reason: Ops }` });
  expect(await write()).toMatchObject({
    outcome: "denied",
    output: "denied: a rule forbids this call (rule deny fs_write notes/**): Ops",
  });
  await deploy({ rules: `${always}, { tool: fs_write, action: ask }` });
  await write();
  const open = (await api.get(`/v1/sessions/${session}/asks?status=open`)).body["data"];
  expect(open).toMatchObject([
    { approval: { tool: "fs_write", remember: { tool: "fs_write", pattern: "notes/**" } } },
  ]);
  const [{ id }] = open as [{ id: string }];
  await api.post(`/v1/sessions/${session}/asks/${id}`, { decision: "deny" });
  await deploy({});
  expect(await write()).toMatchObject({ outcome: "ok" });
});
