import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { createApi } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import { desk, openConsole, phone } from "../support/console-page.ts";
import { root } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";

/** `npm run screenshots`: pictures of the console over the scenes of the default team, into `src/console/screenshots`. */

const folder = join(root, "src/console/screenshots");
const largest = 200 * 1024;

const team = await buildTestTeam("default", "shipped");
const server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
const browser = await launchChromium();
const { post } = createApi(server.url);

const play = async (title: string, ...scenes: readonly string[]): Promise<string> => {
  const { body } = await post("/v1/sessions", { title });
  const session = String(body["id"]);
  for (const content of scenes) await post(`/v1/sessions/${session}/messages`, { content, wait: 60 });
  return session;
};

const show = async (page: Page, address: string, words: string): Promise<void> => {
  await page.goto("about:blank");
  await page.goto(`${server.url}/console#${address}`);
  await page.getByText(words).first().waitFor();
  await page.waitForLoadState("networkidle");
};

const take = async (page: Page, name: string): Promise<void> => {
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  const { size } = statSync(path);
  process.stdout.write(`${name}.png, ${Math.round(size / 1024)} KB\n`);
  if (size > largest) throw new Error(`${name}.png has ${size} bytes, more than ${largest}`);
};

/** The pictures: a name, what is shown, words that are there once it is, and a size. */
const shots = (sessions: Readonly<Record<string, string>>) =>
  [
    { name: "first", address: "", words: "To begin with", viewport: desk },
    { name: "desk", address: sessions["desk"] ?? "", words: "Needs your approval", viewport: desk },
    { name: "team", address: sessions["team"] ?? "", words: "That was", viewport: desk },
    { name: "question", address: sessions["ask"] ?? "", words: "asks you", viewport: desk },
    {
      name: "context",
      address: `${sessions["compact"]}/run_1/6`,
      words: "became one summary",
      viewport: desk,
    },
    { name: "phone", address: sessions["desk"] ?? "", words: "Needs your approval", viewport: phone },
  ] as const;

try {
  mkdirSync(folder, { recursive: true });
  const sessions = {
    team: await play("Put up a sign at the harbour", "team"),
    compact: await play("Read the table of tides", "compact"),
    budget: await play("How much may it spend?", "budget"),
    ask: await play("Where does a limpet go?", "ask"),
    desk: await play("Write to the sea", "files", "approve"),
  };
  for (const colorScheme of ["light", "dark"] as const)
    for (const { name, address, words, viewport } of shots(sessions)) {
      const { page, close } = await openConsole(browser, server.url, {
        colorScheme,
        viewport,
        reducedMotion: "reduce",
      });
      await show(page, address, words);
      await take(page, `${name}-${colorScheme}`);
      await close();
    }
} finally {
  await browser.close();
  await server.close();
  team.remove();
}
