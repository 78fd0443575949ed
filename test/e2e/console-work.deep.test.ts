import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { desk, phone, resize, serveConsole, violationsOf } from "../support/console-page.ts";
import { startMcpServer, textResult, textTool } from "../support/mcp-server.ts";
import type { TestMcpServer } from "../support/mcp-server.ts";
import { protect, startOAuthServer } from "../support/oauth-server.ts";
import type { OAuthServer } from "../support/oauth-server.ts";

/** AP-54: what a person does while agents work: steer, queue, attach, decide, leave. */

let auth: OAuthServer;
let library: TestMcpServer;
/** Where the authorization server sends people back to: an address that leads to the server. */
let origin: string;

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** Answers as the server does. */
const forward = async (path: string, response: ServerResponse): Promise<void> => {
  const answer = await fetch(`${site.server.url}${path}`, { headers: { "accept-encoding": "identity" } });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
};

const site = serveConsole("desk", "test", {
  prepare: async () => {
    auth = await startOAuthServer();
    library = await startMcpServer({
      tools: () => [textTool("search")],
      call: () => textResult("found"),
      before: protect({ by: () => auth }),
    });
    // It leads from `/from` to `/to`.
    const harbour = createServer(({ url }, response) =>
      url === "/from" ? response.writeHead(302, { location: "/to" }).end() : response.end("arrived"),
    );
    const place = await listen(harbour);
    const front = createServer(({ url }, response) => void forward(url ?? "/", response));
    origin = `http://${await listen(front)}`;
    return {
      edit: (text) =>
        text
          .replaceAll("https://library.example/mcp", library.url)
          .replaceAll("https://harbour.example", `http://${place}`),
      vars: {
        LIMPET_ORIGIN: origin,
        LIMPET_ADMIN_KEY: "canary-admin-key-0123456789",
        LIMPET_PRIVATE_EGRESS: `${library.host},${auth.host},${place}`,
      },
      close: async () => {
        await library.close();
        await auth.close();
        harbour.close();
        front.close();
      },
    };
  },
});

const show = async (session: string): Promise<void> => {
  await site.shown.page.goto(`${site.server.url}/console#${session}`);
  await site.shown.page.locator(".conversation").waitFor();
};

/** The texts of the messages that the agent was given, in their order. */
const saidIn = async (session: string): Promise<readonly string[]> =>
  (await site.api.events(session)).flatMap((event) =>
    event.type === "message_added" && event.data.message.role === "user"
      ? event.data.message.parts.flatMap((part) => (part.type === "text" ? [part.text] : []))
      : [],
  );

const decisionsIn = async (session: string): Promise<readonly string[]> =>
  (await site.api.events(session)).flatMap((event) =>
    event.type === "ask_resolved" ? [event.data.decision] : [],
  );

const clickMenu = async (page: Page, item: string): Promise<void> => {
  const head = page.locator(".conversation .head");
  await head.getByRole("button", { name: "What to do with this session" }).click();
  await head.getByRole("menuitem", { name: item }).click();
};

/** Ends the command of the scene `hold`. */
const release = async (session: string): Promise<void> => {
  const url = `${site.server.url}/v1/sessions/${session}/workspace/go`;
  expect((await fetch(url, { method: "PUT", body: "now" })).ok).toBe(true);
};

test("AP-54: what is written while an agent works steers it, and the log says so", async () => {
  const { page, start, state, say, logText } = site.shown;
  const session = await start("hold");
  await page.locator(".line", { hasText: "Running" }).waitFor();
  expect(await page.locator(".composer-bar").textContent()).toContain("Steer now");
  await say("Look at the moon");
  await page.locator(".waiting", { hasText: "Before its next step: Look at the moon" }).waitFor();
  await release(session);
  await state("done");
  await expect.poll(logText).toContain("Sent while it worked");
  expect(await logText()).toContain("You said: [STEERING] Look at the moon");
  expect(await saidIn(session)).toEqual(["hold", expect.stringContaining("Look at the moon")]);
  expect((await site.api.get(`/v1/sessions/${session}/runs`)).body["data"]).toHaveLength(1);
});

test("AP-54: a message is queued, withdrawn, taken back into the field, or sent at once", async () => {
  const { page, start, state, say, logText } = site.shown;
  const session = await start("hold");
  await page.locator(".line", { hasText: "Running" }).waitFor();
  const queue = async (text: string): Promise<void> => {
    await page.getByTitle("How it is sent").click();
    await page.getByRole("menuitemradio", { name: /^Queue/ }).click();
    await say(text);
    await page.locator(".waiting", { hasText: `After this run: ${text}` }).waitFor();
  };
  await queue("first thought");
  await queue("second thought");
  const waiting = page.locator(".waiting");
  await waiting.filter({ hasText: "first" }).getByRole("button", { name: "Withdraw" }).click();
  await expect.poll(() => waiting.count()).toBe(1);
  await expect.poll(() => page.locator("#composer").inputValue()).toBe("first thought");
  await page.locator("#composer").fill("");
  await page.locator("#composer").press("ArrowUp");
  await expect.poll(() => page.locator("#composer").inputValue()).toBe("second thought");
  await expect.poll(() => waiting.count()).toBe(0);
  await page.locator("#composer").fill("");
  await queue("third thought");
  await waiting.getByRole("button", { name: "Send now" }).click();
  await waiting.filter({ hasText: "Before its next step: third thought" }).waitFor();
  await release(session);
  await state("done");
  await expect.poll(logText).toContain("third thought");
  expect(await saidIn(session)).toEqual(["hold", expect.stringContaining("third thought")]);
});

test("AP-54: Queue stays chosen while the run works, and what a stopped run did not take can be taken back into the field", async () => {
  const { page, start, state, say, logText } = site.shown;
  const session = await start("wait");
  await page.locator(".line", { hasText: "Running" }).waitFor();
  await page.getByTitle("How it is sent").click();
  await page.getByRole("menuitemradio", { name: /^Queue/ }).click();
  const waiting = page.locator(".waiting");
  await say("first thought");
  await waiting.filter({ hasText: "After this run: first thought" }).waitFor();
  await say("second thought");
  await waiting.filter({ hasText: "After this run: second thought" }).waitFor();
  await page.locator("#composer").press("Escape");
  await page.getByRole("button", { name: "Stop it" }).click();
  await state("stopped");
  const returned = page.locator(".returned");
  await expect.poll(() => returned.count()).toBe(2);
  const first = returned.filter({ hasText: "first thought" });
  expect(await first.textContent()).toContain("Not sent, since the run was stopped");
  await page.locator("#composer").fill("half a thought");
  await first.getByRole("button", { name: "Take back into the field" }).click();
  expect(await page.locator("#composer").inputValue()).toBe("half a thought\nfirst thought");
  await page.locator("#composer").press("Enter");
  await state("done");
  await expect.poll(logText).toContain("You said: half a thought");
  expect(await saidIn(session)).toEqual(["wait", "half a thought\nfirst thought"]);
  await page.reload();
  await expect.poll(() => returned.count()).toBe(2);
});

test("AP-54: a page that is loaded while the server is away says nothing that it does not know, and its focus is in the field", async () => {
  const { page, start, state } = site.shown;
  await start("hello");
  await state("done");
  await page.route("**/v1/**", (route) => route.abort());
  await page.reload();
  await state("reconnecting");
  await expect
    .poll(() => page.locator(".sessions .list").textContent())
    .toBe("The list cannot be read just now.");
  await expect
    .poll(() => page.locator(".panel-body").textContent())
    .toBe("The session cannot be read just now.");
  await expect.poll(() => page.locator(".head-words p").textContent()).toBe("reconnecting");
  expect(await page.locator(".page").textContent()).not.toMatch(
    /\$0\.00|As of|No sessions|open without a key/,
  );
  expect(await page.evaluate("document.activeElement?.id")).toBe("composer");
  await page.unroute("**/v1/**");
  await state("done");
  await page.locator(".figure", { hasText: "Session" }).waitFor();
  await page.locator(".session.current", { hasText: "hello" }).waitFor();
});

test("AP-54: the palette renames and clears the session, shows its tabs, and saves its events", async () => {
  const { page, start, state } = site.shown;
  const session = await start("hello");
  await state("done");
  const choose = async (text: string): Promise<void> => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "What to do" }).fill(text);
    await page.keyboard.press("Enter");
  };
  await choose("rename this");
  await page.getByRole("dialog").getByRole("textbox").fill("Low water");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Low water", level: 1 }).waitFor();
  await choose("show notes");
  await page.getByRole("tab", { name: "Notes", selected: true }).waitFor();
  const pages: string[] = [];
  page.on("request", (request) => {
    if (/\/events\?.*\blimit=/.test(request.url())) pages.push(request.url());
  });
  const [saved] = await Promise.all([page.waitForEvent("download"), choose("download")]);
  expect(pages).toHaveLength(1);
  expect(saved.suggestedFilename()).toBe(`${session}.jsonl`);
  const lines = readFileSync(await saved.path(), "utf8")
    .trim()
    .split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { readonly seq: number }).seq)).toEqual(
    (await site.api.events(session)).map(({ seq }) => seq),
  );
  await choose("clear this");
  await page.getByRole("button", { name: "Clear it" }).click();
  await page.locator(".mark", { hasText: "Cleared" }).waitFor();
  await page.keyboard.press("Control+k");
  const entries = page.getByRole("option", { name: /^Session: .*keeper · (now|\d+ min)$/ });
  await entries.first().waitFor();
  await page.keyboard.press("Escape");
});

test("AP-54: a file that no message may hold is refused where it is attached", async () => {
  const { page, start, state } = site.shown;
  await start("hello");
  await state("done");
  const bytes = { mimeType: "application/octet-stream", buffer: Buffer.from([0, 1]) };
  const code = { name: "shell.ts", mimeType: "video/mp2t", buffer: Buffer.from("export {};") };
  const text = { name: "shells.txt", mimeType: "text/plain", buffer: Buffer.from("three") };
  await page.getByLabel("Files to attach").setInputFiles([{ ...bytes, name: "name.bin" }, text, code]);
  const refusal = page.getByText("name.bin cannot be sent with a message. Put it into Files instead.");
  await refusal.waitFor();
  expect(await page.locator(".composer-files li").allTextContents()).toEqual(["shells.txt", "shell.ts"]);
  for (const viewport of [desk, phone]) {
    await resize(page, viewport);
    expect(await violationsOf(page), `${viewport.width} px`).toEqual([]);
  }
  await resize(page, desk);
  expect(await refusal.count(), "the field is the same in each width").toBe(1);
  await page.locator("#composer").press("Enter");
  await page.locator(".said .attachment", { hasText: "shells.txt" }).waitFor();
  await refusal.waitFor({ state: "detached" });
  await state("done");
  expect(await page.locator(".fault").count()).toBe(0);
});

test("AP-54 AP-45: files are picked, dropped and left out, and the message names them", async () => {
  const { page, start, state, say } = site.shown;
  await start("hello");
  await state("done");
  const file = (name: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(`This is ${name}.`) });
  await page.getByLabel("Files to attach").setInputFiles([file("picked.txt"), file("not-this.txt")]);
  await page.getByRole("button", { name: "Leave not-this.txt out" }).click();
  await page.evaluate(`{
    const data = new DataTransfer();
    data.items.add(new File(["This is dropped."], "dropped.txt", { type: "text/plain" }));
    const target = document.querySelector(".log");
    for (const type of ["dragenter", "dragover", "drop"])
      target.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
  }`);
  await expect.poll(() => page.locator(".composer-files li").count()).toBe(2);
  await say("Read these");
  const message = page.locator(".said", { hasText: "Read these" });
  await message.locator(".attachment", { hasText: "picked.txt" }).waitFor();
  await message.locator(".attachment", { hasText: "dropped.txt" }).waitFor();
  await state("done");
});

test("AP-54: a budget that is used up is raised by its ask, by as much or by another amount", async () => {
  const { page, start, state, logText } = site.shown;
  const session = await start("dear");
  const ask = page.locator(".ask");
  await ask.getByText("keeper’s run has used $4.50 of $3.00").waitFor();
  await page.locator(".session.current", { hasText: "Needs your decision" }).waitFor();
  const panel = page.locator(".panel .budget");
  await panel.getByText("$1.50 over the $3.00 for this run").waitFor();
  // Of what is allowed a part is spent already: the limit is named, and not what it grows by.
  await ask.getByRole("button", { name: "Allow $6.00 in all" }).waitFor();
  await ask.getByRole("button", { name: "Another amount…" }).click();
  await ask.getByRole("spinbutton").fill("9");
  await ask.getByRole("button", { name: "Allow this much" }).click();
  await state("done");
  expect(await logText()).toContain("You allowed more");
  // The raise was for that run, whose cost stands above; the next one begins with the team's limit.
  await page
    .locator(".figure", { hasText: "This run" })
    .getByText(/\$[4-9]\.\d\d/)
    .waitFor();
  await panel.getByText("The next run may spend $3.00").waitFor();
  expect(await decisionsIn(session)).toEqual(["approve"]);
});

test("AP-54 TB-27: signing in opens the server's page in a tab that knows nothing of this one, and the run goes on by itself", async () => {
  const { page, state } = site.shown;
  const session = await site.api.create({ agent: "reader", input: "library" });
  await show(session);
  const ask = page.locator(".ask", { hasText: "use library in your name" });
  const link = ask.getByRole("link", { name: `Sign in at ${auth.host}` });
  await link.waitFor();
  for (const viewport of [desk, phone])
    for (const colorScheme of ["light", "dark"] as const) {
      await resize(page, viewport);
      await page.emulateMedia({ colorScheme });
      expect(await violationsOf(page), `${colorScheme}, ${viewport.width} px`).toEqual([]);
    }
  await resize(page, desk);
  expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
  expect(new URL((await link.getAttribute("href")) ?? "").host).toBe(auth.host);
  const [tab] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
  await tab.waitForURL(`${origin}/**`);
  expect(await tab.evaluate("[window.opener, document.referrer]")).toEqual([null, ""]);
  await tab.close();
  await state("done");
  await page.locator(".log", { hasText: "Somebody signed in · library" }).waitFor();
  const [end] = (await site.api.events(session)).filter(({ type }) => type === "tool_call_end");
  expect(JSON.stringify(end)).toContain("found");
});

test("AP-54: a call of the program that began the session says who has to answer, and a person may go on without", async () => {
  const { page, state } = site.shown;
  const session = await site.api.create({
    client_tools: [
      { name: "ring_bell", description: "Rings.", params: { type: "object" }, safety: "unsafe" },
    ],
    input: "client",
  });
  await show(session);
  const ask = page.locator(".ask", { hasText: "Waits for its client" });
  await ask.getByText("ring_bell").waitFor();
  expect(await ask.locator(".values").textContent()).toBe("times2");
  await page.locator(".session.current", { hasText: "Waiting" }).waitFor();
  await ask.getByRole("button", { name: "Go on without it" }).click();
  await state("done");
  await page.locator(".line", { hasText: "You went on without it" }).waitFor();
});

test("AP-54: of two open asks ⌘↵ and typed text go to the one with the focus, and no ask takes over what was typed in another", async () => {
  const { page, start, state, press } = site.shown;
  const session = await start("letters");
  const ask = (name: string) => page.locator(".ask", { hasText: name });
  await ask("first").waitFor();
  await ask("second").waitFor();
  await press("Control+Enter");
  expect(await decisionsIn(session)).toEqual([]);
  await ask("second").getByRole("button", { name: "Deny…" }).click();
  await page.getByRole("textbox", { name: "Reason" }).fill("Not the second");
  await ask("first").getByRole("button", { name: "Edit", exact: true }).focus();
  await page.keyboard.press("Control+Enter");
  await expect.poll(() => decisionsIn(session)).toEqual(["approve"]);
  await page.locator(".line", { hasText: "You approved" }).waitFor();
  expect(await page.getByRole("textbox", { name: "Reason" }).inputValue()).toBe("Not the second");
  await page.getByRole("textbox", { name: "Reason" }).press("Enter");
  await state("done");
  const open = (await site.api.events(session)).filter(({ type }) => type === "ask_resolved");
  expect(open.map(({ data }) => data)).toMatchObject([{ decision: "approve" }, { decision: "deny" }]);
});

test("AP-54: a call that asks a second time is decided on anew: nothing of the first ask stays in its place", async () => {
  const { page, start, state } = site.shown;
  const asked: string[] = [];
  page.on("websocket", (socket) =>
    socket.on("framereceived", ({ payload }) => {
      asked.push(...(String(payload).match(/"type":"ask_user"/g) ?? []));
    }),
  );
  const session = await start("fetch");
  const ask = page.locator(".ask");
  await ask.getByText("/from").first().waitFor();
  await ask.getByRole("button", { name: "Edit", exact: true }).click();
  await ask.getByRole("textbox").fill("half a thought");
  // The page draws nothing until the second ask is there: it takes the place of the first at once.
  await page.evaluate(
    "{ window.held = []; window.drawn = requestAnimationFrame; requestAnimationFrame = (draw) => held.push(draw); }",
  );
  const { body } = await site.api.get(`/v1/sessions/${session}/asks?status=open`);
  const [{ id }] = body["data"] as readonly [{ readonly id: string }];
  await site.api.post(`/v1/sessions/${session}/asks/${id}`, { decision: "approve" });
  await expect.poll(() => asked.length).toBe(2);
  await page.evaluate(
    "{ requestAnimationFrame = drawn; for (const draw of held) requestAnimationFrame(draw); }",
  );
  await ask.getByText("/to").first().waitFor();
  expect(await ask.getByRole("tab", { selected: true }).textContent()).toBe("Values");
  await ask.getByRole("button", { name: "Approve", exact: true }).click();
  await state("done");
  expect(await decisionsIn(session)).toEqual(["approve", "approve"]);
  expect(await page.locator(".line", { hasText: "approved" }).count()).toBe(2);
});

test("AP-54: a session is cleared from its menu, which asks once: the agent begins anew, the originals stay", async () => {
  const { page, start, state, say, logText } = site.shown;
  const session = await start("remember me");
  await state("done");
  await clickMenu(page, "Clear…");
  await page.getByRole("button", { name: "Keep it" }).click();
  await clickMenu(page, "Clear…");
  await page.getByRole("button", { name: "Clear it" }).click();
  await expect.poll(logText).toContain("Cleared");
  expect(await logText()).not.toContain("remember me");
  await say("hello");
  await expect.poll(logText).toContain("You said: hello");
  const { body } = await site.api.get(`/v1/sessions/${session}/messages?retired=true`);
  expect(JSON.stringify(body)).toContain("remember me");
});

test("AP-54: the log follows a stream only from its end; elsewhere it stays, counts what is new, and jumps on demand", async () => {
  const { page, start, state, press, logText } = site.shown;
  await start("flood");
  const place = () => page.evaluate<number>("document.querySelector('.log').scrollTop");
  await expect.poll(place).toBeGreaterThan(500);
  await page.locator(".log").hover();
  await page.mouse.wheel(0, -15);
  await page.getByRole("button", { name: "To the end" }).waitFor();
  const left = (await place()) - 400;
  await page.mouse.wheel(0, -400);
  await expect.poll(place).toBe(left);
  const length = (await logText()).length;
  await expect.poll(async () => (await logText()).length).toBeGreaterThan(length + 400);
  expect(await place()).toBe(left);
  await press("g");
  await expect.poll(place).toBeGreaterThan(left + 200);
  await page.locator(".jump").waitFor({ state: "detached" });
  await page.evaluate(`
    const log = document.querySelector(".log");
    const more = document.createElement("div");
    more.style.height = "500px";
    log.firstElementChild.append(more);
    log.dispatchEvent(new Event("scroll"));
    new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  `);
  expect(await page.locator(".jump").count()).toBe(0);
  await page.locator(".log").hover();
  await page.mouse.wheel(0, -400);
  await page.locator(".jump").waitFor();
  await page.locator("#composer").fill("and more");
  await page.locator("#composer").press("Enter");
  await page.locator(".jump").waitFor({ state: "detached" });
  await press("Escape");
  await state("stopped");
});

test("AP-54: a session that one comes back to stands where it was left", async () => {
  const { page, start, state, press } = site.shown;
  const session = await start("flood");
  const place = () => page.evaluate<number>("document.querySelector('.log').scrollTop");
  await expect.poll(place).toBeGreaterThan(500);
  await press("Escape");
  await state("stopped");
  await page.locator(".log").hover();
  await page.mouse.wheel(0, -400);
  await page.locator(".jump").waitFor();
  const left = await place();
  const open = (id: string) => page.evaluate(`location.hash = "#${id}"`);
  await open(await site.api.create());
  await expect.poll(place).toBe(0);
  await open(session);
  await expect.poll(place).toBe(left);
});

test("AP-54: Esc in a field leaves the field and never the run; from the composer it stops, and asks first where a call runs", async () => {
  const { page, start, state, press } = site.shown;
  await start("wait");
  await page.locator(".line", { hasText: "Running" }).waitFor();
  const busy = async (): Promise<void> => {
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    expect(await page.locator("dialog[open]").count()).toBe(0);
    expect(await page.locator(".conversation .head-words").textContent()).toContain("working");
  };
  await page.locator("#search").press("Escape");
  await busy();
  await clickMenu(page, "Rename");
  await page.locator(".head").getByRole("textbox", { name: "Title of the session" }).press("Escape");
  await busy();
  await page.getByTitle("How it is sent").click();
  await page.keyboard.press("Escape");
  await busy();
  await page.getByRole("tab", { name: "Events", exact: true }).click();
  await page.getByRole("searchbox", { name: "Filter events" }).press("Escape");
  await busy();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "What to do" }).press("Escape");
  await page.locator("dialog[open]").waitFor({ state: "detached" });
  await busy();
  await page.locator("#composer").press("Escape");
  await page.getByRole("heading", { name: "Stop the run?" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog[open]").waitFor({ state: "detached" });
  await busy();
  await press("Escape");
  await page.getByRole("button", { name: "Stop it" }).click();
  await state("stopped");
});

test("AP-54: a session is renamed and deleted from its head, which leads to the first page", async () => {
  const { page, start, state } = site.shown;
  const session = await start("hello");
  await state("done");
  await clickMenu(page, "Rename");
  const field = page.locator(".head").getByRole("textbox", { name: "Title of the session" });
  await field.fill("High water");
  await field.press("Enter");
  await page.getByRole("heading", { name: "High water", level: 1 }).waitFor();
  await expect.poll(() => page.title()).toContain("High water");
  await page.locator(".session.current", { hasText: "High water" }).waitFor();
  await clickMenu(page, "Delete…");
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByRole("heading", { name: "What should keeper do?" }).waitFor();
  await expect.poll(() => page.locator(".session", { hasText: "High water" }).count()).toBe(0);
  expect((await site.api.get(`/v1/sessions/${session}`)).status).toBe(404);
});
