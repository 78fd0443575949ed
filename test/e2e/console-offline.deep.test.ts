import type { Route } from "playwright-core";
import { expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { openConsole, serveConsole, tooMuch } from "../support/console-page.ts";

/** AP-54: the console while its server is away and after it came back, against the shipped default team. */

const site = serveConsole("default", "shipped", {
  // A browser complains of an answer that the server refuses; the page says so, too.
  allows: (complaint) => /status of (401|413)/.test(complaint),
});

/** The text of each message in a log. */
const textsOf = (events: readonly StoredEvent[]): readonly string[] =>
  events.flatMap((event) =>
    event.type === "message_added"
      ? [event.data.message.parts.map((part) => (part.type === "text" ? part.text : "")).join("")]
      : [],
  );

const eventsOf = async (session: string, type: StoredEvent["type"]): Promise<readonly StoredEvent[]> =>
  (await site.api.events(session)).filter((event) => event.type === type);

const logLongerThan = async (length: number): Promise<void> => {
  await expect.poll(async () => (await site.shown.logText()).length).toBeGreaterThan(length);
};

test("AP-54 RE-P6: killed in the middle of an answer, the page recovers by itself, what was typed meanwhile goes out, and two pages equal the log", async () => {
  const { page, start, state, say, logText } = site.shown;
  const session = await start("slow");
  const second = await openConsole(site.browser, site.server.url);
  await second.page.goto(`${site.server.url}/console#${session}`);
  await logLongerThan(600);
  await site.server.kill();
  await state("reconnecting");
  await page.getByText("Connection lost.").waitFor();
  await say("hello");
  await say("never mind");
  await page.getByText("Kept on this device · second in line").waitFor();
  await page.locator(".kept", { hasText: "never mind" }).getByRole("button", { name: "Withdraw" }).click();
  await expect.poll(() => page.locator(".kept").count()).toBe(1);
  await site.server.start();
  await state("done");
  await expect.poll(logText).toContain("Hello! That was hello");
  await expect.poll(() => page.locator(".kept").count()).toBe(0);
  const said = textsOf(await site.api.events(session)).filter((text) => text === "hello");
  expect(said).toEqual(["hello"]);

  const answer =
    textsOf(await site.api.events(session)).find((text) => text.includes("The tide comes in")) ?? "";
  // The log has markdown, the page its text.
  const flat = (text: string): string => text.replaceAll(/\s+|[*`]/g, "");
  const prose = await page.locator(".log .speech").allTextContents();
  const [once = "", ...more] = prose.filter((text) => text.includes("The tide comes in"));
  expect(more).toEqual([]);
  expect(flat(once) === flat(answer), "the page shows what the log has").toBe(true);
  const column = ".log .column";
  await expect
    .poll(() => second.page.locator(column).innerText())
    .toBe(await page.locator(column).innerText());
  await second.close();
});

test("AP-54: what was typed offline is still there after a reload, and goes out once", async () => {
  const { page, start, state, say } = site.shown;
  const session = await start("hello");
  await state("done");
  await page.route("**/v1/sessions/*/messages", (route) => route.abort());
  await say("files");
  await page.waitForFunction("sessionStorage.getItem('limpet-kept dev')?.includes('files')");
  await page.unroute("**/v1/sessions/*/messages");
  await page.reload();
  await page.locator(".line", { hasText: "Edited tour.md" }).waitFor();
  await state("done");
  expect(textsOf(await site.api.events(session)).filter((text) => text === "files")).toEqual(["files"]);
  expect(await page.evaluate("sessionStorage.getItem('limpet-kept dev')")).toBe("[]");
});

test("AP-54 SE-23: what is withdrawn offline stays withdrawn over a reload, and its request is refused if it comes after all", async () => {
  const { page, start, state, say, logText } = site.shown;
  const session = await start("hello");
  await state("done");
  await site.server.kill();
  await state("reconnecting");
  await say("never mind");
  const [{ id }] = await page.evaluate<[{ readonly id: string }]>(
    "JSON.parse(sessionStorage['limpet-kept dev'])",
  );
  await page.locator(".kept").getByRole("button", { name: "Withdraw" }).click();
  await page.locator(".kept").waitFor({ state: "detached" });
  // A page that is loaded anew knows of the withdrawal by what it kept: the server has not heard of it yet.
  await page.route("**/v1/**", (route) => route.abort());
  await site.server.start();
  await page.reload();
  await page.unroute("**/v1/**");
  await expect.poll(async () => (await eventsOf(session, "input_withdrawn")).length).toBe(1);
  await state("done");
  const late = await site.api.post(`/v1/sessions/${session}/messages`, { id, content: "never mind" });
  expect(late.body).toMatchObject({ code: "input_already_applied" });
  expect(await logText()).not.toContain("never mind");
  await expect.poll(() => page.evaluate("sessionStorage['limpet-kept dev']")).toBe("[]");
});

const shells = { name: "shells.txt", mimeType: "text/plain", buffer: Buffer.from("three limpets") };

test("AP-54: what is written and attached but not sent is still there after a reload, and gone once it is sent", async () => {
  const { page, start, state } = site.shown;
  const session = await start("hello");
  await state("done");
  await page.getByLabel("Files to attach").setInputFiles([shells, { ...shells, name: "more.txt" }]);
  await page.locator("#composer").fill("Look at these");
  await page.getByRole("button", { name: "Leave more.txt out" }).click();
  /** The files that the browser's database has for this tab. */
  const kept = () =>
    page.evaluate<readonly string[]>(`new Promise((done) => {
      const request = indexedDB.open("limpet-drafts");
      request.onsuccess = () => {
        const all = request.result.transaction("files").objectStore("files").getAll();
        all.onsuccess = () => done(all.result.flatMap(({ files }) => files.map(({ name }) => name)));
      };
    })`);
  await expect.poll(kept).toEqual(["shells.txt"]);
  await page.reload();
  await page.locator(".composer-files", { hasText: "shells.txt" }).waitFor();
  expect(await page.locator("#composer").inputValue()).toBe("Look at these");
  await page.locator("#composer").press("Enter");
  await page.locator(".said", { hasText: "Look at these" }).locator(".attachment").waitFor();
  await expect.poll(kept).toEqual([]);
  await page.reload();
  await state("done");
  expect(await page.locator("#composer").inputValue()).toBe("");
  expect(await page.locator(".composer-files").count()).toBe(0);
  expect(
    textsOf(await site.api.events(session)).filter((text) => text.startsWith("Look at these")),
  ).toHaveLength(1);
});

test("AP-54: a message with files that does not get there waits with those after it, over a reload too, and all go out in their order", async () => {
  const { page, start, state, say } = site.shown;
  const session = await start("hello");
  await state("done");
  await page.route("**/v1/sessions/*/files?*", (route) => route.abort());
  await page.getByLabel("Files to attach").setInputFiles(shells);
  await say("Look at these");
  await say("never mind");
  await say("hello");
  const kept = page.locator(".kept");
  await expect
    .poll(() => kept.locator(".bubble").allTextContents())
    .toEqual(["Look at these [shells.txt]", "never mind", "hello"]);
  await site.server.kill();
  await page.getByText("What you write is kept, over a reload too.").waitFor();
  await kept.filter({ hasText: "never mind" }).getByRole("button", { name: "Withdraw" }).click();
  await expect.poll(() => kept.count()).toBe(2);
  await page.locator("#composer").fill("");
  await site.server.start();
  await page.reload();
  await expect
    .poll(() => kept.locator(".bubble").allTextContents())
    .toEqual(["Look at these [shells.txt]", "hello"]);
  await page.unroute("**/v1/sessions/*/files?*");
  await page.locator(".said:not(.kept)", { hasText: "Look at these" }).locator(".attachment").waitFor();
  await expect.poll(() => kept.count()).toBe(0);
  await state("done");
  const said = textsOf(await site.api.events(session)).filter((text) => /^(?:Look|never|hello)/.test(text));
  expect(said.map((text) => text.slice(0, 5))).toEqual(["hello", "Look ", "hello"]);
});

test("AP-54: files that are refused stand in the field again, over a reload too", async () => {
  const { page, start, state } = site.shown;
  await start("hello");
  await state("done");
  await page.route("**/v1/sessions/*/files?*", (route) => route.fulfill(tooMuch));
  await page.getByLabel("Files to attach").setInputFiles(shells);
  await page.locator("#composer").press("Enter");
  await page.locator(".fault", { hasText: "shells.txt: That is too much." }).waitFor();
  await page.locator(".composer-files", { hasText: "shells.txt" }).waitFor();
  await page.unroute("**/v1/sessions/*/files?*");
  await page.reload();
  await page.locator(".composer-files", { hasText: "shells.txt" }).waitFor();
  await page.locator("#composer").press("Enter");
  await page.locator(".log", { hasText: "shells.txt" }).waitFor();
  await state("done");
});

test("AP-54: the first message of a session that is typed offline waits with its files, over a reload too, and begins one session", async () => {
  const { page, say, state } = site.shown;
  await page.goto(`${site.server.url}/console`);
  await page.getByRole("button", { name: "Start" }).waitFor();
  const before = (await site.api.get("/v1/sessions?limit=200")).body as { readonly data: readonly unknown[] };
  await page.route("**/v1/sessions", (route) => route.abort());
  const kept = page.locator(".first .kept");
  await say("never mind");
  await kept.getByRole("button", { name: "Withdraw" }).click();
  await expect.poll(() => page.locator("#composer").inputValue()).toBe("never mind");
  await page.getByLabel("Files to attach").setInputFiles(shells);
  await page.locator(".composer-files").waitFor();
  await say("Look at these");
  await kept.getByText("Look at these [shells.txt]").waitFor();
  expect(await page.locator("#composer").count()).toBe(0);
  await page.reload();
  await kept.getByText("Look at these [shells.txt]").waitFor();
  await page.unroute("**/v1/sessions");
  await page.locator(".said:not(.kept)", { hasText: "Look at these" }).locator(".attachment").waitFor();
  await state("done");
  const after = (await site.api.get("/v1/sessions?limit=200")).body as { readonly data: readonly unknown[] };
  expect(after.data.length).toBe(before.data.length + 1);
  await page.goto(`${site.server.url}/console`);
  await page.getByRole("button", { name: "Start" }).waitFor();
  expect(await page.locator("#composer").inputValue()).toBe("");
  expect(await page.locator(".composer-files").count()).toBe(0);
});

const forbid = (name: string): string =>
  `Object.defineProperty(window, "${name}", { get() { throw new DOMException("no", "SecurityError"); } });`;

test.each([
  ["full", `Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };`],
  ["forbidden", forbid("sessionStorage") + forbid("indexedDB")],
])("AP-54: the first message and its files get there where storage is %s", async (_, script) => {
  const { page, say, state } = site.shown;
  await page.addInitScript(script);
  await page.goto(`${site.server.url}/console`);
  await page.getByLabel("Files to attach").setInputFiles(shells);
  await page.locator(".composer-files", { hasText: "shells.txt" }).waitFor();
  await say("Look at these");
  await page.locator(".said:not(.kept)", { hasText: "Look at these" }).locator(".attachment").waitFor();
  await state("done");
});

test("AP-54: files that the browser's database takes and then gives up are still attached after another session was looked at", async () => {
  const { page, start, state } = site.shown;
  await page.addInitScript(`
    const { put } = IDBObjectStore.prototype;
    window.givenUp = 0;
    IDBObjectStore.prototype.put = function (...given) {
      const { transaction } = this;
      const request = put.apply(this, given);
      request.addEventListener("success", () => transaction.abort());
      transaction.addEventListener("abort", () => { window.givenUp += 1; });
      return request;
    };
  `);
  const session = await start("hello");
  await state("done");
  await page.getByLabel("Files to attach").setInputFiles(shells);
  await page.locator(".composer-files", { hasText: "shells.txt" }).waitFor();
  await page.waitForFunction("window.givenUp > 0");
  await page.getByRole("button", { name: "New", exact: true }).click();
  await page.getByRole("button", { name: "Start" }).waitFor();
  expect(await page.locator(".composer-files").count()).toBe(0);
  await page.locator(`.session a[href$="${session}"]`).click();
  await page.locator(".composer-files", { hasText: "shells.txt" }).waitFor();
});

test("AP-54: without a connection no clock of what is under way goes on, and the page says as of when it speaks", async () => {
  const { page, start, state } = site.shown;
  await page.clock.install();
  await start("slow");
  await state("working");
  const clock = page.locator(".panel section[aria-label=Timeline] header .meta");
  await clock.waitFor();
  await site.server.kill();
  await state(/reconnecting · as of \d\d:\d\d/);
  await page.clock.runFor(2_000);
  const shown = await clock.textContent();
  await page.clock.runFor(120_000);
  expect(await clock.textContent()).toBe(shown);
  await site.server.start();
  await state("done");
});

test("AP-54: without a connection the list says of the session that is shown what was last heard of it", async () => {
  const { page, start, say, state } = site.shown;
  await start("hello");
  await state("done");
  const row = page.locator(".session.current .state");
  await expect.poll(() => row.textContent()).toContain("Done");
  await page.route(/\/v1\/sessions\?/, (route) => route.abort());
  await say("slow");
  await expect.poll(() => row.textContent()).toContain("Working");
  await site.server.kill();
  await state("reconnecting");
  await page.getByText("Connection lost.").waitFor();
  expect(await row.textContent()).toContain("Working");
  await site.server.start();
});

test("AP-54: without a connection the list keeps the session that was just started, and names another that is opened", async () => {
  const { page, say, state } = site.shown;
  await site.api.create({ title: "The other one" });
  await page.goto(`${site.server.url}/console`);
  const other = page.locator(".session", { hasText: "The other one" });
  await other.waitFor();
  await page.route(/\/v1\/sessions\?/, (route) => route.abort());
  await say("hello");
  await state("done");
  await site.server.kill();
  await state("reconnecting");
  expect(await page.locator(".session.current .title .cut").textContent()).toBe("hello");
  await other.locator("a").click();
  await page.getByRole("heading", { name: "The other one", level: 1 }).waitFor();
  await site.server.start();
});

const resolutionsIn = async (session: string): Promise<readonly unknown[]> =>
  (await eventsOf(session, "ask_resolved")).map(({ data }) => data);

test("AP-54: an answer that is typed offline answers the question once the server is back", async () => {
  const { page, start, state, say } = site.shown;
  const session = await start("ask");
  await page.locator(".ask", { hasText: "asks you" }).waitFor();
  await site.server.kill();
  await state("reconnecting");
  await say("It stays, and I with it");
  await page.getByText("Your answer is kept on this device. It goes out when connected.").waitFor();
  await site.server.start();
  await state("done");
  expect(await resolutionsIn(session)).toMatchObject([{ decision: "answer" }]);
  expect(await site.shown.logText()).toContain("It stays, and I with it");
});

test("AP-54: a decision that is made offline goes out after a reload, with its reason", async () => {
  const { page, start, state } = site.shown;
  const session = await start("approve");
  const ask = page.locator(".ask");
  await ask.getByRole("button", { name: "Deny…" }).click();
  await page.route("**/v1/**", (route) => route.abort());
  await ask.getByRole("textbox").fill("the sea is not gentle");
  await ask.getByRole("button", { name: "Deny and tell guide" }).click();
  const kept = () => page.evaluate<string | null>(`sessionStorage["limpet-answers ${session} dev"] ?? null`);
  await expect.poll(kept).toContain("the sea is not gentle");
  expect(await resolutionsIn(session)).toEqual([]);
  // A page that has no key yet is refused; the answer waits for the key.
  let refusals = 0;
  const refuse = async (route: Route): Promise<void> => {
    refusals += 1;
    const problem = { type: "about:blank", title: "Unauthenticated", status: 401, code: "unauthenticated" };
    const body = JSON.stringify({ ...problem, detail: "No key.", request_id: "req_1", retryable: false });
    await route.fulfill({ status: 401, contentType: "application/problem+json", body });
  };
  await page.route("**/asks/*", refuse);
  await page.unroute("**/v1/**");
  await page.reload();
  await expect.poll(() => refusals).toBeGreaterThan(0);
  await page.unroute("**/asks/*");
  await page.reload();
  await state("done");
  expect(await resolutionsIn(session)).toMatchObject([{ decision: "deny" }]);
  expect(await site.shown.logText()).toContain("the sea is not gentle");
  expect(await kept()).toBeNull();
});
