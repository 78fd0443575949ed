import { expect, test } from "vitest";
import { phone, resize, serveConsole } from "../support/console-page.ts";

/** AP-54: what is long, wide, copied or of another script can be read and passed on. */

const site = serveConsole("default", "shipped");

const table = [
  "| Customer | Amount | Ordered | Delivered | Shipping company | Remarks |",
  "|---|---|---|---|---|---|",
  "| Harbour | 1,200.00 | yesterday | tomorrow | Sea and Sons | none |",
].join("\n");

/** The boxes of the lines that the text of an element fills, and where the element itself begins and ends. */
interface Lines {
  readonly lines: readonly { readonly left: number; readonly right: number }[];
  readonly left: number;
  readonly right: number;
}

const linesOf = (selector: string): Promise<readonly Lines[]> =>
  site.shown.page.evaluate<readonly Lines[]>(`
    [...document.querySelectorAll(${JSON.stringify(selector)})].map((element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      const { left, right } = element.getBoundingClientRect();
      return { lines: [...range.getClientRects()].map(({ left, right }) => ({ left, right })), left, right };
    })
  `);

test("AP-54: on a phone the words of a table stay whole, and what does not fit is scrolled to", async () => {
  const { page, start, state } = site.shown;
  await start(table);
  await state("done");
  await resize(page, phone);
  const amounts = await linesOf(".said td:nth-child(2), .said th:nth-child(2)");
  expect(amounts.map(({ lines }) => lines.length)).toEqual([1, 1]);
  const widths = "(([table]) => [table.scrollWidth > table.clientWidth, document.body.scrollWidth])";
  expect(await page.evaluate(`${widths}(document.querySelectorAll(".said .table"))`)).toEqual([
    true,
    phone.width,
  ]);
});

test("AP-54: each paragraph goes the way that its script does", async () => {
  const { start, state } = site.shown;
  await start("שלום.\n\nHello.\n\n- مرحبا");
  await state("done");
  const paragraphs = await linesOf(".said :is(p, li)");
  expect(
    paragraphs.map(({ lines: [line], left, right }) =>
      Math.abs(left - (line?.left ?? 0)) < Math.abs(right - (line?.right ?? 0)) ? "left" : "right",
    ),
  ).toEqual(["right", "left", "right"]);
});

test("AP-54: what an agent said last is copied as it was written, and nothing between its calls offers it", async () => {
  const { page, start, state } = site.shown;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await start("files");
  await state("done");
  const copy = page.getByRole("button", { name: "Copy this answer" });
  expect(await copy.count()).toBe(1);
  await copy.click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(/^That was \*\*files\*\*/);
});

test("AP-54: a title that is cut off is whole while the pointer rests on it, in the list and in the head", async () => {
  const { page } = site.shown;
  const title =
    "The order of a customer at the harbour that never arrived, for the second time in this month";
  const { body } = await site.api.post("/v1/sessions", { title });
  await page.goto(`${site.server.url}/console#${String(body["id"])}`);
  const row = page.locator(".session.current .title .cut");
  await row.hover();
  expect(await row.getAttribute("title")).toBe(title);
  const head = page.getByRole("heading", { level: 1 });
  await resize(page, { width: 800, height: 900 });
  await head.hover();
  expect(await head.getAttribute("title")).toBe(title);
  await resize(page, { width: 2_400, height: 900 });
  await page.mouse.move(0, 0);
  await head.hover();
  expect(await head.getAttribute("title")).toBeNull();
});

test("AP-54: pictures that are pasted are attached, also two of one name, and a text that is pasted with a picture of it stays text", async () => {
  const { page } = site.shown;
  await page.goto(`${site.server.url}/console`);
  await page.locator("#composer").waitFor();
  const paste = (text: string): Promise<boolean> =>
    page.evaluate<boolean>(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(["a"], "image.png", { type: "image/png" }));
      if (${JSON.stringify(text)} !== "") clipboardData.setData("text/plain", ${JSON.stringify(text)});
      const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
      return document.getElementById("composer").dispatchEvent(event);
    })()`);
  const attached = page.locator(".composer-files li");
  expect(await paste("a cell")).toBe(true);
  expect(await paste("")).toBe(false);
  expect(await paste("")).toBe(false);
  await expect.poll(() => attached.allTextContents()).toEqual(["image.png", "image.png"]);
  await page.getByRole("button", { name: "Leave image.png out" }).first().click();
  await expect.poll(() => attached.count()).toBe(1);
});

test("AP-54: what is asked before a session is deleted names it as the page does, right after it got another name", async () => {
  const { page, start, state } = site.shown;
  const session = await start("hello");
  await state("done");
  await page.locator(".session.current", { hasText: "Done" }).waitFor();
  // The list is read again only now and then: here never.
  await page.route("**/v1/sessions?**", (route) => route.abort());
  await fetch(`${site.server.url}/v1/sessions/${session}`, {
    method: "PATCH",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ title: "Another name" }),
  });
  const head = page.locator(".conversation .head");
  await head.getByRole("heading", { name: "Another name" }).waitFor();
  await head.getByRole("button", { name: "What to do with this session" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("heading", { name: "Delete “Another name”?" }).waitFor();
});

test("AP-54: in a narrow window the dialog of keys shows the keys, too", async () => {
  const { page, press } = site.shown;
  await page.goto(`${site.server.url}/console`);
  await page.locator("#composer").waitFor();
  await resize(page, phone);
  await press("?");
  await page.getByRole("dialog", { name: "Keys" }).getByText("Esc", { exact: true }).waitFor();
});

test("AP-54: a session that is renamed in the list keeps its new name, although the list of the server still has the old one", async () => {
  const { page, start, state } = site.shown;
  const { body } = await site.api.post("/v1/sessions", { title: "Old name" });
  await start("hello");
  await state("done");
  await page.locator(".session", { hasText: "Old name" }).waitFor();
  const list = await (await fetch(`${site.server.url}/v1/sessions?order=-updated_at&limit=200`)).text();
  let reads = 0;
  await page.route("**/v1/sessions?**", (route) => {
    reads += 1;
    return route.fulfill({ contentType: "application/json", body: list });
  });
  const row = page.locator(".session", { has: page.locator(`a[href="#${String(body["id"])}"]`) });
  await page.locator(`a[href="#${String(body["id"])}"]`).focus();
  await page.keyboard.press("F2");
  await page.getByRole("textbox", { name: "Title of the session" }).fill("New name");
  const renamed = page.waitForResponse((response) => response.request().method() === "PATCH");
  await page.keyboard.press("Enter");
  await renamed;
  const before = reads;
  await expect.poll(() => reads, { timeout: 15_000 }).toBeGreaterThan(before + 1);
  expect(await row.locator(".title").innerText()).toBe("New name");
});

test("AP-54: on a phone a title has two lines, and a call that is opened shows its command whole", async () => {
  const { page, start, state } = site.shown;
  await start("git");
  await state("done");
  await page.getByRole("button", { name: "What to do with this session" }).click();
  await page.getByRole("menuitem", { name: "Rename" }).click();
  const field = page.getByRole("textbox", { name: "Title of the session" });
  await field.fill("The first commit of the tides");
  await field.press("Enter");
  await page.getByRole("heading", { name: "The first commit of the tides" }).waitFor();
  await resize(page, phone);
  const isWhole = (selector: string): Promise<boolean> =>
    page.evaluate(`(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
      scrollWidth <= clientWidth && scrollHeight <= clientHeight + 1
    )(document.querySelector(${JSON.stringify(selector)}))`);
  expect(await isWhole(".head h1")).toBe(true);
  await page.getByRole("button", { name: /git init/, expanded: false }).click();
  await page.getByRole("button", { name: /git init/, expanded: true }).waitFor();
  expect(await isWhole(".line[aria-expanded=true] > .line-words")).toBe(true);
});
