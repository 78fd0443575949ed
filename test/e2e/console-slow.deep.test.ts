import type { Page, Request, Route } from "playwright-core";
import { expect, test } from "vitest";
import { serveConsole } from "../support/console-page.ts";
import { createLongSession } from "../support/console-speed.ts";

/** AP-54: the console in front of a server that is slow: what is shown meanwhile, and how often it is asked. */

const site = serveConsole("default", "shipped", {
  // A browser complains of an answer that the server refuses; the page says so, too.
  allows: (complaint) => complaint.includes("status of 429"),
  prepare: async () => ({
    // The command of the scene "run" that fails has an output that is cut instead.
    edit: (text) => text.replaceAll("echo 'the tide is too high' >&2; exit 3", "seq 1 30000"),
  }),
});

/** Requests that wait until the test lets them on. */
interface Held {
  /** Those that the page has not given up. */
  readonly waiting: () => number;
  /** How many came. */
  readonly count: () => number;
  /** Lets those that wait on, and by `end` all that come. */
  readonly release: () => Promise<void>;
  readonly end: () => Promise<void>;
}

const hold = async (page: Page, url: string | RegExp, method = "GET"): Promise<Held> => {
  const held = new Map<Request, Route>();
  let count = 0;
  let isHolding = true;
  page.on("requestfailed", (request) => held.delete(request));
  await page.route(url, async (route) => {
    const isMeant = route.request().method() === method;
    if (isMeant) count += 1;
    if (!isMeant || !isHolding) await route.fallback();
    else held.set(route.request(), route);
  });
  const release = async (): Promise<void> => {
    const routes = [...held.values()];
    held.clear();
    for (const route of routes) await route.fallback();
  };
  return {
    waiting: () => held.size,
    count: () => count,
    release,
    end: async () => {
      isHolding = false;
      await release();
    },
  };
};

test("AP-54: a refusal of earlier entries is not asked about again while an answer streams, but when the server says or one scrolls", async () => {
  const { page, state } = site.shown;
  const { id } = await createLongSession(site.api, 500);
  let count = 0;
  let after: number | null = null;
  await page.route(/\/events\?.*before=/, async (route) => {
    count += 1;
    const problem = {
      type: "",
      title: "",
      status: 429,
      detail: "Too many.",
      code: "rate_limited",
      retryable: true,
    };
    const json = { ...problem, ...(after !== null && { retry_after_ms: after }) };
    await route.fulfill({ status: 429, contentType: "application/problem+json", json });
  });
  await page.goto(`${site.server.url}/console#${id}`);
  await state("done");
  await page.locator(".speech").last().waitFor();
  expect(count).toBe(0);
  const scrollTo = (top: number) => page.evaluate(`document.querySelector(".log").scrollTop = ${top}`);
  await scrollTo(0);
  await page.locator(".fault", { hasText: "Too many." }).waitFor();
  const length = async () => (await page.locator(".speech").last().textContent())?.length ?? 0;
  await site.api.post(`/v1/sessions/${id}/messages`, { content: "slow" });
  await state("working");
  await expect.poll(length).toBeGreaterThan(500);
  expect(count).toBe(1);
  after = 200;
  // The answer is shown on before the browser says that one has scrolled.
  await page.evaluate(`new Promise(requestAnimationFrame).then(() => {
    document.querySelector(".log").scrollTop = 50;
  })`);
  await expect.poll(() => count).toBeGreaterThan(3);
  const taken = page.waitForResponse((response) => response.url().includes("before=") && response.ok());
  await page.unroute(/\/events\?.*before=/);
  await taken;
});

test("AP-54: earlier entries that come, and rows that grow, move nobody who reads below them, and are not told as new", async () => {
  const { page, state } = site.shown;
  const { id } = await createLongSession(site.api, 500);
  await page.goto(`${site.server.url}/console#${id}`);
  await state("done");
  await page.locator(".speech").last().waitFor();
  const rows = page.locator(".log [data-entry]");
  const count = await rows.count();
  // Each time the entries before are shown, what is read stands where it stood.
  const moved = await page.evaluate<number>(`(async () => {
    const log = document.querySelector(".log");
    const frame = () => new Promise(requestAnimationFrame);
    const topOf = (row) => row.getBoundingClientRect().top - log.getBoundingClientRect().top;
    log.scrollTop = 100;
    await frame();
    const read = [...log.querySelectorAll("[data-entry]")].find((row) => topOf(row) > 0);
    const { length } = log.querySelectorAll("[data-entry]");
    const before = topOf(read);
    while (log.querySelectorAll("[data-entry]").length === length) await frame();
    for (let count = 0; count < 5; count += 1) await frame();
    read.previousElementSibling.style.height = "300px";
    await frame();
    await frame();
    return topOf(read) - before;
  })()`);
  expect(await rows.count()).toBeGreaterThan(count);
  expect(Math.abs(moved)).toBeLessThan(1);
  expect(await page.locator(".jump").textContent()).toBe("To the end");
  await site.api.post(`/v1/sessions/${id}/messages`, { content: "hello", wait: 60 });
  await expect.poll(() => page.locator(".jump").textContent()).toBe("2 new");
});

test("AP-54: a page that shows the first entries later than it has them stays alive", async () => {
  const { page, state } = site.shown;
  const { id, messages } = await createLongSession(site.api, 500);
  // A clock that stands still has the transcript shown a frame after each change, never at once.
  await page.addInitScript("performance.now = () => 0");
  await page.goto(`${site.server.url}/console#${id}`);
  await state("done");
  await page.locator(".speech").last().waitFor();
  const said = page.locator(".log .said");
  await expect
    .poll(async () => {
      await page.evaluate(`document.querySelector(".log").scrollTop = 0`);
      return said.count();
    })
    .toBe(messages);
});

test("AP-54: while agents work a tab is read once at a time, and once more after what changed meanwhile", async () => {
  const { page, start, state, say } = site.shown;
  await start("hello");
  await state("done");
  const tasks = await hold(page, /\/tasks\?/);
  await page.getByRole("tab", { name: "Tasks" }).click();
  await page.locator(".panel .loading").waitFor();
  await say("team");
  await page.locator(".log", { hasText: "That was team" }).waitFor();
  await state("done");
  expect([tasks.count(), tasks.waiting()]).toEqual([1, 1]);
  await tasks.release();
  const rows = page.locator(".panel .store li");
  await expect
    .poll(() => rows.allTextContents())
    .toEqual(["Find out how high the tide comesdone", "Put up a signdone"]);
  await expect.poll(() => tasks.waiting()).toBe(1);
  await tasks.end();
  await page.getByRole("tab", { name: "Notes" }).click();
  await page.locator(".panel .store", { hasText: "brief" }).waitFor();
  expect(tasks.count()).toBe(2);
});

test("AP-54: a tab that could not be read shows why, and is read by itself once the server is there again", async () => {
  const { page, start, state } = site.shown;
  await start("team");
  await state("done");
  await page.route(/\/tasks\?/, (route) => route.abort());
  await page.getByRole("tab", { name: "Tasks" }).click();
  await page.locator(".panel .bad", { hasText: "The server was not reached" }).waitFor();
  await page.unroute(/\/tasks\?/);
  await page.locator(".panel .store", { hasText: "Put up a sign" }).waitFor();
  expect(await page.locator(".panel .bad").count()).toBe(0);
});

test("AP-54: what is in one folder is not shown under the name of another that is being read", async () => {
  const { page, start, state } = site.shown;
  const session = await start("hello");
  await state("done");
  for (const path of ["top.txt", "shore/shell.txt"])
    await fetch(`${site.server.url}/v1/sessions/${session}/workspace/${path}`, {
      method: "PUT",
      body: "a shell",
    });
  await page.getByRole("tab", { name: "Files" }).click();
  await page.locator(".files", { hasText: "top.txt" }).waitFor();
  const folder = await hold(page, /\/workspace\/shore\?/);
  await page.locator(".files").getByRole("button", { name: "shore" }).click();
  await page.locator(".panel .loading").waitFor();
  expect(await page.locator(".files").textContent()).toBe("");
  await folder.end();
  await page.locator(".files", { hasText: "shell.txt" }).waitFor();
});

test("AP-54: a first message is shown while its session is being created", async () => {
  const { page, say, state } = site.shown;
  await page.goto(`${site.server.url}/console`);
  await page.getByRole("button", { name: "Start" }).waitFor();
  const created = await hold(page, /\/v1\/sessions$/, "POST");
  await say("hello");
  const kept = page.locator(".first .kept");
  await kept.getByText("hello").waitFor();
  await kept.getByText("Being sent").waitFor();
  expect(await page.locator("#composer").count()).toBe(0);
  await created.end();
  await state("done");
  expect(created.count()).toBe(1);
});

test("AP-54: a message whose file is sent slowly says so, and can be taken back", async () => {
  const { page, start, state } = site.shown;
  await start("hello");
  await state("done");
  const uploads = await hold(page, /\/files\?/, "POST");
  const buffer = Buffer.from("three limpets");
  await page
    .getByLabel("Files to attach")
    .setInputFiles([{ name: "shells.txt", mimeType: "text/plain", buffer }]);
  await page.locator("#composer").fill("Look at these");
  await page.locator("#composer").press("Enter");
  const kept = page.locator(".log .kept");
  await kept.getByText("Being sent").waitFor();
  await kept.getByRole("button", { name: "Withdraw" }).click();
  await kept.waitFor({ state: "detached" });
  await expect.poll(() => uploads.waiting()).toBe(0);
  expect(await page.locator("#composer").inputValue()).toBe("Look at these");
  await page.locator(".composer-files", { hasText: "shells.txt" }).waitFor();
});

test("AP-54: a file that is not taken in time is sent again, and the messages after it follow", async () => {
  const { page, start, state, say, logText } = site.shown;
  await page.clock.install();
  await start("hello");
  await state("done");
  const uploads = await hold(page, /\/files\?/, "POST");
  const buffer = Buffer.from("three limpets");
  await page
    .getByLabel("Files to attach")
    .setInputFiles([{ name: "shells.txt", mimeType: "text/plain", buffer }]);
  await say("Look at these");
  await say("never mind");
  await expect.poll(() => uploads.waiting()).toBe(1);
  await page.clock.fastForward(61_000);
  await expect.poll(() => uploads.waiting()).toBe(0);
  await uploads.end();
  await page.locator(".said:not(.kept)", { hasText: "never mind" }).waitFor();
  expect(await logText()).toContain("shells.txt");
});

test("AP-54: an answer that was not acknowledged before another session was opened goes out when its own is shown again", async () => {
  const { page, start, state } = site.shown;
  await page.clock.install();
  const session = await start("approve");
  const ask = page.locator(".ask");
  await ask.waitFor();
  const answers = await hold(page, /\/asks\/ask_/, "POST");
  await ask.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Your answer is being sent.").waitFor();
  await page.getByRole("button", { name: "New" }).click();
  // Where nothing is open, a command is sent four times.
  for (let tries = 1; tries <= 4; tries += 1) {
    await expect.poll(() => answers.count()).toBe(tries);
    await page.clock.fastForward(21_000);
    await expect.poll(() => answers.waiting()).toBe(0);
    await page.clock.fastForward(10_000);
  }
  await answers.end();
  await page.locator(`.session a[href="#${session}"]`).click();
  await state("done");
});

test("AP-54: a session that is being deleted says so in the list, and leaves it once it is", async () => {
  const { page, start, state } = site.shown;
  await start("hello");
  await state("done");
  const session = /#(s_\w+)/.exec(page.url())?.[1] ?? "";
  const row = page.locator(".session", { has: page.locator(`a[href="#${session}"]`) });
  const deleted = await hold(page, new RegExp(`/v1/sessions/${session}$`), "DELETE");
  await row.locator("[aria-haspopup]").click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await row.getByText("Being deleted").waitFor();
  // The list is not asked for it.
  await page.route(/\/v1\/sessions\?/, (route) => route.abort());
  await deleted.end();
  await row.waitFor({ state: "detached" });
});

test("AP-54: a whole output can be asked for until it is there, and a look that failed is told", async () => {
  const { page, start, state } = site.shown;
  await start("run");
  await state("done");
  await page.locator("button.line", { hasText: "seq 1 30000" }).click();
  const whole = page.getByRole("button", { name: "The whole output" });
  await page.route(/\/messages\?/, (route) => route.abort());
  await whole.click();
  await page.locator(".fault", { hasText: "The server was not reached" }).waitFor();
  await whole.waitFor();
  await page.unroute(/\/messages\?/);
  await whole.click();
  await whole.waitFor({ state: "detached" });
  await expect.poll(() => page.locator(".line-body .output").textContent()).toContain("\n12\n");
});
