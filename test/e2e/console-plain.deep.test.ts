import { afterAll, beforeAll, expect, test } from "vitest";
import type { Browser } from "playwright-core";
import { createApi } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import { openConsole } from "../support/console-page.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";

/** AP-54: the console over plain HTTP, as another machine of the network has it: browsers keep much from such a page. */

let team: BuiltTeam;
let server: DevServer;
let browser: Browser;

beforeAll(async () => {
  team = await buildTestTeam("default", "shipped");
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  browser = await launchChromium(["--host-resolver-rules=MAP harbour.test 127.0.0.1"]);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  team?.remove();
});

test("AP-54: over plain HTTP sessions begin, go on and are answered, and nothing offers to copy", async () => {
  const scopes = ["sessions:read", "sessions:write", "asks:answer"];
  const { body } = await createApi(server.url).post("/v1/keys", { name: "phone", scopes });
  const address = server.url.replace(new URL(server.url).hostname, "harbour.test");
  const { page, complaints, close, state, say } = await openConsole(browser, address);
  await page.goto(`${address}/console`);
  await page.getByLabel("Key").fill(String(body["key"]));
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("button", { name: "Start" }).waitFor();
  expect(await page.evaluate("isSecureContext")).toBe(false);
  await say("ask");
  await page.locator(".ask .option").first().click();
  await state("done");
  await say("run");
  await state("done");
  await page.locator(".log [aria-expanded=false]").last().click();
  await page.locator(".log pre").last().waitFor();
  expect(await page.getByRole("button", { name: /^Copy/ }).count()).toBe(0);
  expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
  await close();
});
