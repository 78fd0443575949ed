import { expect, test } from "vitest";
import { callbackPath } from "../../src/engine/tools/server-login.ts";
import { sealerOf } from "../../src/engine/secrets/seal.ts";
import { adminKey, setUp } from "./harness.ts";

/** Where people return to who signed in at an MCP server. */

const bound = "state of a login";

const address = { tenant: "default", jurisdiction: null };

/** The query of an answer to a login that began here. */
const searchOf = async (): Promise<string> => {
  const state = await sealerOf({ LIMPET_ADMIN_KEY: adminKey })?.seal(JSON.stringify(address), bound);
  return `?${new URLSearchParams({ state: state ?? "", code: "canary" }).toString()}`;
};

test("AP-4 TB-27: whoever asks for the head of the address alone ends no login", async () => {
  const { fetch, tenant } = setUp();
  const { directory } = tenant();
  const asked: unknown[] = [];
  directory.finishLogin = async (answered) => {
    asked.push(answered);
    return "signed_in";
  };
  const search = await searchOf();
  expect((await fetch(`${callbackPath}${search}`, { method: "HEAD" })).status).toBe(400);
  expect(asked).toEqual([]);
  expect((await fetch(`${callbackPath}${search}`)).status).toBe(200);
  expect(asked).toHaveLength(1);
});

test("TB-27: a person whose sessions cannot be told now is shown a page to load again, and the fault is logged", async () => {
  const { fetch, tenant, lines } = setUp();
  const search = await searchOf();
  const state = new URLSearchParams(search).get("state");
  const { directory } = tenant();
  const faults = [new Error("the object is replaced"), new Error("it still is")];
  const asked: unknown[] = [];
  directory.finishLogin = async (answered) => {
    asked.push(answered);
    const fault = faults.shift();
    if (fault !== undefined) throw fault;
    return "signed_in";
  };
  const comeBack = () => fetch(`${callbackPath}${search}`);
  for (let time = 0; time < 2; time++) {
    const page = await comeBack();
    expect([page.status, page.headers.get("Content-Type")]).toEqual([503, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain("Load this page again");
    expect(lines.at(-1)).toMatchObject({ level: "error", status: 503, fault: "Error" });
  }
  expect((await comeBack()).status).toBe(200);
  expect(asked).toEqual(Array.from({ length: 3 }, () => ({ address, state, query: search })));
  expect(JSON.stringify(lines)).not.toContain("canary");
});
