import { expect, test } from "vitest";
import { phone, resize, serveConsole, tooMuch, violationsOf } from "../support/console-page.ts";

/** AP-54: the console does what its words say, and nothing that a person wrote is lost. */

// A test that has the server refuse a file sees the browser say so.
const site = serveConsole("desk", "test", { allows: (complaint) => complaint.includes("413") });

const field = () => site.shown.page.locator("#composer");
const waiting = () => site.shown.page.locator(".waiting");
const firstPage = async (): Promise<void> => {
  await site.shown.page.goto(`${site.server.url}/console`);
  await site.shown.page.getByRole("button", { name: "Start" }).waitFor();
};
const textFile = (name: string, size = 5) => ({
  name,
  mimeType: "text/plain",
  buffer: Buffer.alloc(size, "a"),
});
const attach = (files: readonly ReturnType<typeof textFile>[]): Promise<void> =>
  site.shown.page.getByLabel("Files to attach").setInputFiles([...files]);
const attached = () => site.shown.page.locator(".composer-files li");
const choose = async (mode: RegExp): Promise<void> => {
  await site.shown.page.getByTitle("How it is sent").click();
  await site.shown.page.getByRole("menuitemradio", { name: mode }).click();
};
const queue = async (text: string): Promise<void> => {
  await choose(/^Queue/);
  await site.shown.say(text);
  await waiting().filter({ hasText: text }).waitFor();
};
const isWorking = async (): Promise<void> => {
  await site.shown.page.evaluate(
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
  );
  expect(await site.shown.page.locator("dialog[open]").count()).toBe(0);
  expect(await site.shown.page.locator(".conversation .head-words").textContent()).toContain("working");
};
const clear = async (): Promise<void> => {
  const head = site.shown.page.locator(".conversation .head");
  await head.getByRole("button", { name: "What to do with this session" }).click();
  await head.getByRole("menuitem", { name: "Clear…" }).click();
};
const saidIn = async (session: string): Promise<readonly string[]> =>
  (await site.api.events(session)).flatMap((event) =>
    event.type === "message_added" && event.data.message.role === "user"
      ? event.data.message.parts.flatMap((part) => (part.type === "text" ? [part.text] : []))
      : [],
  );

test("AP-54: a file over the limit is refused where it is chosen, by its name and the limit", async () => {
  await firstPage();
  await attach([textFile("big.txt", 8 * 2 ** 20 + 1), textFile("small.txt")]);
  await site.shown.page
    .getByText(
      "big.txt (larger than 8 MiB) cannot be sent with a message. Put it into Files once the session has begun.",
    )
    .waitFor();
  expect(await attached().allTextContents()).toEqual(["small.txt"]);
});

test("AP-54: what cannot be read, such as a folder, is refused where it is dropped", async () => {
  await firstPage();
  await site.shown.page.evaluate(
    "Blob.prototype.arrayBuffer = () => Promise.reject(new DOMException('A folder.', 'NotFoundError'))",
  );
  await attach([{ ...textFile("shells"), mimeType: "" }]);
  await site.shown.page.getByText("shells cannot be sent with a message.").waitFor();
});

test("AP-54: a first message whose beginning ends within an emoji begins a session, and leaves no draft", async () => {
  const text = `${"a".repeat(79)}🎧 and more`;
  await firstPage();
  await site.shown.say(text);
  await site.shown.state("done");
  expect(await saidIn(/#(s_\w+)/.exec(site.shown.page.url())?.[1] ?? "")).toEqual([text]);
  await firstPage();
  expect(await field().inputValue()).toBe("");
});

test("AP-54: what the server refuses of a first message stays in the field of the session that was made", async () => {
  const { page, state } = site.shown;
  await page.route("**/v1/sessions/*/files?*", (route) => {
    if (!route.request().url().includes("second")) return route.continue();
    return route.fulfill(tooMuch);
  });
  await firstPage();
  await attach([textFile("first.txt"), textFile("second.txt")]);
  await site.shown.say("Read these");
  await page.locator(".fault", { hasText: "second.txt: That is too much." }).waitFor();
  expect(page.url()).toMatch(/#s_/);
  await expect.poll(() => field().inputValue()).toBe("Read these");
  expect(await attached().allTextContents()).toEqual(["first.txt", "second.txt"]);
  await page.reload();
  await expect.poll(() => attached().allTextContents()).toEqual(["first.txt", "second.txt"]);
  expect(await field().inputValue()).toBe("Read these");
  await page.getByRole("button", { name: "Leave second.txt out" }).click();
  await field().press("Enter");
  await state("done");
  await page.locator(".said .attachment", { hasText: "first.txt" }).waitFor();
  await page.getByRole("button", { name: "New", exact: true }).click();
  await page.getByRole("button", { name: "Start" }).waitFor();
  expect([await field().inputValue(), await attached().count()]).toEqual(["", 0]);
});

test("AP-54: what is on its way when another session is shown goes out later, and stands in no field", async () => {
  const { page, start, state, say } = site.shown;
  await start("hello");
  await state("done");
  await page.route("**/v1/sessions/*/messages", (route) => route.abort());
  await say("remember me");
  await page.locator(".kept", { hasText: "remember me" }).waitFor();
  await page.getByRole("button", { name: "New", exact: true }).click();
  await page.getByRole("button", { name: "Start" }).waitFor();
  await page.unroute("**/v1/sessions/*/messages");
  await page.goBack();
  await page.locator(".said:not(.kept)", { hasText: "remember me" }).waitFor();
  expect(await field().inputValue()).toBe("");
});

test("AP-54: what was sent with a message opens: an image and a text are shown, and both can be saved", async () => {
  const { page, start, state } = site.shown;
  await start("hello");
  await state("done");
  const pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const image = { name: "sea.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") };
  await page.getByLabel("Files to attach").setInputFiles([image, textFile("notes.txt")]);
  await field().press("Enter");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "sea.png", exact: true }).click();
  await expect.poll(() => page.evaluate("document.querySelector('dialog img')?.naturalWidth")).toBe(1);
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "notes.txt", exact: true }).click();
  await dialog.getByText("aaaaa", { exact: true }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Download, 5 bytes" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("notes.txt");
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
});

test("AP-54: what is copied as curl works where the page itself needs no key", async () => {
  const { page, start, state } = site.shown;
  const session = await start("hello");
  await state("done");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("tab", { name: "Events", exact: true }).click();
  await page.getByRole("button", { name: "Copy as curl" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
    `curl '${site.server.url}/v1/sessions/${session}/events'`,
  );
});

test("AP-54: the button of the field says what it does with the text, by the way to send", async () => {
  const { page, start, press } = site.shown;
  await start("hold");
  await page.locator(".line", { hasText: "Running" }).waitFor();
  await field().fill("a thought");
  const verb = page.locator(".send");
  await expect.poll(() => verb.textContent()).toContain("Steer");
  await choose(/^Queue/);
  await expect.poll(() => verb.textContent()).toContain("Queue");
  await choose(/^Interrupt/);
  await expect.poll(() => verb.textContent()).toContain("Interrupt");
  await press("Escape");
  await page.getByRole("button", { name: "Stop it" }).click();
  await expect.poll(() => verb.textContent()).toContain("Send");
});

test("AP-54: a message that is withdrawn stands in the field again with its files, before what was written meanwhile", async () => {
  const { page, start, state } = site.shown;
  await start("hold");
  await page.locator(".line", { hasText: "Running" }).waitFor();
  await attach([textFile("shells.txt")]);
  await queue("first thought");
  await field().fill("half a thought");
  await waiting().getByRole("button", { name: "Withdraw" }).click();
  await expect.poll(() => field().inputValue()).toBe("first thought\nhalf a thought");
  await expect.poll(() => attached().allTextContents()).toEqual(["shells.txt"]);
  expect(await waiting().count()).toBe(0);
  await field().press("Escape");
  await page.getByRole("button", { name: "Stop it" }).click();
  await state("stopped");
});

test("AP-54: while an approval is open nothing that would drop it is offered for a message that waits", async () => {
  const { page, start } = site.shown;
  await start("letters");
  await page.locator(".ask").first().waitFor();
  await queue("a thought");
  expect(await waiting().getByRole("button").allTextContents()).toEqual(["Withdraw"]);
});

test("AP-54: Esc leaves the edit of a message that waits: the message waits again, and the run goes on", async () => {
  const { page, start, state } = site.shown;
  const session = await start("hold");
  await page.locator(".line", { hasText: "Running" }).waitFor();
  await queue("first thought");
  await queue("second thought");
  await choose(/^Steer/);
  await field().press("ArrowUp");
  await expect.poll(() => field().inputValue()).toBe("second thought");
  await expect.poll(() => waiting().count()).toBe(1);
  expect(await page.locator(".send").textContent()).toContain("Queue");
  await field().fill("another thought");
  await field().press("Escape");
  await waiting().filter({ hasText: "After this run: second thought" }).waitFor();
  expect(await waiting().count()).toBe(2);
  expect(await field().inputValue()).toBe("");
  await isWorking();
  await field().press("Escape");
  await page.getByRole("button", { name: "Stop it" }).click();
  await state("stopped");
  expect(await saidIn(session)).toEqual(["hold"]);
});

test("AP-54: a stopped reply has one mark, at its end, and its cost stands in the list at once", async () => {
  const { page, start, state, press, logText } = site.shown;
  await start("dear flood");
  await expect.poll(async () => (await logText()).length).toBeGreaterThan(400);
  await press("Escape");
  await state("stopped");
  expect(await page.locator(".log .mark").allTextContents()).toEqual(["Stopped."]);
  expect(await page.locator(".log .entry").last().textContent()).toBe("Stopped.");
  await page
    .locator(".session.current .facts")
    .getByText(/\$(?!0\.00$)/)
    .waitFor();
});

test("AP-54: after Clear the figures begin anew, and its question says what one will see", async () => {
  const { page, start, state } = site.shown;
  await start("hello");
  await state("done");
  const run = page.locator(".figure", { hasText: "This run" });
  await run.getByText(/[1-9].* tokens/).waitFor();
  await clear();
  const text = await page.locator("dialog p").textContent();
  expect(text).toContain("your view of it is emptied, too");
  expect(text).toContain("Events tab");
  await page.getByRole("button", { name: "Clear it" }).click();
  await page.locator(".mark", { hasText: "Cleared" }).waitFor();
  await expect.poll(() => run.textContent()).toContain("$0.000 tokens");
  expect(await page.locator(".panel .bars, .panel .lanes").count()).toBe(0);
  await page.reload();
  await page.locator(".mark", { hasText: "Cleared" }).waitFor();
  await expect.poll(() => run.textContent()).toContain("$0.000 tokens");
  await site.shown.say("hello");
  await run.getByText(/[1-9].* tokens/).waitFor();
  expect(await page.locator(".panel .bars li").count()).toBe(1);
});

test("AP-54: a called agent's row stays where it is when it is opened", async () => {
  const { page, start, state } = site.shown;
  await page.setViewportSize({ width: 1440, height: 460 });
  await start("dig");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await page.getByRole("button", { name: "Back to the conversation" }).click();
  await state("done");
  const row = page.locator(".child-line", { hasText: "Dig 1" });
  await expect.poll(() => row.getAttribute("aria-expanded")).toBe("false");
  const top = () => row.evaluate((element) => element.getBoundingClientRect().top);
  const before = await top();
  await row.click();
  await page.getByText("Task: Dig 1").waitFor();
  await page.waitForTimeout(300);
  expect(await top()).toBe(before);
  await page.getByRole("button", { name: "To the end" }).click();
  await expect.poll(top).toBeLessThan(before);
});

test("AP-54: Esc clears the search, a second one leaves it, and the filters stay where nothing is found", async () => {
  const { page, start, state } = site.shown;
  await start("hello");
  await state("done");
  const search = page.locator("#search");
  await search.fill("nobody called it so");
  await page.getByText("No session has this in its title, ref or id.").waitFor();
  expect(await page.getByRole("tab", { name: "Failed" }).count()).toBe(1);
  await search.press("Escape");
  expect(await search.inputValue()).toBe("");
  await page.locator(".session.current", { hasText: "hello" }).waitFor();
  expect(await page.evaluate("document.activeElement?.id")).toBe("search");
  await search.press("Escape");
  expect(await page.evaluate("document.activeElement?.id")).not.toBe("search");
});

test("AP-54: on a phone one comes back to the list as it was searched", async () => {
  const { page, start, state } = site.shown;
  await start("a limpet to be found");
  await state("done");
  await resize(page, phone);
  const back = page.getByRole("button", { name: "All sessions" });
  await back.click();
  await page.locator("#search").fill("limpet to be");
  await expect.poll(() => page.locator(".session").count()).toBe(1);
  await page.locator(".session a").click();
  await back.click();
  expect(await page.locator("#search").inputValue()).toBe("limpet to be");
  await page.locator(".session", { hasText: "a limpet to be found" }).waitFor();
  expect(await page.locator(".session").count()).toBe(1);
});

test("AP-54: a pasted message of many lines is folded, and shown whole on demand; the page is no taller than its window", async () => {
  const { page, start, state } = site.shown;
  await start(["hello", ...Array.from({ length: 59 }, (_, at) => `Line ${at + 2}`)].join("\n"));
  await state("done");
  const said = page.locator(".said .bubble");
  const height = (): Promise<number> => said.evaluate((bubble) => bubble.getBoundingClientRect().height);
  const folded = await height();
  await said.getByRole("button", { name: "Show all" }).click();
  await expect.poll(height).toBeGreaterThan(folded * 2);
  expect(await page.evaluate("document.documentElement.scrollHeight - innerHeight")).toBe(0);
});

test("AP-54: a session with a title shows its ref, too, and is found by it", async () => {
  const { page, start, state } = site.shown;
  await site.api.create({ title: "Rising damp", ref: "ticket-42" });
  await start("hello");
  await state("done");
  await page.getByRole("searchbox", { name: "Search sessions" }).fill("TICKET-4");
  const rows = page.locator("#session-list .session");
  await expect.poll(() => rows.locator(".title .cut").allTextContents()).toEqual(["Rising damp"]);
  expect(await rows.locator(".state").textContent()).toMatch(/^New · .* · ticket-42$/);
});
