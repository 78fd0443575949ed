import { afterAll, beforeAll, expect, test } from "vitest";
import type { Browser } from "playwright-core";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import { openConsole, violationsOf } from "../support/console-page.ts";
import { startDevServer, until } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";

/** AP-54: permissions that approvals have left behind are found in the console, and taken back. */

let team: BuiltTeam;
let server: DevServer;
let browser: Browser;
let api: Api;

beforeAll(async () => {
  team = await buildTestTeam("default", "shipped");
  server = await startDevServer({ configs: team.configs, vars: { LIMPET_DEV: "1" } });
  browser = await launchChromium();
  api = createApi(server.url);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  team?.remove();
});

/** Plays the scene `approve` until it asks or ends; gives the open ask. */
const askedBy = async (session: string): Promise<string | null> => {
  await api.post(`/v1/sessions/${session}/messages`, { content: "approve" });
  return until("the run asks or ends", async () => {
    const { body } = await api.get(`/v1/sessions/${session}`);
    const [ask] = body["open_asks"] as readonly string[];
    return ask !== undefined ? { ask } : body["last_end"] !== null ? { ask: null } : null;
  }).then(({ ask }) => ask);
};

test("AP-54 TB-8: what was allowed for an agent stands in the palette, and asks again once it is taken back", async () => {
  const first = await api.create();
  const ask = await askedBy(first);
  await api.post(`/v1/sessions/${first}/asks/${ask}`, { decision: "approve", remember: "agent" });
  const granted = async () => ((await api.get("/v1/grants")).body["data"] as unknown[]).length;
  await until("it is remembered", async () => ((await granted()) === 1 ? true : null));
  expect(await askedBy(await api.create())).toBeNull();

  const { page, close, complaints } = await openConsole(browser, server.url);
  await page.goto(`${server.url}/console`);
  await page.getByRole("button", { name: "Start" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "What to do" }).fill("permission");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("for guide in every session").waitFor();
  expect(await dialog.locator("code").textContent()).toBe("shared_state_set *");
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Take it back" }).click();
  await dialog.getByText("None.").waitFor();
  expect(await granted()).toBe(0);
  expect(await askedBy(await api.create())).not.toBeNull();
  expect(complaints).toEqual([]);
  await close();
});
