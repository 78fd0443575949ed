import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import { openConsole } from "../support/console-page.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";

/** AP-54: names and summaries that others wrote, and agents far below the one that people talk with. */

let team: BuiltTeam;
let server: DevServer;
let browser: Browser;

beforeAll(async () => {
  team = await buildTestTeam("desk");
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  team?.remove();
});

const rename = async (page: Page, title: string): Promise<void> => {
  const head = page.locator(".conversation .head");
  await head.getByRole("button", { name: "What to do with this session" }).click();
  await head.getByRole("menuitem", { name: "Rename" }).click();
  const field = head.getByRole("textbox", { name: "Title of the session" });
  await field.fill(title);
  await field.press("Enter");
};

test("★ AP-54: names, titles and summaries show characters that nobody sees written out, wherever they stand in one line", async () => {
  const { page, complaints, close, start, state } = await openConsole(browser, server.url);
  await start("foreign");
  await state("done");
  await page.locator(".line", { hasText: String.raw`photo\u202egpj.sh` }).waitFor();
  await page.locator(".line", { hasText: String.raw`\u2066harmless\u2069` }).waitFor();
  await rename(page, "Paid\u202Ediap 👩‍💻 ❤️");
  const title = String.raw`Paid\u202ediap 👩‍💻 ❤️`;
  await page.getByRole("heading", { name: title, level: 1 }).waitFor();
  await expect.poll(() => page.title()).toBe(`${title} · Limpet`);
  await page.locator(".session.current .title", { hasText: title }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: `Session: ${title}` }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Files", exact: true }).click();
  await page.getByRole("button", { name: String.raw`Download photo\u202egpj.sh` }).waitFor();
  await page.getByRole("tab", { name: "Tasks", exact: true }).click();
  await page.locator(".store", { hasText: String.raw`Mend\u202ednem` }).waitFor();
  const file = { name: "in\u202Ene.txt", mimeType: "text/plain", buffer: Buffer.from("x") };
  await page.getByLabel("Files to attach").setInputFiles([file]);
  await page.getByRole("button", { name: String.raw`Leave in\u202ene.txt out` }).waitFor();
  await page.locator("#composer").press("Enter");
  await page.locator(".said .attachment", { hasText: String.raw`in\u202ene.txt` }).waitFor();
  const unseen = await page.evaluate<readonly string[]>(
    String.raw`[...document.querySelectorAll("body :not(.speech *)")].flatMap(({ childNodes, ariaLabel, title }) =>
      [ariaLabel, title, ...[...childNodes].filter((node) => node.nodeType === 3).map((node) => node.data)]
    ).filter((text) => /[\u202A-\u202E\u2066-\u2069]/.test(text ?? ""))`,
  );
  expect(unseen).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("AP-54: the palette names the session that is shown as the page does, before the list has been read again", async () => {
  const { page, close, start, state } = await openConsole(browser, server.url);
  await start("foreign");
  await state("done");
  const opened = Promise.withResolvers<void>();
  await page.route(/\/v1\/sessions(\?|\/[^/]+$)/, async (route) => {
    const response = await route.fetch();
    await opened.promise;
    await route.fulfill({ response });
  });
  await rename(page, "Named a moment ago");
  await page.getByRole("heading", { name: "Named a moment ago", level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Session: Named a moment ago" }).waitFor();
  opened.resolve();
  await close();
});

test("AP-54 AG-17: an agent on the fourth level opens as a page with a way back, and its asks lead there and are answered there", async () => {
  const { page, complaints, close, start, state, logText } = await openConsole(browser, server.url);
  const session = await start("dig");
  await page.getByRole("button", { name: /needs you · Show/ }).waitFor();
  await expect.poll(() => page.locator(".child").count()).toBe(4);
  await expect.poll(() => page.locator(".rail").count()).toBe(4);
  await page.locator(".child .child .child .child-line", { hasText: "Dig 4" }).click();
  await page.getByRole("heading", { name: "Dig 4", level: 1 }).waitFor();
  await page.getByText("Task: Dig 4").waitFor();
  expect(await logText()).toContain("Here it is dark.");
  const ask = page.locator(".ask");
  await ask.getByText("depth").first().waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".child", { hasText: "Dig 1" }).first().waitFor();
  await state("waiting for you");
  await page.getByRole("button", { name: /needs you · Show/ }).click();
  await page.getByRole("heading", { name: "Dig 5", level: 1 }).waitFor();
  await page.reload();
  await ask.getByRole("button", { name: "Approve", exact: true }).click();
  await page.locator(".line", { hasText: "You approved" }).waitFor();
  await page.getByText("Came back to flow").waitFor();
  await page.goBack();
  await page.goForward();
  await page.getByRole("button", { name: "Back to the conversation" }).click();
  await state("done");
  expect(page.url()).toBe(`${server.url}/console#${session}`);
  expect(complaints).toEqual([]);
  await close();
});
