import { expect, test } from "vitest";
import { recordSighting } from "../../src/engine/access/tenant/tool-pins.ts";
import type { Tables } from "../../src/engine/access/database.ts";
import { problemOf, setUp } from "./harness.ts";

/** What administrators do about MCP servers: approve a changed list, and forget a login. */

const old = "0".repeat(64);
const found = "a".repeat(64);
const later = "b".repeat(64);

const see = (tables: Tables, hash: string): void => {
  const tools = [{ name: "sea__look", hash }];
  recordSighting(
    tables,
    { server: "sea", tools, state: "connected", error: null, lock: null, allowNew: false },
    Date.now(),
  );
};

const signIn = (tables: Tables, sealed: string): void =>
  tables.write((all) => {
    all("INSERT OR REPLACE INTO mcp_credentials (server, issuer, sealed) VALUES ('sea', 'i', ?)", sealed);
  });

const pinsIn = (tables: Tables): unknown => tables.read("SELECT hash FROM tool_pins")[0]?.["hash"];

const loginsIn = (tables: Tables): unknown[] =>
  tables.read("SELECT sealed FROM mcp_credentials").map(({ sealed }) => sealed);

const changed = () => {
  const bench = setUp();
  const { tables, directory } = bench.tenant();
  see(tables, old);
  see(tables, found);
  const send = (method: string, path: string, body?: unknown, key = "k") =>
    bench.call(method, `/v1/mcp/sea/${path}`, body, key === "" ? {} : { "Idempotency-Key": key });
  return { ...bench, tables, directory, send };
};

const replayedOf = ({ headers }: Response): string | null => headers.get("Idempotent-Replayed");

test("AP-6 TB-23: an approval that is repeated under its key answers as the first did, and approves nothing that was found since", async () => {
  const { tables, send } = changed();
  const first = await send("POST", "approve", {});
  const answer = { approved: [{ tool: "sea__look", hash: found }] };
  expect(await first.json()).toEqual(answer);
  see(tables, later);
  const again = await send("POST", "approve", {});
  expect([replayedOf(first), replayedOf(again)]).toEqual([null, "true"]);
  expect(await again.json()).toEqual(answer);
  expect(pinsIn(tables)).toBe(found);
  const other = await send("POST", "approve", { tools: { sea__look: later } });
  expect(await problemOf(other)).toMatchObject({ status: 422, code: "idempotency_key_reused" });
  expect(tables.read("SELECT decisions FROM audit")).toHaveLength(1);
  expect((await send("POST", "approve", { tools: { sea__look: later } }, "other")).status).toBe(200);
  expect(pinsIn(tables)).toBe(later);
});

test("AP-6 TB-27: a login is forgotten once under a key; one that was made since stays", async () => {
  const { tables, send } = changed();
  signIn(tables, "first");
  expect((await send("DELETE", "login")).status).toBe(204);
  expect(loginsIn(tables)).toEqual([]);
  signIn(tables, "second");
  const again = await send("DELETE", "login");
  expect([again.status, replayedOf(again)]).toEqual([204, "true"]);
  expect(loginsIn(tables)).toEqual(["second"]);
});

test("AP-6 RE-2: after a fault of the platform an approval or a delete is repeated under its key alone", async () => {
  const { call, tables, directory, send } = changed();
  const perform = directory.perform.bind(directory);
  let faults = 1;
  directory.perform = async (asked) => {
    const reply = await perform(asked);
    faults -= 1;
    if (faults < 0) return reply;
    see(tables, later);
    signIn(tables, "second");
    throw Object.assign(new Error("reset"), { retryable: true });
  };
  expect((await send("POST", "approve", {}, "")).status).toBe(503);
  expect(pinsIn(tables)).toBe(found);
  faults = 1;
  expect((await send("DELETE", "login", undefined, "")).status).toBe(503);
  expect(loginsIn(tables)).toEqual(["second"]);
  faults = 1;
  expect(replayedOf(await send("DELETE", "login"))).toBe("true");
  expect(loginsIn(tables)).toEqual(["second"]);
  faults = 1;
  expect((await call("GET", "/v1/mcp")).status).toBe(200);
});

test("AP-50: GET /v1/mcp gives the time of the last check in milliseconds, as all times are", async () => {
  const { call } = changed();
  const before = Date.now();
  const { data } = await (await call("GET", "/v1/mcp")).json<{ data: { checked_at: number }[] }>();
  expect(data).toHaveLength(1);
  expect(Math.abs((data[0]?.checked_at ?? 0) - before)).toBeLessThan(60_000);
});

test("AP-7: MCP servers come in pages, by name", async () => {
  const { call, tables } = changed();
  const land = {
    server: "land",
    tools: [],
    state: "connected",
    error: null,
    lock: null,
    allowNew: true,
  } as const;
  recordSighting(tables, land, Date.now());
  const page = async (query: string) =>
    (await call("GET", `/v1/mcp?limit=1${query}`)).json<{
      data: { name: string }[];
      next_cursor: string | null;
    }>();
  const first = await page("");
  const second = await page(`&cursor=${first.next_cursor}`);
  expect([...first.data, ...second.data].map(({ name }) => name)).toEqual(["land", "sea"]);
  expect(second.next_cursor).toBeNull();
});
