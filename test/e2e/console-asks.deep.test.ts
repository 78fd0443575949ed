import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { desk, phone, resize, serveConsole, violationsOf } from "../support/console-page.ts";

/** AP-54: what a person sees, changes and says of an open ask. */

/** A browser complains of an answer that the server refuses; the page says so, too. */
const isRefusal = (complaint: string): boolean => /status of 4(?:00|04|22) /.test(complaint);

/** More than an event holds. */
const ledger = `${Array.from({ length: 4_500 }, (_, at) => `line ${at} of the ledger`).join("\n")}\nits end\n`;

/** It nests deeper than can be written in lines. */
const abyss = `{"key":"deep","value":${"[".repeat(8_000)}${"]".repeat(8_000)}}`;

const site = serveConsole("desk", "test", {
  allows: isRefusal,
  prepare: async () => ({
    edit: (text) =>
      text
        .replaceAll('"THE LEDGER"', JSON.stringify(ledger))
        .replaceAll('"THE ABYSS"', JSON.stringify(abyss))
        .replaceAll(/"chunk": ?24\b/g, '"chunk":2400'),
  }),
});

const decisionsIn = async (session: string): Promise<readonly string[]> =>
  (await site.api.events(session)).flatMap((event) =>
    event.type === "ask_resolved" ? [event.data.decision] : [],
  );

const edited = '{"key": "letter", "value": "Dear moon"}';

test("AP-54: every view of an approval shows the version that would run, and Deny and the time that is left stay", async () => {
  const { page, start, state } = site.shown;
  const session = await start("letter");
  const ask = page.locator(".ask");
  const panel = ask.getByRole("tabpanel");
  const view = (name: string) => ask.getByRole("tab", { name, exact: true });
  await panel.getByText("Dear sea").waitFor();
  expect(await view("Your changes").count()).toBe(0);
  await ask.getByRole("button", { name: "Edit", exact: true }).click();
  await ask.getByRole("textbox").fill(edited.replace("letter", "poem"));
  await view("Values").click();
  expect(await panel.textContent()).toBe("keypoemvalueDear moon");
  expect(await ask.locator("h2").textContent()).toContain("poem");
  await view("Input").click();
  expect(JSON.parse((await panel.textContent()) ?? "")).toEqual({ key: "poem", value: "Dear moon" });
  await view("Your changes").click();
  await panel.locator(".removed", { hasText: "Dear sea" }).waitFor();
  await panel.locator(".added", { hasText: "Dear moon" }).waitFor();
  expect(await ask.locator(".ask-tag").textContent()).toMatch(/changed · denied by itself in \d/);
  for (const viewport of [desk, phone]) {
    await resize(page, viewport);
    expect(await violationsOf(page), `${viewport.width} px`).toEqual([]);
  }
  // However long it is, what is asked and the answers stay in sight, and its length is told.
  const long = Array.from({ length: 60 }, (_, at) => `verse ${at}`).join("\n");
  await view("Edit").click();
  await ask.getByRole("textbox").fill(JSON.stringify({ key: "poem", value: long }));
  await view("Values").click();
  await panel.getByText("60 lines").waitFor();
  const within = async (seen: Locator): Promise<readonly number[]> => {
    const box = await seen.boundingBox();
    return box === null ? [] : [box.y, box.y + box.height];
  };
  await expect
    .poll(async () => {
      const [head = 0] = await within(page.locator("header.head").last());
      const [title = 0] = await within(ask.locator("h2"));
      const [, buttons = 0] = await within(ask.locator(".ask-buttons"));
      const [composer = 0] = await within(page.locator("#composer"));
      return [title - head > 50, buttons < composer];
    })
    .toEqual([true, true]);
  await resize(page, desk);
  await view("Edit").click();
  await ask.getByRole("textbox").fill("{");
  expect(await ask.getByRole("tab").allTextContents()).toEqual(["Edit", "Your changes"]);
  await ask.getByRole("button", { name: "Deny…" }).click();
  await page.getByRole("textbox", { name: "Reason" }).press("Enter");
  await state("done");
  expect(await decisionsIn(session)).toEqual(["deny"]);
});

test("AP-54: a view that is chosen with the buttons out of sight brings them into sight", async () => {
  const { page, start, state, say } = site.shown;
  await resize(page, { width: 1024, height: 560 });
  await start("hello");
  await state("done");
  await say("letter");
  const ask = page.locator(".ask");
  const isInSight = (selector: string): Promise<boolean> =>
    page.evaluate<boolean>(`(() => {
      const seen = document.querySelector("${selector}").getBoundingClientRect();
      const log = document.querySelector(".log").getBoundingClientRect();
      return seen.top >= log.top && seen.bottom <= log.bottom;
    })()`);
  await ask.getByRole("tab", { name: "Input" }).waitFor();
  await page.evaluate("document.querySelector('.ask [role=tablist]').scrollIntoView({ block: 'end' })");
  await expect.poll(() => isInSight(".ask-buttons")).toBe(false);
  await ask.getByRole("tab", { name: "Input" }).click();
  await expect.poll(() => isInSight(".ask")).toBe(true);
  await resize(page, desk);
  await ask.getByRole("button", { name: "Approve", exact: true }).click();
  await state("done");
});

test("AP-54: the diff of a file that would be written follows the edit", async () => {
  const { page, state, say } = site.shown;
  const session = await site.api.create({ agent: "clerk" });
  const file = `${site.server.url}/v1/sessions/${session}/workspace/asked/tide.md`;
  expect((await fetch(file, { method: "PUT", body: "No tide.\n" })).ok).toBe(true);
  await page.goto(`${site.server.url}/console#${session}`);
  await say("sheet");
  const ask = page.locator(".ask");
  await ask.locator(".removed", { hasText: "No tide." }).waitFor();
  await ask.locator(".added", { hasText: "The tide comes in." }).waitFor();
  await ask.getByRole("button", { name: "Edit", exact: true }).click();
  await ask.getByRole("textbox").fill("The tide goes out.\n");
  await ask.getByRole("tab", { name: "Diff" }).click();
  await ask.locator(".added", { hasText: "The tide goes out." }).waitFor();
  await ask.locator(".removed", { hasText: "No tide." }).waitFor();
  expect(await ask.getByRole("tabpanel").textContent()).not.toContain("comes in");
  await ask.getByRole("button", { name: "Approve my version" }).click();
  await state("done");
  expect(await (await fetch(file)).text()).toBe("The tide goes out.\n");
});

test("AP-54: an agent that works in a folder asks about the file there, and a command says its folder", async () => {
  const { page, state, say } = site.shown;
  const session = await site.api.create({ agent: "warden" });
  const files = `${site.server.url}/v1/sessions/${session}/workspace`;
  await fetch(`${files}/asked/tide.md`, { method: "PUT", body: "Another tide.\n" });
  await fetch(`${files}/lighthouse/asked/tide.md`, { method: "PUT", body: "No tide.\n" });
  await page.goto(`${site.server.url}/console#${session}`);
  await say("sheet");
  const ask = page.locator(".ask");
  await ask.locator(".removed", { hasText: "No tide." }).waitFor();
  await ask.getByRole("heading", { name: "lighthouse/asked/tide.md" }).waitFor();
  await ask.getByRole("button", { name: /^Approve/ }).click();
  await state("done");
  expect(await (await fetch(`${files}/lighthouse/asked/tide.md`)).text()).toBe("The tide comes in.\n");
  await say("light");
  await ask.getByText("exec_shell in lighthouse").waitFor();
});

test("AP-54: an input that nests too deeply is shown as it came", async () => {
  const { page, start, state } = site.shown;
  await start("abyss");
  await state("done");
  await page.locator(".entry.tool [data-line]").first().click();
  await page.getByRole("button", { name: "Input as JSON" }).click();
  const shown = page.getByLabel("Input", { exact: true });
  await expect.poll(() => shown.textContent()).toBe(abyss);
});

test("AP-54: the time that is left of an ask is right on a machine whose clock is wrong", async () => {
  const { page, start } = site.shown;
  await page.clock.install({ time: Date.now() + 25 * 3_600_000 });
  // A server at its place tells the time with each answer.
  await page.route("**/v1/**", async (route) => {
    const response = await route.fetch();
    const headers = { ...response.headers(), date: new Date().toUTCString() };
    await route.fulfill({ response, headers });
  });
  await start("letter");
  const left = page.locator(".ask .ask-tag .meta");
  await expect.poll(() => left.textContent()).toMatch(/^denied by itself in \d+ (?:min|h)/);
});

test("AP-54: an edit is still there after another session was looked at, and after a reload", async () => {
  const { page, start, state } = site.shown;
  await start("hello");
  await state("done");
  const session = await start("letter");
  const ask = page.locator(".ask");
  await ask.getByRole("button", { name: "Edit", exact: true }).click();
  await ask.getByRole("textbox").fill(edited);
  await page.locator(".session", { hasText: "hello" }).first().click();
  await ask.waitFor({ state: "detached" });
  await page.goBack();
  await ask.getByRole("button", { name: "Approve my version" }).waitFor();
  await page.reload();
  await ask.getByRole("button", { name: "Approve my version" }).waitFor();
  expect(await ask.getByRole("tabpanel").textContent()).toContain("Dear moon");
  await ask.getByRole("button", { name: "Approve my version" }).click();
  await state("done");
  expect(JSON.stringify((await site.api.get(`/v1/sessions/${session}/state`)).body)).toContain("Dear moon");
});

test("AP-54: Esc closes the editor or the denial of an ask, keeps what was changed, and never stops the run", async () => {
  const { page, start, state } = site.shown;
  const session = await start("letter");
  const ask = page.locator(".ask");
  const button = (name: string) => ask.getByRole("button", { name, exact: true });
  const focus = () => page.evaluate<string>("document.activeElement?.textContent ?? ''");
  await button("Edit").click();
  await ask.getByRole("textbox").fill(edited);
  await page.keyboard.press("Escape");
  await expect.poll(focus).toBe("Values");
  await ask.getByRole("tabpanel").getByText("Dear moon").waitFor();
  await page.keyboard.press("Escape");
  await ask.getByRole("tab", { name: "Edit" }).click();
  expect(await ask.getByRole("textbox").inputValue()).toBe(edited);
  await ask.getByRole("textbox").fill("{");
  await page.keyboard.press("Escape");
  await expect.poll(focus).toBe("Your changes");
  await ask.getByRole("button", { name: "Undo my changes" }).click();
  await expect.poll(focus).toBe("Edit");
  await button("Edit").click();
  await page.keyboard.press("Escape");
  await expect.poll(focus).toBe("Edit");
  await button("Deny…").click();
  const keys = page.locator(".conversation kbd:visible", { hasText: "Esc" });
  expect(await keys.locator("xpath=..").allTextContents()).toEqual(["Back Esc"]);
  const reason = page.getByRole("textbox", { name: "Reason" });
  await reason.fill("too soon");
  await reason.press("Escape");
  await expect.poll(focus).toContain("Deny…");
  await button("Deny…").click();
  expect(await reason.inputValue()).toBe("too soon");
  await ask.getByRole("button", { name: /^Back/ }).press("Enter");
  await expect.poll(focus).toContain("Deny…");
  await button("Edit").click();
  await ask.getByRole("textbox").fill(edited);
  await button("Undo my changes").click();
  await expect.poll(focus).toBe("Edit");
  await state("waiting for you");
  expect(await decisionsIn(session)).toEqual([]);
  await button("Approve").click();
  await state("done");
});

test("AP-54: Esc leaves the field of an open question first, whose keys then hold, and asks before it drops the question", async () => {
  const { page, start, state, logText } = site.shown;
  await start("options");
  const ask = page.locator(".ask");
  const option = ask.locator(".option").first();
  const key = option.locator("kbd");
  await option.waitFor();
  await page.locator("#composer").focus();
  await key.waitFor({ state: "hidden" });
  await page.keyboard.press("Escape");
  await key.waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Stop the run?" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("dialog[open]").waitFor({ state: "detached" });
  await state("waiting for you");
  await page.keyboard.press("1");
  await state("done");
  expect(await logText()).toContain("You answered · Out");
});

test("AP-54: an answer in own words fits the field on a phone, with its button", async () => {
  const { page, start } = site.shown;
  await start("options");
  await page.locator("#composer").fill("Neither");
  for (const width of [390, 360]) {
    await resize(page, { width, height: 800 });
    const overhang = await page.locator(".composer-bar").evaluate((bar) => {
      const { right } = bar.getBoundingClientRect();
      return Math.max(...[...bar.children].map((child) => child.getBoundingClientRect().right - right));
    });
    expect(overhang, `${width} px`).toBeLessThanOrEqual(0);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  }
});

test("AP-54: no two controls of an approval have the same name, whatever is open in it", async () => {
  const { page, start } = site.shown;
  await start("letter");
  const ask = page.locator(".ask");
  const namesOf = async (): Promise<readonly string[]> =>
    (await ask.locator("button").allTextContents()).map((name) => name.trim());
  const expectDistinct = async (): Promise<void> => {
    const names = await namesOf();
    expect([...new Set(names)]).toEqual(names);
    expect(names.filter((name) => name === "Edit")).toHaveLength(1);
  };
  await ask.getByRole("button", { name: "Approve", exact: true }).waitFor();
  await expectDistinct();
  await ask.getByRole("button", { name: "Edit", exact: true }).click();
  await expectDistinct();
  await ask.getByRole("textbox").fill(edited);
  await expectDistinct();
});

test("AP-54: an edit of an approval that is decided elsewhere can still be read and copied, over a reload too, with who decided", async () => {
  const { page, start, state, say } = site.shown;
  const session = await start("letter");
  const ask = page.locator(".ask");
  const edit = async (): Promise<void> => {
    await ask.getByRole("button", { name: "Edit", exact: true }).click();
    await ask.getByRole("textbox").fill(edited);
  };
  const unused = page.getByRole("region", { name: "Your version was not used" });
  const version = unused.getByRole("textbox", { name: "Your version" });
  await edit();
  const { body } = await site.api.get(`/v1/sessions/${session}/asks?status=open`);
  const [{ id }] = body["data"] as readonly [{ readonly id: string }];
  await site.api.post(`/v1/sessions/${session}/asks/${id}`, { decision: "approve" });
  await unused.getByText("You approved. Your version was not used:").waitFor();
  expect(await version.inputValue()).toBe(edited);
  await unused.locator("textarea:focus").waitFor();
  // Who was still typing presses no key of the page.
  await page.keyboard.press("n");
  await state("done");
  for (const viewport of [desk, phone]) {
    await resize(page, viewport);
    expect(await violationsOf(page), `${viewport.width} px`).toEqual([]);
  }
  await resize(page, desk);
  await page.reload();
  expect(await version.inputValue()).toBe(edited);
  await unused.getByRole("button", { name: "Copy your version" }).waitFor();
  await say("letter");
  await edit();
  await ask.getByRole("button", { name: "Approve my version" }).click();
  await page.locator(".line", { hasText: "You approved with changes" }).waitFor();
  expect(await unused.count()).toBe(1);
  await unused.getByRole("button", { name: "Put it away" }).click();
  expect(await unused.count()).toBe(0);
});

test("AP-54: Esc closes the field for another amount of a budget, and never stops the run", async () => {
  const { page, start, state } = site.shown;
  await start("dear");
  const ask = page.locator(".ask");
  await ask.getByRole("button", { name: "Another amount…" }).click();
  await expect.poll(() => page.evaluate<string>("document.activeElement?.type ?? ''")).toBe("number");
  await page.keyboard.press("Escape");
  await ask.getByRole("spinbutton").waitFor({ state: "detached" });
  await expect
    .poll(() => page.evaluate<string>("document.activeElement?.textContent ?? ''"))
    .toBe("Another amount…");
  await state("waiting for you");
});

test("AP-54: an answer that was typed before a reload answers its question after it", async () => {
  const { page, start, state, logText } = site.shown;
  await start("question");
  await page.locator(".ask").waitFor();
  await page.locator("#composer").fill("Behind the dune");
  await page.reload();
  await page.locator(".ask").waitFor();
  await page.locator(".composer-tag", { hasText: "Your answer" }).waitFor();
  expect(await page.locator("#composer").inputValue()).toBe("Behind the dune");
  await page.locator("#composer").press("Enter");
  await state("done");
  expect(await logText()).toContain("You answered · Behind the dune");
});

test("AP-54: an answer that was typed for another question is held back once, over a reload too", async () => {
  const { page, start, state } = site.shown;
  const session = await start("question");
  await page.locator(".ask").waitFor();
  await page.locator("#composer").fill("Behind the dune");
  const { body } = await site.api.get(`/v1/sessions/${session}/asks?status=open`);
  const [{ id }] = body["data"] as readonly [{ readonly id: string }];
  await site.api.post(`/v1/sessions/${session}/asks/${id}`, { decision: "answer", text: "Here" });
  await state("done");
  await site.api.post(`/v1/sessions/${session}/messages`, { content: "question" });
  await page.locator(".ask").waitFor();
  await page.reload();
  await page.locator(".composer-tag", { hasText: "Your answer" }).waitFor();
  await page.locator("#composer").press("Enter");
  await page.locator(".fault", { hasText: "Another question came while you wrote." }).waitFor();
  await page.locator("#composer").press("Enter");
  await state("done");
});

test("AP-54: what the server refused of an ask is no longer said once the next try succeeds or the ask is closed", async () => {
  const { start, state, page } = site.shown;
  const refused = page.locator(".fault", { hasText: "The server did not take this" });
  const session = await start("letter");
  const ask = page.locator(".ask");
  const tryWrong = async (): Promise<void> => {
    await ask.getByRole("button", { name: "Edit", exact: true }).click();
    await ask.getByRole("textbox").fill('{"key": 5}');
    await ask.getByRole("button", { name: "Approve my version" }).click();
    await refused.waitFor();
  };
  await tryWrong();
  await ask.getByRole("textbox").fill(edited);
  await ask.getByRole("button", { name: "Approve my version" }).click();
  await state("done");
  await refused.waitFor({ state: "detached" });
  await site.shown.say("letter");
  await tryWrong();
  const { body } = await site.api.get(`/v1/sessions/${session}/asks?status=open`);
  const [{ id }] = body["data"] as readonly [{ readonly id: string }];
  await site.api.post(`/v1/sessions/${session}/asks/${id}`, { decision: "deny" });
  await state("done");
  await refused.waitFor({ state: "detached" });
});

test("AP-54 TB-8: each choice says how far an approval reaches and until when, and the answered row says which it was", async () => {
  const { page, start, state, say } = site.shown;
  await start("letter");
  const ask = page.locator(".ask");
  const reach = ask.getByTitle("How far this reaches");
  await reach.click();
  expect(await ask.getByRole("menuitemradio").allTextContents()).toEqual([
    "OnceFor this call only.",
    "In this sessionFor all agents in it, until it is taken back: shared_state_set *",
    "In every session with this agentOther people’s too, for 30 days or until it is taken back: shared_state_set *",
  ]);
  await ask.getByRole("menuitemradio", { name: /^In every session/ }).click();
  expect(await ask.textContent()).toContain("in every session with this agent");
  for (const viewport of [desk, phone]) {
    await resize(page, viewport);
    await reach.click();
    expect(await violationsOf(page), `${viewport.width} px`).toEqual([]);
    await page.keyboard.press("Escape");
  }
  await resize(page, desk);
  await reach.click();
  await ask.getByRole("menuitemradio", { name: /^In this session/ }).click();
  await ask.getByRole("button", { name: "Approve", exact: true }).click();
  await state("done");
  await page.locator(".line", { hasText: "You approved for this session · " }).waitFor();
  await page.reload();
  await page.locator(".line", { hasText: "You approved for this session · " }).waitFor();
  await say("letter");
  await page.locator(".line", { hasText: /^Set .* · by a remembered permission/ }).waitFor();
  expect(await ask.count()).toBe(0);
});

test("★ AP-54: what an approval will run is shown, edited and run as a whole, however long it is", async () => {
  const { page, state } = site.shown;
  const begin = async () => {
    const session = await site.api.create({ agent: "clerk", input: "ledger" });
    await page.goto(`${site.server.url}/console#${session}`);
    await page.locator(".ask").getByRole("button", { name: "Approve", exact: true }).waitFor();
    return session;
  };
  const fileOf = async (session: string): Promise<string> => {
    const answer = await fetch(`${site.server.url}/v1/sessions/${session}/workspace/asked/ledger.md`);
    return answer.text();
  };
  const first = await begin();
  const ask = page.locator(".ask");
  await ask.getByText("+4501").waitFor();
  await ask.getByRole("tab", { name: "Input", exact: true }).click();
  expect(await ask.getByRole("tabpanel").textContent()).toContain("line 4499 of the ledger\\nits end");
  await ask.getByRole("button", { name: "Approve", exact: true }).click();
  await state("done");
  expect((await fileOf(first)) === ledger).toBe(true);
  const row = page.locator(".tool", { hasText: "ledger.md" });
  const openInput = async () => {
    // The newest change stands open by itself, without the rest of its row.
    await row.locator("button.line[aria-expanded=true]").click();
    await row.locator("button.line").click();
    await row.getByRole("button", { name: "Input as JSON" }).click();
  };
  await row.getByText(/^\+\d+ and more$/).waitFor();
  await openInput();
  await row.getByLabel("Input", { exact: true }).getByText("line 4499 of the ledger\\nits end").waitFor();
  const second = await begin();
  await ask.getByRole("button", { name: "Edit", exact: true }).click();
  const field = ask.getByRole("textbox");
  const text = await field.inputValue();
  expect(text).toContain("line 4499 of the ledger");
  // A browser takes minutes to type so much anew.
  await page.evaluate(`{
    const field = document.querySelector(".ask textarea");
    field.setRangeText("zero", 5, 6);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }`);
  await ask.getByRole("button", { name: "Approve my version" }).click();
  await state("done");
  expect((await fileOf(second)) === ledger.replace("line 0 of", "line zero of")).toBe(true);
  await page.reload();
  await openInput();
  const input = row.getByLabel("Input", { exact: true });
  await input.getByText("line 4499 of the ledger\\nits end").waitFor();
  expect(await input.textContent()).toContain("line zero of the ledger");
});

test("AP-54: of a question that takes several options no more can be chosen than it takes, and a reload keeps what was chosen", async () => {
  const { page, start, state, logText } = site.shown;
  await start("several");
  const ask = page.locator(".ask");
  await ask.getByText("Choose up to 2.").waitFor();
  await ask.getByRole("button", { name: "Low" }).click();
  await ask.getByRole("button", { name: "Spring" }).click();
  expect(await ask.getByRole("button", { name: "High" }).isDisabled()).toBe(true);
  await page.reload();
  await ask.getByRole("button", { name: "Answer with 2" }).click();
  await state("done");
  expect(await logText()).toContain("Low, Spring");
});
