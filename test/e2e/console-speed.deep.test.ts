import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import { openConsole } from "../support/console-page.ts";
import {
  createLongSession,
  measureLoad,
  measureScroll,
  measureStream,
  speakQuickly,
} from "../support/console-speed.ts";
import type { Smoothness } from "../support/console-speed.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";

/**
 * AP-54: the console stays quick with a long log and a fast stream. The bench holds the goals, on a quiet machine; this
 * fails where the console is several times slower.
 */

/** The middle one of three is looked at: other tests run on the same machine. */
const passes = 3;

const middleOf = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;

let team: BuiltTeam;
let server: DevServer;
let browser: Browser;
let api: Api;

beforeAll(async () => {
  team = await buildTestTeam("default", "shipped", { edit: speakQuickly });
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  browser = await launchChromium();
  api = createApi(server.url);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  team?.remove();
});

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

test("AP-54: a session of 2,000 events is there quickly, and is read to its first message without a stop", async () => {
  const session = await createLongSession(api, 2_000);
  const times: number[] = [];
  const longest: number[] = [];
  for (let pass = 0; pass < passes; pass += 1) {
    times.push(await measureLoad(browser, server.url, session));
    longest.push((await measureScroll(browser, server.url, session)).longest);
  }
  await readOlderEvents(session.id);
  await showOldRun(session.id);
  expect(middleOf(times)).toBeLessThanOrEqual(2_000);
  expect(middleOf(longest)).toBeLessThanOrEqual(200);
});

test("AP-54: a stream of 500 pieces in a second leaves the page quick", async () => {
  const measured: Smoothness[] = [];
  for (let pass = 0; pass < passes; pass += 1) measured.push(await measureStream(browser, server.url));
  expect(middleOf(measured.map(({ longest }) => longest))).toBeLessThanOrEqual(200);
  expect(middleOf(measured.map(({ dropped }) => dropped))).toBeLessThanOrEqual(0.5);
});
