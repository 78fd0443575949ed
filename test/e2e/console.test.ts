import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { serveConsole } from "../support/console-page.ts";

/** AP-54: the console in a real browser, against the shipped default team. */

const site = serveConsole("default", "shipped");

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

test("AP-54 CF-39: the first page opens on the field, offers the entry agent and its scenes, and its first message creates the session", async () => {
  const { page, say, state } = site.shown;
  const sizes: number[] = [];
  page.on("response", async (response) => {
    if (response.url().startsWith(`${site.server.url}/console`))
      sizes.push(gzipSync(await response.body()).length);
  });
  await page.goto(site.server.url);
  expect(page.url()).toBe(`${site.server.url}/console`);
  await page.getByRole("heading", { name: "What should guide do?" }).waitFor();
  await expect.poll(() => page.evaluate("document.activeElement?.id")).toBe("composer");
  await page.waitForLoadState("networkidle");
  expect(sizes.length).toBeGreaterThanOrEqual(3);
  expect(
    sizes.reduce((sum, size) => sum + size, 0),
    "bytes of the first load, compressed",
  ).toBeLessThan(60 * 1024);
  await page.getByRole("region", { name: "To begin with" }).getByRole("button", { name: "hello" }).click();
  await state("done");
  const session = /#(s_\w+)/.exec(page.url())?.[1] ?? "";
  expect((await site.api.get(`/v1/sessions/${session}`)).body).toMatchObject({
    agent: "guide",
    title: "hello",
  });
  await page.locator(".session.current", { hasText: "hello" }).waitFor();
  const told = page.locator('[aria-live="polite"] > *', { hasText: "guide is done" });
  await expect.poll(() => told.count()).toBe(1);
  await say("hello");
  await expect.poll(() => told.count(), { message: "the same sentence is told again" }).toBe(2);
});

test("AP-54: text that is sent from the console streams its answer, and Esc stops the run", async () => {
  const { page, logText, start, state } = site.shown;
  await start("slow");
  await expect.poll(logText).toContain("The tide comes in");
  const early = (await logText()).length;
  await logLongerThan(early + 200);
  await page.keyboard.press("Escape");
  await state("stopped");
  expect(await logText()).toContain("Stopped.");
});

test("AP-54 AG-17: called agents nest below their call with task, state and cost, and open to what they did", async () => {
  const { page, start, state, logText } = site.shown;
  await start("team");
  await state("done");
  expect(await logText()).toContain("That was team");
  const head = page.locator(".called", { hasText: "Called 2 agents at once" });
  expect(await head.locator(".child").count()).toBe(2);
  const scout = head.locator(".child", { hasText: "scout" });
  await scout.getByText(/done · <?\$0\.\d\d/).waitFor();
  expect(await scout.locator(".entry").count()).toBe(0);
  await scout.locator(".child-line").click();
  await scout.getByText("Task: Find out how high the tide comes.").waitFor();
  await scout.locator(".line", { hasText: "Wrote note tide" }).waitFor();
  await scout.getByText("Came back to guide as:").waitFor();
  expect(await page.locator(".panel .lane", { hasText: "builder" }).count()).toBe(1);
});

test("AP-54: an earlier run is chosen by what was said, in its own direction, and shows its figures and timeline, and the lane of a called agent leads to its lines", async () => {
  const { page, start, say, state, logText } = site.shown;
  const sent = `files ${"x".repeat(33)}🐚`;
  await start(`${sent} and more`);
  await state("done");
  const panel = page.locator(".panel");
  expect(await panel.getByLabel("Which run").count()).toBe(0);
  await say("graph");
  await expect.poll(logText).toContain("That was graph");
  await state("done");
  const unbegun = page.locator(".called", { hasText: "Called 3 agents for 4 tasks" }).locator("p.child-line");
  expect(await unbegun.innerText()).toMatch(/^\s*builder\s+paint Paint the wall\.\s+not begun\s*$/);
  await page.locator(".child-line", { hasText: "builder railing" }).waitFor();
  await page.locator(".line", { hasText: "Told the agent: A call of your last reply failed." }).waitFor();
  const cost = panel.locator(".figure", { hasText: "This run" }).locator(".meta");
  const choice = panel.getByLabel("Which run");
  await expect
    .poll(() => choice.locator("option").allTextContents())
    .toEqual(
      ["Run 2 · \u2068graph\u2069", `Run 1 · \u2068${sent}…\u2069`].map((each) =>
        expect.stringMatching(new RegExp(`^${each} · \\d\\d:\\d\\d · \\$0\\.\\d{2,5}$`)),
      ),
    );
  const topOfFirst = async () => (await page.locator(".said").first().boundingBox())?.y;
  expect(await topOfFirst()).toBeLessThan(0);
  await choice.selectOption("run_1");
  await panel.getByText("Its last turn").waitFor();
  await expect.poll(topOfFirst).toBeGreaterThan(0);
  expect(await panel.locator(".lane-title").allTextContents()).toEqual([
    "Wrote tour.md",
    "Edited tour.md",
    "Read tour.md and 1 more",
    "Answered",
  ]);
  expect(await panel.locator(".bars button").count()).toBe(4);
  const earlier = await cost.textContent();
  await choice.selectOption("run_2");
  await panel.getByText("This turn").waitFor();
  await expect.poll(() => cost.textContent()).not.toBe(earlier);
  await panel.locator(".lane", { hasText: "scout" }).click();
  await page.getByRole("heading", { name: "Count the steps at the harbour.", level: 1 }).waitFor();
  await page.getByText("Came back to guide as:").waitFor();
  await panel.getByText(/Of .* scout, a called agent/).waitFor();
  const ofScout = panel.locator(".lane");
  await expect.poll(() => ofScout.last().locator(".lane-title").textContent()).toBe("Reported back");
  expect(await panel.locator(".bars button").count()).toBe(await ofScout.count());
  await ofScout.first().click();
  await page.getByRole("heading", { name: "What the model saw" }).waitFor();
  await page.locator("#context-rows").getByText("Count the steps at the harbour.").first().waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "What the model saw" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Count the steps at the harbour.", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Back to the conversation" }).click();
  await choice.selectOption("run_1");
  await panel.getByText("Its last turn").waitFor();
  await say("hello");
  await panel.getByText("This turn").waitFor();
  expect(await choice.locator("option:checked").textContent()).toContain(" · \u2068hello\u2069 · ");
});

test("AP-54: the list tells sessions without a title apart, and shows a new title at once", async () => {
  const { page } = site.shown;
  const session = await site.api.create();
  await page.goto(`${site.server.url}/console#${session}`);
  const title = page.locator(".session.current .title .cut");
  await expect.poll(() => title.textContent()).toMatch(/^Untitled, \d\d:\d\d$/);
  await fetch(`${site.server.url}/v1/sessions/${session}`, {
    method: "PATCH",
    headers: { "Content-Type": "application/json" },
    body: '{"title": "The tide"}',
  });
  await expect.poll(() => title.textContent(), { timeout: 4_000 }).toBe("The tide");
  await page.getByRole("heading", { name: "The tide", level: 1 }).waitFor();
});

test("AP-54: a call is one line that says what it did; the newest edit shows its diff, others open", async () => {
  const { page, start, state } = site.shown;
  await start("files");
  await state("done");
  for (const words of ["Wrote tour.md", "Edited tour.md", "Read tour.md", "Searched limpet"])
    await page.locator(".line", { hasText: words }).first().waitFor();
  const diff = page.locator(".tool", { hasText: "Edited tour.md" }).locator(".diff");
  expect(await diff.locator(".removed mark").textContent()).toBe("grey");
  expect(await diff.locator(".added mark").textContent()).toBe("green");
  const check = page.locator(".tool", { hasText: "Checked the edits" }).first();
  expect(await check.locator(".line-result").textContent()).toBe("no complaints");
  await check.locator(".line").click();
  await check.getByText("[ ! -f check.sh ] || sh check.sh", { exact: true }).waitFor();
  const read = page.locator(".tool", { hasText: "Read tour.md" });
  expect(await read.locator(".line-result").textContent()).toBe("2 lines");
  await read.locator(".line").click();
  await read.locator(".output", { hasText: "A limpet is a small animal." }).waitFor();
  await read.getByRole("button", { name: "Input as JSON" }).click();
  await read.locator(".output", { hasText: '"path": "tour.md"' }).waitFor();
});

test("AP-54 SE-28: a question is answered by an option, or by typing, which steering has to be chosen against", async () => {
  const { page, start, state, say, logText } = site.shown;
  const session = await start("ask");
  await page.locator(".ask", { hasText: "Where does a limpet go" }).waitFor();
  await state("waiting for you");
  await page.locator(".session.current", { hasText: "Has a question" }).waitFor();
  await page.getByRole("button", { name: /It stays where it is/ }).click();
  await state("done");
  expect(await logText()).toContain("You answered · It stays where it is");
  await say("ask");
  await page.locator(".ask").waitFor();
  await page.getByRole("button", { name: "Answers the question" }).waitFor();
  await say("To the moon");
  await state("done");
  expect(await logText()).toContain("You answered · To the moon");
  const resolved = await eventsOf(session, "ask_resolved");
  expect(resolved.map(({ data }) => data)).toMatchObject([{ decision: "answer" }, { decision: "answer" }]);
});

test("AP-54 SE-30 TB-9: an approval that is edited on the page reaches the tool, and Approve is gone while the text differs", async () => {
  const { page, start, state, logText } = site.shown;
  const session = await start("approve");
  const ask = page.locator(".ask");
  await ask.getByText("Dear sea, please be gentle.").waitFor();
  const approve = ask.getByRole("button", { name: "Approve", exact: true });
  const own = ask.getByRole("button", { name: "Approve my version" });
  expect([await approve.count(), await own.count()]).toEqual([1, 0]);
  await ask.getByRole("button", { name: "Edit", exact: true }).click();
  const area = ask.getByRole("textbox");
  const before = await area.inputValue();
  await area.fill('{"key": "letter", "value": "Dear sea, as edited."}');
  expect([await approve.count(), await own.count()]).toEqual([0, 1]);
  await ask.getByRole("button", { name: "Undo my changes" }).click();
  expect([await approve.count(), await own.count()]).toEqual([1, 0]);
  await ask.getByRole("button", { name: "Edit", exact: true }).click();
  expect(await area.inputValue()).toBe(before);
  await area.fill("{");
  await ask.getByText("This is no JSON yet").waitFor();
  expect(await own.isDisabled()).toBe(true);
  await area.fill('{"key": "letter", "value": "Dear sea, as edited."}');
  await own.click();
  await state("done");
  expect(await logText()).toContain("You approved with changes");
  expect(JSON.stringify((await site.api.get(`/v1/sessions/${session}/state`)).body)).toContain("as edited");
});

test("AP-54 SE-30: a denial takes a reason, which the agent is told", async () => {
  const { page, start, state, logText, press } = site.shown;
  const session = await start("approve");
  await page.locator(".ask").waitFor();
  await press("d");
  await page.getByRole("textbox", { name: "Reason" }).fill("The sea cannot read.");
  await page.getByRole("textbox", { name: "Reason" }).press("Enter");
  await state("done");
  expect(await logText()).toContain("You denied · letter · “The sea cannot read.”");
  const [end] = await eventsOf(session, "tool_call_end");
  expect(JSON.stringify(end?.data)).toContain("The sea cannot read.");
});

test("AP-54: a first message whose answer was lost waits on the page, and creates one session", async () => {
  const { page, say, state } = site.shown;
  await page.goto(`${site.server.url}/console`);
  await page.getByRole("button", { name: "Start" }).waitFor();
  let created = "";
  await page.route("**/v1/sessions", async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    ({ id: created } = (await (await route.fetch()).json()) as { readonly id: string });
    await route.abort();
  });
  await say("hello");
  await page.locator(".kept", { hasText: "goes out when connected" }).getByText("hello").waitFor();
  // A try that is under way when the server can be reached again is let end first.
  await page.unrouteAll({ behavior: "wait" });
  await state("done");
  expect(page.url()).toContain(created);
  expect(textsOf(await site.api.events(created)).filter((text) => text === "hello")).toEqual(["hello"]);
});

test("AP-54 SE-27: a queued message that is sent now joins the run, once for two clicks", async () => {
  const { page, start, state, say } = site.shown;
  const session = await start("slow");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.getByTitle("How it is sent").click();
  await page.getByRole("menuitemradio", { name: "Queue" }).click();
  await say("hello");
  await page.getByRole("button", { name: "Send now" }).dblclick();
  await state("done");
  await expect.poll(async () => (await eventsOf(session, "run_end")).length).toBe(1);
  expect(await eventsOf(session, "steering_injected")).toHaveLength(1);
  expect(textsOf(await site.api.events(session)).filter((text) => text === "hello")).toEqual(["hello"]);
});

test("RE-T31: the page and its files come with a policy that lets nothing else in, and files of another content have another name", async () => {
  const html = await fetch(`${site.server.url}/console`);
  const text = await html.text();
  const file = /\/console\/[\w-]+\.js/.exec(text)?.[0] ?? "";
  const script = await fetch(`${site.server.url}${file}`);
  for (const answer of [html, script])
    expect(answer.headers.get("Content-Security-Policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    );
  expect(html.headers.get("Cache-Control")).toBe("no-cache");
  expect(script.headers.get("Cache-Control")).toContain("immutable");
  expect(html.headers.get("X-Content-Type-Options")).toBe("nosniff");
  expect(text).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>|\son\w+=|style=|https?:\/\//i);
});

test("RE-T31: what people and models write is text, never markup, and links are only of the web", async () => {
  const { page, start, state, logText } = site.shown;
  const attack =
    '<img src=x onerror="document.title=1"><b id="planted">bold</b> <script>document.title=2</script> [one](javascript:alert(1)) [two](https://example.com/) ![three](https://example.com/a.png)';
  await start(attack);
  await state("done");
  expect(await page.locator("#planted, .log img, .log script, .log iframe").count()).toBe(0);
  expect(await logText()).toContain('<b id="planted">');
  const links = await page
    .locator(".log a")
    .evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  expect(new Set(links)).toEqual(new Set(["https://example.com/", "https://example.com/a.png"]));
  expect(await page.title()).not.toMatch(/^[12]$/);
});
