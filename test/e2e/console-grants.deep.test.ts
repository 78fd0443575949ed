import { expect, test } from "vitest";
import { phone, serveConsole, violationsOf } from "../support/console-page.ts";
import { until } from "../support/dev-server.ts";

/** AP-54: permissions that approvals have left behind are found in the console, and taken back. */

// Where a test has the server refuse something the browser says so, too.
const site = serveConsole("default", "shipped", { allows: (complaint) => complaint.includes("403") });

/** Plays the scene `approve` until it asks or ends; gives the open ask. */
const askedBy = async (session: string): Promise<string | null> => {
  await site.api.post(`/v1/sessions/${session}/messages`, { content: "approve" });
  return until("the run asks or ends", async () => {
    const { body } = await site.api.get(`/v1/sessions/${session}`);
    const [ask] = body["open_asks"] as readonly string[];
    return ask !== undefined ? { ask } : body["last_end"] !== null ? { ask: null } : null;
  }).then(({ ask }) => ask);
};

test("AP-54 TB-8: what was allowed for an agent stands in the palette and in menus with its session and who gave it, and asks again once it is taken back", async () => {
  const first = await site.api.create({ title: "The letter" });
  const ask = await askedBy(first);
  await site.api.post(`/v1/sessions/${first}/asks/${ask}`, { decision: "approve", remember: "agent" });
  const granted = async () => ((await site.api.get("/v1/grants")).body["data"] as unknown[]).length;
  await until("it is remembered", async () => ((await granted()) === 1 ? true : null));
  expect(await askedBy(await site.api.create())).toBeNull();

  const { page } = site.shown;
  await page.goto(`${site.server.url}/console`);
  await page.getByRole("button", { name: "Start" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "What to do" }).fill("permission");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Permissions" });
  await dialog.getByText("Any use of shared_state_set").waitFor();
  await dialog.getByText(/^For guide in every session, until .*; given in/).waitFor();
  await dialog.getByText(/You allowed it · \d\d:\d\d/).waitFor();
  await dialog.getByRole("link", { name: "The letter" }).click();
  await page.getByRole("heading", { name: "The letter", level: 1 }).waitFor();
  expect(await dialog.count()).toBe(0);

  await page.setViewportSize(phone);
  await page.locator(".conversation").getByRole("button", { name: "What to do with this session" }).click();
  await page.getByRole("menuitem", { name: "Permissions…" }).click();
  await dialog.getByText("Any use of").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.route("**/grants/*", (route) => {
    const problem = { type: "", title: "", status: 403, detail: "Not with this key.", code: "scope_missing" };
    return route.fulfill({ status: 403, contentType: "application/problem+json", json: problem });
  });
  await dialog.getByRole("button", { name: "Take it back" }).click();
  await dialog.getByRole("alert").getByText("Not with this key.").waitFor();
  await page.unroute("**/grants/*");
  await dialog.getByRole("button", { name: "Take it back" }).click();
  await dialog.getByText("None.").waitFor();
  expect(await dialog.getByRole("alert").count()).toBe(0);
  expect(await granted()).toBe(0);
  expect(await askedBy(await site.api.create())).not.toBeNull();
});
