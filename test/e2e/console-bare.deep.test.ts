import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { serveConsole } from "../support/console-page.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import { playing, say as speak } from "../support/plays.ts";

/** AP-54: what the console says of a team that has no prices and no stores, and of runs that fail or ask. */

/** How many of the next requests the model refuses. */
let refusals = 0;

const answer = playing({
  hello: () => [speak({ text: "Hello." })],
  wait: () => [speak({ call: "exec_run", args: { command: "sleep", args: ["600"] } })],
  ask: () => [speak({ call: "exec_run", args: { command: "ls" } }), speak({ text: "Done." })],
});

const site = serveConsole("bare", "test", {
  prepare: async () => {
    const model = await startFakeProvider((request, count) => {
      if (refusals === 0) return answer(request, count);
      refusals -= 1;
      return { status: 503, body: { error: { message: "too busy" } } };
    });
    return {
      vars: {
        LIMPET_PRIVATE_EGRESS: `127.0.0.1:${model.port}`,
        MODEL_URL: model.url("compatible"),
        MODEL_KEY: "sk-bare",
      },
      close: model.close,
    };
  },
});

const clickMenu = async (item: string): Promise<void> => {
  const head = site.shown.page.locator(".conversation .head");
  await head.getByRole("button", { name: "What to do with this session" }).click();
  await head.getByRole("menuitem", { name: item }).click();
};

const choose = async (text: string): Promise<void> => {
  const { page } = site.shown;
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "What to do" }).fill(text);
  await page.keyboard.press("Enter");
};

test("AP-54: stores that no agent uses have no tabs and are not asked for, and a limit that no cost counts towards says so", async () => {
  const { page, start, state } = site.shown;
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await start("play hello");
  await state("done");
  await page
    .getByText("No cost counts towards the $2.00 for the next run, since no price is known")
    .waitFor();
  expect(await page.locator(".budget .track").count()).toBe(0);
  const tabs = page.getByRole("tablist", { name: "About the run" }).getByRole("tab");
  expect(await tabs.allTextContents()).toEqual(["Run", "Files", "Events"]);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "What to do" }).fill("show");
  expect(await page.getByRole("option").allTextContents()).toEqual([
    "Show or hide the run",
    "Show the run",
    "Show files",
    "Show events",
  ]);
  expect(asked.filter((path) => /\/(?:tasks|notes|state)$/.test(path))).toEqual([]);
});

test("AP-54: a session is forked and exported from its menu and from the palette", async () => {
  const { page, start, state, logText } = site.shown;
  const source = await start("play hello");
  await state("done");
  await clickMenu("Fork");
  await page.getByRole("heading", { name: "Fork of play hello", level: 1 }).waitFor();
  await expect.poll(logText).toContain("Hello.");
  const first = page.url();
  expect(first).not.toContain(source);
  const [saved] = await Promise.all([page.waitForEvent("download"), clickMenu("Export events")]);
  expect(first).toContain(saved.suggestedFilename().replace(".jsonl", ""));
  expect(readFileSync(await saved.path(), "utf8")).toContain('"session_created"');
  await choose("fork");
  await page.getByRole("heading", { name: "Fork of Fork of play hello", level: 1 }).waitFor();
  const [again] = await Promise.all([page.waitForEvent("download"), choose("export")]);
  expect(page.url()).toContain(again.suggestedFilename().replace(".jsonl", ""));
});

test("AP-54: that a model call is tried again is said until it is answered", async () => {
  const { page, start, state, logText } = site.shown;
  refusals = 1;
  await start("play hello");
  await page.getByText("It is tried again by itself").waitFor();
  await state("done");
  await expect.poll(logText).toContain("Hello.");
  expect(await logText()).not.toContain("tried again");
});

test("AP-54: once the conversation has gone on, what is left of a failure begins where its text does", async () => {
  const { page, start, state, say, logText } = site.shown;
  refusals = 100;
  await start("play hello");
  await state("failed");
  refusals = 0;
  await say("play hello");
  await expect.poll(logText).toContain("Hello.");
  const lefts = await page.evaluate<readonly number[]>(`["p", ".plain"].map((each) => {
    const element = document.querySelector(".failure " + each);
    return element.getBoundingClientRect().left + parseFloat(getComputedStyle(element).paddingLeft);
  })`);
  expect(lefts[1]).toBe(lefts[0]);
});

test("AP-54: an approval says what happens to it if nobody decides", async () => {
  const { page, start } = site.shown;
  await start("play ask");
  await page.locator(".ask-tag", { hasText: /approved by itself in \d/ }).waitFor();
});

test("AP-54: the palette stops a run as Esc does: it asks first where a call runs", async () => {
  const { page, start, state } = site.shown;
  await start("play wait");
  await page.locator(".line", { hasText: "sleep 600" }).locator(".ring").waitFor();
  await choose("stop the run");
  const question = page.getByRole("dialog", { name: "Stop the run?" });
  await question.getByRole("button", { name: "Keep it" }).click();
  await state(/^(?!.*stopped)/);
  await choose("stop the run");
  await question.getByRole("button", { name: "Stop it" }).click();
  await state("stopped");
});
