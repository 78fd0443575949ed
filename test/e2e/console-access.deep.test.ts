import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import { desk, openConsole, phone, violationsOf } from "../support/console-page.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";

/** AP-54: everybody can use the console: by keyboard, on a phone, in the dark, with a screen reader, and with a key. */

let team: BuiltTeam;
let server: DevServer;
let browser: Browser;
/** Sessions that show one thing each, made once. */
let sessions: Readonly<
  Record<"files" | "approve" | "ask" | "team" | "compact" | "budget" | "runs" | "verify", string>
>;
/** The thread of an agent that was called in `team`. */
let scout = "";

beforeAll(async () => {
  team = await buildTestTeam("default", "shipped");
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  browser = await launchChromium();
  const { post } = createApi(server.url);
  const play = async (scene: string): Promise<string> => {
    const { body } = await post("/v1/sessions", { title: `The scene ${scene}` });
    await post(`/v1/sessions/${String(body["id"])}/messages`, { content: scene, wait: 60 });
    return String(body["id"]);
  };
  const [files, approve, ask, crew, compact, budget, runs, verify] = await Promise.all(
    ["files", "approve", "ask", "team", "compact", "budget", "graph", "verify"].map(play),
  );
  await post(`/v1/sessions/${runs}/messages`, { content: "hello", wait: 60 });
  sessions = {
    files: files ?? "",
    approve: approve ?? "",
    ask: ask ?? "",
    team: crew ?? "",
    compact: compact ?? "",
    budget: budget ?? "",
    runs: runs ?? "",
    verify: verify ?? "",
  };
  const { body } = await createApi(server.url).get(`/v1/sessions/${sessions.team}/threads`);
  const threads = body["data"] as readonly { readonly id: string; readonly agent: string }[];
  scout = threads.find(({ agent }) => agent === "scout")?.id ?? "";
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  team?.remove();
});

const views: readonly (readonly [string, (page: Page) => Promise<unknown>])[] = [
  ["first page", (page) => page.goto(`${server.url}/console`)],
  ["conversation", (page) => show(page, sessions.files, "Edited tour.md")],
  ["approval", (page) => show(page, sessions.approve, "Needs your approval")],
  ["question", (page) => show(page, sessions.ask, "asks you")],
  ["children", (page) => show(page, sessions.team, "Called 2 agents at once")],
  ["failure", (page) => show(page, sessions.budget, "The run stopped")],
  ["context", (page) => show(page, `${sessions.compact}/run_1/6`, "became one summary")],
  ["earlier run", (page) => showEarlierRun(page)],
  ["called agent", (page) => show(page, `${sessions.team}/thread/${scout}`, "Came back to guide as")],
  ["opened calls", (page) => openCalls(page)],
  ["nothing found", (page) => findNothing(page)],
  ["key", (page) => openKeyPage(page)],
];

/** What a server answers that wants a key. */
const refusal = {
  status: 401,
  contentType: "application/problem+json",
  body: JSON.stringify({ code: "unauthenticated", detail: "The key is unknown.", status: 401, title: "" }),
};

const openKeyPage = async (page: Page): Promise<void> => {
  await page.route("**/v1/**", (route) => route.fulfill(refusal));
  await page.goto("about:blank");
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "This server needs a key" }).waitFor();
};

const openCalls = async (page: Page): Promise<void> => {
  await show(page, sessions.verify, "Wrote");
  await page.evaluate(
    "document.querySelectorAll('.line[aria-expanded=false]').forEach((line) => line.click())",
  );
  await page.getByRole("button", { name: "Input as JSON" }).first().waitFor();
};

const findNothing = async (page: Page): Promise<void> => {
  await show(page, sessions.files, "Edited tour.md");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "What to do" }).fill("zzz");
  await page.getByText("Nothing is called so.").waitFor();
};

const show = async (page: Page, address: string, words: string): Promise<void> => {
  await page.goto("about:blank");
  await page.goto(`${server.url}/console#${address}`);
  await page.getByText(words).first().waitFor();
};

const showEarlierRun = async (page: Page): Promise<void> => {
  await show(page, sessions.runs, "Hello!");
  await page.locator(".panel, .figures-button").first().waitFor();
  const way = page.locator(".figures-button");
  if (await way.isVisible()) await way.click();
  await page.getByLabel("Which run").selectOption("run_1");
  await page.getByText("Its last turn").waitFor();
};

for (const viewport of [desk, phone])
  test(`AP-54: axe finds nothing in any view, ${viewport.width} px wide, in both themes, and nothing scrolls sideways`, async () => {
    const { page, close } = await openConsole(browser, server.url, { colorScheme: "light", viewport });
    for (const [name, open] of views) {
      await page.emulateMedia({ colorScheme: "light" });
      await open(page);
      await page.waitForLoadState("networkidle");
      expect(await violationsOf(page), `${name}, light`).toEqual([]);
      const sideways = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect(sideways, name).toBeLessThanOrEqual(0);
      // The page is the same in the dark, but for its colours.
      await page.emulateMedia({ colorScheme: "dark" });
      expect(await violationsOf(page, ["color-contrast"]), `${name}, dark`).toEqual([]);
    }
    await close();
  });

/** Names each control that is seen and too small for a finger; links inside of texts are as high as their line. */
const smallControls = `[...(document.querySelector("dialog[open]") ?? document).querySelectorAll("button, a[href], select")]
  .filter((each) => !each.closest(".hidden, p, .prose, [hidden]"))
  .map((each) => [each.innerText || each.ariaLabel, each.getBoundingClientRect()])
  .filter(([, { width, height }]) => width > 0 && height > 0 && Math.min(width, height) < 43.9)
  .map(([name, { width, height }]) => name + " " + width + " x " + height)`;

test("AP-54: on a phone every control is large enough for a finger", async () => {
  const { page, close } = await openConsole(browser, server.url, { viewport: phone, hasTouch: true });
  for (const [name, open] of views) {
    await open(page);
    await page.waitForLoadState("networkidle");
    expect(await page.evaluate(smallControls), name).toEqual([]);
  }
  await close();
});

test("AP-54: on a phone the first page shows the field, what to try and the first sessions at once", async () => {
  const { page, close } = await openConsole(browser, server.url, { viewport: phone });
  await page.goto(`${server.url}/console`);
  for (const seen of [
    page.locator("#composer"),
    page.locator(".starters button").last(),
    page.locator(".session").first(),
  ]) {
    const box = await seen.boundingBox();
    expect((box?.y ?? phone.height) + (box?.height ?? 0)).toBeLessThanOrEqual(phone.height);
  }
  await close();
});

test("AP-54: on a phone the menu of the last session in view is whole in view, too", async () => {
  const { post } = createApi(server.url);
  await Promise.all(Array.from({ length: 10 }, (_, at) => post("/v1/sessions", { title: `Row ${at}` })));
  const { page, close } = await openConsole(browser, server.url, { viewport: phone });
  await page.goto(`${server.url}/console`);
  const rows = page.locator(".session");
  await expect.poll(() => rows.count()).toBeGreaterThan(10);
  const tops = await rows.evaluateAll((all) => all.map((row) => row.getBoundingClientRect().top));
  await rows
    .nth(tops.findLastIndex((top) => top < phone.height - 130))
    .getByRole("button")
    .last()
    .click();
  const box = await page.getByRole("menu").boundingBox();
  expect((box?.y ?? phone.height) + (box?.height ?? 0)).toBeLessThanOrEqual(phone.height - 60);
  expect(box?.y).toBeGreaterThan(0);
  await close();
});

test("AP-54: a budget that ended the run is told once in the log, and its cost stands beside it", async () => {
  const { page, close, logText } = await openConsole(browser, server.url);
  await show(page, sessions.budget, "The run stopped: budget used up");
  expect(await page.locator(".log .mark").count()).toBe(0);
  expect((await logText()).match(/The run spent \$1\.07; its limit is \$1\.00/g)).toHaveLength(1);
  await page.locator(".figure", { hasText: "This run" }).getByText("$1.07").waitFor();
  await page.getByText("The next run may spend $1.00").waitFor();
  await close();
});

test("AP-54: called agents say what they cost after a reload, too", async () => {
  const { page, close } = await openConsole(browser, server.url);
  await show(page, sessions.team, "Called 2 agents at once");
  await page
    .locator(".child", { hasText: "scout" })
    .getByText(/done · <?\$0\.\d\d/)
    .waitFor();
  expect(await page.locator(".log").textContent()).not.toContain("no price");
  await close();
});

test("AP-54: what the model saw in a turn says what was left out, why, and what it saved; a turn steps to the next by key", async () => {
  const { page, close, press } = await openConsole(browser, server.url);
  await show(page, sessions.compact, "what changed");
  await page.getByRole("button", { name: "what changed" }).first().click();
  await page.getByText(/Turn \d sent/).waitFor();
  await show(page, `${sessions.compact}/run_1/6`, "9 messages became one summary");
  const rows = page.locator(".context-row");
  await rows.filter({ hasText: "left out" }).getByText("not sent").waitFor();
  await rows.filter({ hasText: "summary of 9" }).getByText("the context was over 70 % full").waitFor();
  const side = page.getByRole("region", { name: "What changed" });
  await side.getByText("this is exactly what was sent").waitFor();
  await side.getByText("9 messages left out").waitFor();
  await page.getByText("left out 2.4k of 13.1k tokens: 9 messages became one summary.").waitFor();
  await side.getByText(/and 1,398 as this turn began: 12\.0k → 10\.6k/).waitFor();
  await page.getByRole("tab", { name: "Left out 9" }).waitFor();
  await rows.filter({ hasText: "9 messages" }).getByRole("button").first().click();
  const originals = page.getByRole("list", { name: "The messages" }).locator("> li");
  await originals.first().waitFor();
  expect(await originals.count()).toBe(9);
  await originals
    .filter({ hasText: "fs_read_lines tides.txt" })
    .filter({ hasText: "shortened to 33" })
    .waitFor();
  await rows.filter({ hasText: "summary of 9" }).getByRole("button").first().click();
  await page
    .getByText("It stands for 9 messages, which are no longer sent because the context was over 70 % full")
    .waitFor();
  const search = page.getByRole("searchbox", { name: "Find in this request" });
  await search.fill("seq 1 450");
  await expect.poll(() => rows.allTextContents()).toEqual([expect.stringContaining("9 messages")]);
  await page.getByRole("tab", { name: "Sent 4" }).click();
  await page.getByText("Nothing here; All has 9.").waitFor();
  await page.locator('[data-key="["]:enabled').waitFor();
  await press("[");
  await page.getByText("Turn 5 sent").waitFor();
  await page.getByText("left out 999 of ").waitFor();
  await page.getByRole("tab", { name: "Left out 1" }).click();
  await rows.filter({ hasText: "fs_read_lines tides.txt" }).getByText("shortened").waitFor();
  expect(await rows.count()).toBe(1);
  await page.getByRole("tab", { name: "As sent" }).click();
  await page.locator(".wire", { hasText: "messages" }).waitFor();
  await press("Escape");
  await page.locator(".conversation").waitFor();
  await close();
});

test("AP-54: each call of a turn says what came of it, and a run without a turn has a row and no view", async () => {
  const { get, post } = createApi(server.url);
  const create = async (scene: string): Promise<string> => {
    const { body } = await post("/v1/sessions", { title: scene });
    await post(`/v1/sessions/${String(body["id"])}/messages`, { content: scene, wait: 60 });
    return String(body["id"]);
  };
  const [retry = "", compact = ""] = await Promise.all(["retry", "compact"].map(create));
  await post(`/v1/sessions/${compact}/compact`, {});
  await expect
    .poll(async () => (await get(`/v1/sessions/${compact}/runs/run_2`)).body["state"])
    .toBe("completed");
  const { page, close } = await openConsole(browser, server.url);
  const facts = page.getByRole("region", { name: "Request" });
  await show(page, `${retry}/run_1/1/1`, "call 1 of 4");
  await facts.getByText(/after \d+ ms: overloaded/).waitFor();
  expect(await page.locator(".context").textContent()).not.toContain("call before");
  expect(await facts.textContent()).not.toContain("From cache");
  await show(page, `${retry}/run_1/1/3`, "call 3 of 4");
  await facts.getByText("Broke off").waitFor();
  await show(page, `${retry}/run_1/1/4`, "call 4 of 4");
  await facts.getByText("Answered").waitFor();
  await show(page, compact, "See what the model saw in turn 6");
  const lane = page.locator(".lane", { hasText: "Made the context smaller" });
  await lane.waitFor();
  expect(await lane.evaluate(({ tagName }) => tagName)).toBe("DIV");
  await post(`/v1/sessions/${compact}/messages`, { content: "hello again", wait: 60 });
  await show(page, `${compact}/run_3/1`, "3 messages became one summary");
  await page.getByRole("tab", { name: "Left out 12" }).waitFor();
  const earlier = page.locator(".context-row", { hasText: "9 messages" });
  await earlier.getByText("not sent").waitFor();
  await page.getByRole("button", { name: "The turn before" }).click();
  await page.getByText("Turn 6 sent").waitFor();
  await close();
});

test("AP-54 AP-45: the panel has tasks, notes, state, files to bring and take, and events to filter and to copy as curl", async () => {
  const { page, close } = await openConsole(browser, server.url);
  await show(page, sessions.team, "Called 2 agents at once");
  const tab = (name: string) => page.getByRole("tab", { name, exact: true }).click();
  await page.getByText("The next run may spend $1.00").waitFor();
  await tab("Tasks");
  await page.locator(".store", { hasText: "Put up a sign" }).waitFor();
  await tab("Notes");
  await page.locator(".store", { hasText: "brief" }).waitFor();
  await tab("State");
  await page.locator(".store", { hasText: "tide" }).waitFor();
  await tab("Files");
  await page.locator(".files", { hasText: "sign.txt" }).waitFor();
  await page
    .getByLabel("Files to upload")
    .setInputFiles({ name: "mine.txt", mimeType: "text/plain", buffer: Buffer.from("from me") });
  await page.getByRole("button", { name: "Download mine.txt" }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download mine.txt" }).click(),
  ]);
  expect(readFileSync(await download.path(), "utf8")).toBe("from me");
  await page.getByRole("button", { name: "mine.txt", exact: true }).click();
  const file = page.getByRole("dialog", { name: "mine.txt" });
  await file.locator(".sheet", { hasText: "from me" }).waitFor();
  await file.getByRole("button", { name: "Close" }).click();
  await page.getByText("You added mine.txt").waitFor();
  await tab("Events");
  await page.getByRole("searchbox", { name: "Filter events" }).fill("run_end");
  await expect.poll(() => page.locator(".events > li").count()).toBe(3);
  // What is copied gives what is shown, by whatever it is filtered.
  await page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }");
  for (const filter of ["", "tool_call", "scout", "main", "run_end"]) {
    await page.getByRole("searchbox", { name: "Filter events" }).fill(filter);
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const commands = (await page.evaluate<string>("copied")).split("\n");
    const answers = await Promise.all(
      commands.map(async (command) => {
        const { pathname, search } = new URL(/'(.*)'$/.exec(command)?.[1] ?? "");
        return (await createApi(server.url).get(pathname + search)).body["data"];
      }),
    );
    await page.getByText(new RegExp(`^${answers.flat().length} of \\d+ events$`)).waitFor();
  }
  await page.getByRole("searchbox", { name: "Filter events" }).fill("zzzz");
  await page.getByText(/^0 of /).waitFor();
  expect(await page.getByRole("button", { name: "Copy as curl" }).count()).toBe(0);
  await close();
});

test("AP-54: by keyboard alone: search, palette, rows, a new session", async () => {
  const { page, close, press } = await openConsole(browser, server.url);
  await show(page, sessions.files, "Edited tour.md");
  await press("/");
  await page.keyboard.type("scene team");
  await expect.poll(() => page.locator(".session").count()).toBe(1);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "What to do" }).fill("turn");
  await page.getByRole("option", { name: /What the model saw in turn 4/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Turn 4 sent").waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".conversation").waitFor();
  await press("k");
  await page.keyboard.press("k");
  const focused = () => page.evaluate("document.activeElement?.textContent");
  expect(await focused()).toMatch(/^(Read|Searched)/);
  await page.keyboard.press("o");
  await page.locator('.line[aria-expanded="true"]:focus').waitFor();
  await press("n");
  await page.getByRole("heading", { name: "What should guide do?" }).waitFor();
  const place = () => page.evaluate("document.activeElement?.id");
  await expect.poll(place).toBe("composer");
  for (const key of ["Control+k", "Control+k"]) {
    await page.keyboard.press(key);
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    await expect.poll(place).toBe("composer");
  }
  await close();
});

test("AP-54 AP-12: a server that wants a key asks for it, says if it is the wrong one, and keeps it in memory only", async () => {
  const { page, close } = await openConsole(browser, server.url);
  // The server of this test lets everybody in: what a wrong key gets is answered here.
  await page.route("**/v1/**", async (route) => {
    const { authorization, ...headers } = await route.request().allHeaders();
    if (authorization === "Bearer lk_right_key") return route.continue({ headers });
    const problem = {
      code: "unauthenticated",
      detail: "The key is unknown.",
      status: 401,
      title: "Unauthenticated",
    };
    return route.fulfill({
      status: 401,
      contentType: "application/problem+json",
      body: JSON.stringify(problem),
    });
  });
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "This server needs a key" }).waitFor();
  await page.getByLabel("Key").fill("lk_wrong_key");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: "This key does not open this server" }).waitFor();
  await page.getByLabel("Key").fill("lk_right_key");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: "What should guide do?" }).waitFor();
  const kept = await page.evaluate<string>(
    "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])",
  );
  expect(kept).not.toContain("lk_right_key");
  await close();
});

/** Has the server want a key, whichever it is, and takes no messages while it is away. */
const requireKey = (page: Page, isAway: () => boolean): Promise<unknown> =>
  page.route("**/v1/**", async (route) => {
    const { authorization, ...headers } = await route.request().allHeaders();
    if (isAway() && route.request().url().endsWith("/messages")) return route.abort();
    if (authorization?.startsWith("Bearer lk_") === true) return route.continue({ headers });
    const problem = { code: "unauthenticated", detail: "No key.", status: 401, title: "Unauthenticated" };
    return route.fulfill({ status: 401, contentType: "application/problem+json", json: problem });
  });

const enterKey = async (page: Page, key: string): Promise<void> => {
  await page.getByRole("heading", { name: "This server needs a key" }).waitFor();
  await page.getByLabel("Key").fill(key);
  await page.getByRole("button", { name: "Open" }).click();
  // The field of the key has the same id.
  await page.locator("textarea#composer").waitFor();
};

const small = { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a") };

test("AP-54 AP-12: the key is forgotten with all that was not sent, after a question: the next key sends nothing of it", async () => {
  const { page, close, say, state } = await openConsole(browser, server.url);
  const api = createApi(server.url);
  const session = await api.create();
  let isAway = true;
  await requireKey(page, () => isAway);
  await page.goto(`${server.url}/console#${session}`);
  await enterKey(page, "lk_first_key");
  await page.getByLabel("Files to attach").setInputFiles(small);
  await say("In the name of the first");
  await page.locator(".kept", { hasText: "In the name of the first" }).waitFor();
  await page.locator("#composer").fill("A draft of the first");
  const forget = async (choice: string): Promise<void> => {
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name: "Forget the key" }).click();
    await page.getByRole("dialog").getByRole("button", { name: choice }).click();
  };
  await forget("Keep it");
  await page.locator(".kept", { hasText: "In the name of the first" }).waitFor();
  await forget("Forget it");
  await page.getByRole("heading", { name: "This server needs a key" }).waitFor();
  isAway = false;
  await enterKey(page, "lk_second_key");
  expect(await page.locator("#composer").inputValue()).toBe("");
  await say("hello");
  await state("done");
  expect(await page.locator(".kept").count()).toBe(0);
  const said = JSON.stringify(await api.events(session));
  expect(said).toContain("hello");
  expect(said).not.toContain("the first");
  expect(await page.evaluate("JSON.stringify({ ...sessionStorage })")).not.toContain("the first");
  await close();
});

test("AP-54 AP-12: what was not sent under a key waits for it: another key neither shows nor sends it", async () => {
  const { page, close, say, state } = await openConsole(browser, server.url);
  const api = createApi(server.url);
  const session = await api.create();
  let isAway = true;
  await requireKey(page, () => isAway);
  await page.goto(`${server.url}/console#${session}`);
  await enterKey(page, "lk_first_key");
  await say("In the name of the first");
  await page.locator(".kept", { hasText: "In the name of the first" }).waitFor();
  await page.locator("#composer").fill("A draft of the first");
  await page.getByLabel("Files to attach").setInputFiles(small);
  await page.locator(".composer-files", { hasText: "a.txt" }).waitFor();
  await page.goto(`${server.url}/console#s_${"a".repeat(26)}`);
  await page.getByRole("button", { name: "Use another key" }).click();
  isAway = false;
  await page.getByRole("heading", { name: "This server needs a key" }).waitFor();
  await page.goto(`${server.url}/console#${session}`);
  await enterKey(page, "lk_second_key");
  await say("hello");
  await state("done");
  expect(await page.locator(".kept, .composer-files").count()).toBe(0);
  expect(await page.locator("#composer").inputValue()).toBe("");
  const said = async () => JSON.stringify(await api.events(session));
  expect(await said()).not.toContain("the first");
  await page.reload();
  await enterKey(page, "lk_first_key");
  await expect.poll(said).toContain("In the name of the first");
  expect(await page.locator("#composer").inputValue()).toBe("A draft of the first");
  await page.locator(".composer-files", { hasText: "a.txt" }).waitFor();
  await close();
});

test("AP-54: a session that there is not has a page with two ways on, and no field for messages", async () => {
  const { page, close } = await openConsole(browser, server.url);
  await show(page, `s_${"a".repeat(26)}`, "There is no such session");
  expect(await page.locator("#composer").count()).toBe(0);
  await page.getByRole("button", { name: "Start a new session" }).click();
  await page.getByRole("heading", { name: "What should guide do?" }).waitFor();
  const entries = await page.evaluate<number>("history.length");
  await page.locator(".sessions header button").click();
  expect(await page.evaluate<number>("history.length"), "it is on the first page already").toBe(entries);
  await show(page, "s_cut", "There is no such session");
  await close();
});

test("AP-54: sessions are renamed, filtered and deleted from the list, which asks once", async () => {
  const { page, close } = await openConsole(browser, server.url);
  const { body } = await createApi(server.url).post("/v1/sessions", { title: "To be removed" });
  await show(page, String(body["id"]), "To be removed");
  const row = page.locator(".session.current");
  await row.getByRole("link").press("F2");
  await page.getByRole("textbox", { name: "Title of the session" }).fill("Renamed");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Renamed", level: 1 }).waitFor();
  const focus = () => page.evaluate<string>("document.activeElement?.textContent ?? ''");
  await expect.poll(focus, { message: "the row has the focus again" }).toContain("Renamed");
  const opened = page.context().waitForEvent("page");
  await row.getByRole("link").click({ modifiers: ["ControlOrMeta"] });
  const other = await opened;
  await other.getByRole("heading", { name: "Renamed", level: 1 }).waitFor();
  await other.close();
  await page.getByRole("tab", { name: "Needs you 2" }).click();
  await expect.poll(() => page.locator(".session").count()).toBe(2);
  await page.getByRole("tab", { name: "All" }).click();
  await row.getByRole("button", { name: "What to do with Renamed" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("heading", { name: "Delete “Renamed”?" }).waitFor();
  await page.getByRole("button", { name: "Delete it" }).click();
  await expect.poll(() => page.locator(".session", { hasText: "Renamed" }).count()).toBe(0);
  await close();
});

test("AP-54: sessions with the same title say when they began, and so do their menus and the palette", async () => {
  const { page, close } = await openConsole(browser, server.url);
  const api = createApi(server.url);
  const ids = [await api.create({ title: "Twin" }), await api.create({ title: "Twin" })];
  await api.create({ title: "Single" });
  await page.goto(`${server.url}/console`);
  const rows = page.locator(".session", { hasText: "Twin" });
  await expect.poll(() => rows.count()).toBe(2);
  expect(await rows.first().textContent()).toMatch(/^Twin\d?\d:\d\d:\d\d/);
  const menu = page.getByRole("button", { name: /^What to do with Twin \d/ });
  expect(await menu.count()).toBe(2);
  expect(await page.locator(".session", { hasText: "Single" }).textContent()).toMatch(/^Single[^\d]/);
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: /^Session: Single/ }).waitFor();
  const offered = await page.getByRole("option").allTextContents();
  expect(offered.filter((each) => /^Session: Twin *\d?\d:\d\d:\d\d.* · now$/.test(each))).toHaveLength(2);
  expect(offered.filter((each) => /^Session: Single *\w+ · now$/.test(each))).toHaveLength(1);
  await page.keyboard.press("Escape");
  for (const id of ids) await api.delete(`/v1/sessions/${id}`);
  await close();
});

test("AP-54: of more than 200 sessions the older ones are read on demand", async () => {
  const { page, close } = await openConsole(browser, server.url);
  const api = createApi(server.url);
  for (let count = 0; count < 210; count += 30)
    await Promise.all(Array.from({ length: 30 }, (_, at) => api.create({ title: `Row ${count + at}` })));
  await page.goto(`${server.url}/console`);
  const rows = page.locator(".list .session");
  await expect.poll(() => rows.count()).toBe(200);
  await page.getByRole("button", { name: "Read 200 older ones" }).click();
  await expect.poll(() => rows.count()).toBeGreaterThan(210);
  expect(await page.getByRole("button", { name: "Read 200 older ones" }).count()).toBe(0);
  await close();
});
