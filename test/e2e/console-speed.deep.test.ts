import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import { openConsole } from "../support/console-page.ts";
import { startDevServer } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";

/**
 * AP-54: the console stays quick with a long log and a fast stream. The goals are 1,000 ms, no task over 50 ms and 5 % of
 * frames; they are read off what is printed, on a quiet machine. The test fails where the middle of five passes is several
 * times worse.
 */

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;

let team: BuiltTeam;
let server: DevServer;
let browser: Browser;
let api: Api;

/** The script speaks 24 characters at a time; so many milliseconds apart, these are 500 pieces in a second. */
const quick = (text: string): string => text.replaceAll(/"delay_ms": ?15\b/g, '"delay_ms":2');

beforeAll(async () => {
  team = await buildTestTeam("default", "shipped", { edit: quick });
  server = await startDevServer({ configs: team.configs, vars: { LIMPET_DEV: "1" } });
  browser = await launchChromium();
  api = createApi(server.url);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  team?.remove();
});

const passes = 5;

const watchTasks = (page: Page): Promise<void> =>
  page.evaluate(`
    window.long = []; window.frames = [];
    new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: "longtask" });
    const frame = (at) => { frames.push(at); requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
  `);

/** Notes, from the beginning of a page, when the end of the conversation was drawn, and with how many rows. */
const watchFirstRows = (page: Page): Promise<unknown> =>
  page.addInitScript(`
    const look = () => {
      const isDone = document.querySelector(".conversation .head-words")?.textContent.includes("done");
      const end = [...document.querySelectorAll(".speech")].at(-1)?.textContent ?? "";
      if (!isDone || !end.includes("That was files")) return requestAnimationFrame(look);
      const rows = document.querySelectorAll(".entry").length;
      requestAnimationFrame(() => setTimeout(() => { window.first = { rows, at: performance.now() }; }));
    };
    requestAnimationFrame(look);
  `);

/** Waits until the rows above the first ones are there, and says when and how many the first ones were. */
const readFirstRows = async (page: Page): Promise<{ readonly rows: number; readonly at: number }> => {
  await expect.poll(() => page.evaluate("window.first !== undefined")).toBe(true);
  const first = await page.evaluate<{ rows: number; at: number }>("window.first");
  await expect.poll(() => page.locator(".log .entry").count()).toBeGreaterThan(2 * first.rows);
  const below = "(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)";
  await expect.poll(() => page.evaluate<number>(`${below}(document.querySelector(".log"))`)).toBeLessThan(2);
  return first;
};

/** The panel says which events it does not hold, and brings them, up to the first one. */
const readOlderEvents = async (session: string): Promise<void> => {
  const { page, close } = await openConsole(browser, server.url);
  await page.goto(`${server.url}/console#${session}`);
  await page.getByRole("tab", { name: "Events", exact: true }).click();
  await page.getByText("older ones are on the server").waitFor();
  await page.getByRole("searchbox", { name: "Filter events" }).fill("session_created");
  await page.getByRole("button", { name: "Read 1,000 older ones" }).click();
  await page.getByRole("button", { name: /^Read \d{1,3} older ones$/ }).click();
  await page.locator(".events > li", { hasText: "session_created" }).waitFor();
  expect(await page.getByText("older ones are on the server").count()).toBe(0);
  await close();
};

/** The turns of a run that the page does not hold are read once it is chosen. */
const showOldRun = async (session: string): Promise<void> => {
  const { page, close } = await openConsole(browser, server.url);
  await page.goto(`${server.url}/console#${session}`);
  const choice = page.getByLabel("Which run");
  await choice.waitFor();
  const oldest = await choice.locator("option[value^=run_]").last().getAttribute("value");
  await choice.selectOption(oldest);
  await page.getByText("Its last turn").waitFor();
  await expect.poll(() => page.locator(".panel .lane-title").count()).toBe(4);
  expect(await page.locator(".panel .lane-title").last().textContent()).toBe("Answered");
  await close();
};

test("AP-54: a session of 2,000 events is there quickly", async () => {
  const session = await api.create({ title: "A long one" });
  for (let head = 0; head < 2_000;) {
    await api.post(`/v1/sessions/${session}/messages`, { content: "files", wait: 60 });
    head = Number((await api.get(`/v1/sessions/${session}`)).body["head_seq"]);
  }
  const times: number[] = [];
  for (let pass = 0; pass < passes; pass += 1) {
    const { page, close } = await openConsole(browser, server.url);
    await watchFirstRows(page);
    await page.goto(`${server.url}/console#${session}`);
    times.push((await readFirstRows(page)).at);
    await close();
  }
  await readOlderEvents(session);
  await showOldRun(session);
  console.log(`2,000 events are shown after ${times.map(Math.round).join(", ")} ms`);
  expect(median(times)).toBeLessThanOrEqual(2_000);
});

test("AP-54: a stream of 500 pieces in a second leaves the page quick", async () => {
  const longest: number[] = [];
  const dropped: number[] = [];
  for (let pass = 0; pass < passes; pass += 1) {
    const { page, start, state, close } = await openConsole(browser, server.url);
    await start("hello");
    await state("done");
    await watchTasks(page);
    await page.locator("#composer").fill("slow");
    await page.keyboard.press("Enter");
    await page.locator(".speech", { hasText: "That was slow" }).waitFor();
    const { long, frames } = await page.evaluate<{ long: number[]; frames: number[] }>("({ long, frames })");
    const gaps = frames.slice(1).map((at, place) => at - (frames[place] ?? at));
    const missed = gaps.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / (1_000 / 60)) - 1), 0);
    longest.push(Math.max(0, ...long));
    dropped.push(missed / (frames.length + missed));
    await close();
  }
  const shares = dropped.map((share) => `${(share * 100).toFixed(1)} %`).join(", ");
  console.log(`longest tasks ${longest.map(Math.round).join(", ")} ms; dropped frames ${shares}`);
  expect(median(longest)).toBeLessThanOrEqual(300);
  expect(median(dropped)).toBeLessThanOrEqual(0.5);
});
