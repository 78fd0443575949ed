import { expect, test } from "vitest";
import { openTables } from "../../../src/engine/access/database.ts";
import { createKey, listKeys } from "../../../src/engine/access/key-store.ts";
import { listNotes, readNote, showNotes, writeNote } from "../../../src/engine/access/notes.ts";
import { performTeamCall } from "../../../src/engine/access/team-calls.ts";
import { allScopes } from "../../../src/session/rpc.ts";
import type { Principal } from "../../../src/session/rpc.ts";
import { memoryTables } from "./tables.ts";

/** Notes in the team's object (AG-47). */

const owner = (tenant: string, agent: string | null = null) => ({ tenant, agent });
const operator: Principal = { tenant: "acme", by: "operator", scopes: allScopes };
const note = (name: string, content: string, key: string) => ({ name, content, key, now: 1_000 });

test("AP-4 AG-47: reading notes where none was written creates no storage", () => {
  const { tables, dump } = memoryTables();
  expect([readNote(tables, owner("acme"), "a"), listNotes(tables, owner("acme"))]).toEqual([null, []]);
  expect(dump()).toBe("");
});

test("AG-47: tenants and agents are apart, also where a name contains another's", () => {
  const { tables } = memoryTables();
  for (const [at, each] of [
    owner("acme"),
    owner("acme", "coder"),
    owner("acmecoder"),
    owner("other", "coder"),
  ].entries())
    expect(writeNote(tables, each, note("n", `note ${at}`, "s/run_1/c1/0"))).toBeNull();
  expect(readNote(tables, owner("acme"), "n")).toBe("note 0");
  expect(readNote(tables, owner("acme", "coder"), "n")).toBe("note 1");
  expect(readNote(tables, owner("acmecoder"), "n")).toBe("note 2");
  expect(readNote(tables, owner("acme", "writer"), "n")).toBeNull();
});

test("AG-47: what a session sends is checked here, too", () => {
  const { tables } = memoryTables();
  expect(writeNote(tables, owner("acme"), note("../x", "a", "k"))).toContain(
    "invalid_arguments: 1 to 64 letters",
  );
  expect(writeNote(tables, owner("acme"), note("x", "a".repeat(65_537), "k"))).toContain("at most 64 KiB");
  expect(listNotes(tables, owner("acme"))).toEqual([]);
});

test("AG-47: the API lists notes with their contents, by agent where each has its own", async () => {
  const { tables } = memoryTables();
  writeNote(tables, owner("acme", "b"), note("n", "of b", "k1"));
  writeNote(tables, owner("acme", "a"), note("n", "of a", "k2"));
  writeNote(tables, owner("acme"), note("n", "of all", "k3"));
  expect(showNotes(tables, "acme", { agents: ["a", "b", "c"] })).toEqual({
    data: [
      { name: "n", content: "of a", agent: "a" },
      { name: "n", content: "of b", agent: "b" },
    ],
  });
  const reply = await performTeamCall(
    tables,
    { principal: operator, op: "list_notes", params: { agents: null } },
    1_000,
  );
  expect(reply).toMatchObject({ ok: true, json: '{"data":[{"name":"n","content":"of all"}]}' });
  const foreign = { ...operator, tenant: "other" };
  const none = await performTeamCall(
    tables,
    { principal: foreign, op: "list_notes", params: { agents: null } },
    1_000,
  );
  expect(none).toMatchObject({ ok: true, json: '{"data":[]}' });
});

test("RE-C33: the tables of a team without notes get theirs with the first write, its keys stay", async () => {
  const { database } = memoryTables();
  const older = openTables(database, 1);
  await createKey(older, { principal: operator, body: { scopes: ["sessions:read"] }, now: 1_000 });
  const next = openTables(database);
  expect(writeNote(next, owner("acme"), note("n", "kept", "k"))).toBeNull();
  expect(readNote(next, owner("acme"), "n")).toBe("kept");
  expect(listKeys(next, operator, { limit: 50 }).data).toHaveLength(1);
});
