import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { createApi } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import { root, startDevServer } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";

/** AP-54: the page of `/console` in a real browser, against the shipped default team. */

let team: BuiltTeam;
let server: DevServer;
let browser: Browser;
let page: Page;
/** What the page complained about. */
let complaints: string[];

const pictures = join(root, ".limpet/pictures");

beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  team = await buildTestTeam("default", "shipped");
  server = await startDevServer({ configs: team.configs, vars: { LIMPET_DEV: "1" } });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  team?.remove();
});

beforeEach(async () => {
  page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
  page.setDefaultTimeout(60_000);
  complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (line) => {
    const offline = /WebSocket|ERR_CONNECTION|favicon/.test(line.text());
    if (line.type() === "error" && !offline) complaints.push(line.text());
  });
});
afterEach(async () => {
  expect(complaints).toEqual([]);
  await page.close();
});

/** Opens the page and a new session; gives the session's id. */
const openSession = async (): Promise<string> => {
  await page.goto(server.url);
  expect(page.url()).toBe(`${server.url}/console`);
  await page.locator("#agent option").first().waitFor({ state: "attached" });
  await page.getByRole("button", { name: "New session" }).click();
  await page.locator('#connection[data-state="live"]').waitFor();
  return (await page.locator("#session").textContent()) ?? "";
};

const say = async (text: string): Promise<void> => {
  await page.locator("#text").fill(text);
  await page.locator("#text").press("Enter");
};

const logText = async (): Promise<string> => (await page.locator("#log").textContent()) ?? "";

/** The text of each message in a log. */
const textsOf = (events: readonly StoredEvent[]): readonly string[] =>
  events.flatMap((event) =>
    event.type === "message_added"
      ? [event.data.message.parts.map((part) => (part.type === "text" ? part.text : "")).join("")]
      : [],
  );

/** Waits until the page's log has more characters than this. */
const logLongerThan = async (length: number): Promise<void> => {
  await expect.poll(async () => (await logText()).length).toBeGreaterThan(length);
};

const picture = (name: string): Promise<unknown> => page.screenshot({ path: join(pictures, `${name}.png`) });

test("AP-54 CF-39: a session opens with the team's entry agent, whatever its place in the list", async () => {
  await openSession();
  expect(await page.locator("#agent option").allTextContents()).toEqual([
    "🔨 builder",
    "🐚 guide",
    "🔭 scout",
  ]);
  expect(await page.locator("#agent").inputValue()).toBe("guide");
});

test("AP-54: text that is sent from the console streams its answer", async () => {
  await openSession();
  await say("slow");
  await expect.poll(logText).toContain("The tide comes in");
  const early = (await logText()).length;
  await picture("streaming");
  await logLongerThan(early + 200);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("#status", { hasText: "idle" }).waitFor();
  expect(await logText()).toContain("Run cancelled");
  await picture("cancelled");
});

test("AP-54 AG-17: what called agents do stands under their names, and their ends do not end the session's run", async () => {
  await openSession();
  await say("team");
  await page.evaluate(`statuses = [];
    new MutationObserver(([change]) => statuses.push(change.target.textContent))
      .observe(document.querySelector("#status"), { childList: true })`);
  await page.locator("#log", { hasText: "That was **team**" }).waitFor();
  await page.locator("#status", { hasText: "idle" }).waitFor();
  const of = (name: string): Promise<number> => page.locator(`#log > [data-agent="${name}"]`).count();
  expect([await of("🔭 scout"), await of("🔨 builder")].map((count) => count > 2)).toEqual([true, true]);
  expect(await page.locator("#log > .user[data-agent]").count()).toBe(0);
  const statuses = await page.evaluate<readonly string[]>("statuses");
  expect(statuses.filter((text) => text.startsWith("idle"))).toEqual(["idle · end_turn"]);
  await picture("team");
});

test("AP-54: tools show their input, outcome and output", async () => {
  await openSession();
  await say("files");
  await page.locator("#status", { hasText: "idle" }).waitFor();
  for (const tool of ["fs_write", "fs_edit", "fs_read", "search_content"]) {
    await page
      .locator("details summary", { hasText: new RegExp(`${tool} .*ok`) })
      .first()
      .waitFor();
  }
  await page.locator("details summary", { hasText: "fs_edit" }).first().click();
  await picture("tools");
});

test("AP-54 SE-28: a question is answered on the page", async () => {
  const session = await openSession();
  await say("ask");
  await page.locator(".ask").waitFor();
  await picture("question");
  await page.getByRole("button", { name: "It stays where it is" }).click();
  await page.locator("#status", { hasText: "idle" }).waitFor();
  await expect.poll(() => page.locator(".ask").count()).toBe(0);
  expect(await logText()).toContain("That was **ask**");
  const [resolved] = (await createApi(server.url).events(session)).filter(
    ({ type }) => type === "ask_resolved",
  );
  expect(resolved?.data).toMatchObject({ decision: "answer" });
});

test("AP-54 SE-30: an approval that is edited on the page reaches the tool", async () => {
  const session = await openSession();
  await say("approve");
  await page.locator(".ask textarea").waitFor();
  await picture("approval");
  await page.locator(".ask textarea").fill('{"key": "letter", "value": "Dear sea, as edited."}');
  await page.getByRole("button", { name: "Approve as edited" }).click();
  await page.locator("#status", { hasText: "idle" }).waitFor();
  const { body } = await createApi(server.url).get(`/v1/sessions/${session}/state`);
  expect(JSON.stringify(body)).toContain("as edited");
});

test("AP-54 RE-P6: killed in the middle of an answer, the page recovers by itself and its text equals the log", async () => {
  const session = await openSession();
  const second = await browser.newPage();
  await second.goto(`${server.url}/console#${session}`);
  await second.locator('#connection[data-state="live"]').waitFor();
  await say("slow");
  await logLongerThan(600);
  await server.kill();
  await page.locator('#connection[data-state="waiting"], #connection[data-state="connecting"]').waitFor();
  await picture("server-gone");
  await server.start();
  await page.locator('#connection[data-state="live"]').waitFor();
  await page.locator("#status", { hasText: "idle · end_turn" }).waitFor();
  await second.locator("#status", { hasText: "idle · end_turn" }).waitFor();
  await picture("recovered");

  const answer = textsOf(await createApi(server.url).events(session)).at(-1) ?? "";
  expect(answer).toContain("That was **slow**");
  const shown = await page.locator("#log > *").allTextContents();
  const [once, ...more] = shown.filter((text) => text.includes("The tide comes in"));
  expect(more).toEqual([]);
  expect(once === answer, "the page shows what the log has").toBe(true);
  await expect.poll(() => second.locator("#log").innerText()).toBe(await page.locator("#log").innerText());
  await second.close();
});

test("RE-T31: what a person writes is text, never markup", async () => {
  await openSession();
  await say(
    '<img src=x onerror="document.title=1"><b id="planted">bold</b> & <script>document.title=2</script>',
  );
  await page.locator("#status", { hasText: "idle" }).waitFor();
  expect(await page.locator("#planted, #log img, #log script").count()).toBe(0);
  expect(await page.title()).toBe("Limpet");
  expect(await logText()).toContain('<b id="planted">');
});
