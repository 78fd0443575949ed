import { expect, test } from "vitest";
import { listNotes, readNote, showNotes, writeNote } from "../../../../src/engine/access/tenant/notes.ts";
import { performTenantCall } from "../../../../src/engine/access/tenant/calls.ts";
import { allScopes } from "../../../../src/session/rpc.ts";
import type { Principal } from "../../../../src/session/rpc.ts";
import { memoryTables } from "../tables.ts";

/** Notes in a tenant's object (AG-47). */

const owner = (agent: string | null = null) => ({ agent });
const operator: Principal = { tenant: "acme", jurisdiction: null, by: "operator", scopes: allScopes };
const note = (name: string, content: string, key: string) => ({ name, content, key, now: 1_000 });

test("AP-4 AG-47: reading notes where none was written creates no storage", () => {
  const { tables, dump } = memoryTables();
  expect([readNote(tables, owner(), "a"), listNotes(tables, owner())]).toEqual([null, []]);
  expect(dump()).toBe("");
});

test("AG-47: agents are apart, also where a name contains another's", () => {
  const { tables } = memoryTables();
  for (const [at, each] of [owner(), owner("coder"), owner("coders")].entries())
    expect(writeNote(tables, each, note("n", `note ${at}`, "s/run_1/c1/0"))).toBeNull();
  expect(readNote(tables, owner(), "n")).toBe("note 0");
  expect(readNote(tables, owner("coder"), "n")).toBe("note 1");
  expect(readNote(tables, owner("coders"), "n")).toBe("note 2");
  expect(readNote(tables, owner("writer"), "n")).toBeNull();
});

test("AG-47: what a session sends is checked here, too", () => {
  const { tables } = memoryTables();
  expect(writeNote(tables, owner(), note("../x", "a", "k"))).toContain("invalid_arguments: 1 to 64 letters");
  expect(writeNote(tables, owner(), note("x", "a".repeat(65_537), "k"))).toContain("at most 64 KiB");
  const wrong = Object.assign(note("x", "a", "k"), { content: 5 });
  expect(writeNote(tables, owner(), wrong)).toBe("invalid_arguments: expected a text, found the number 5");
  expect(listNotes(tables, owner())).toEqual([]);
});

test("AP-7 AG-47: the API lists notes with their contents page by page, by agent where each has its own", async () => {
  const { tables } = memoryTables();
  writeNote(tables, owner("b"), note("n", "of b", "k1"));
  writeNote(tables, owner("a"), note("n", "of a", "k2"));
  writeNote(tables, owner(), note("n", "of all", "k3"));
  const first = showNotes(tables, { agents: ["a", "b", "c"], limit: 1 });
  expect(first.data).toEqual([{ name: "n", content: "of a", agent: "a" }]);
  const cursor = first.next_cursor ?? "";
  expect(showNotes(tables, { agents: ["a", "b", "c"], limit: 1, cursor })).toMatchObject({
    data: [{ name: "n", content: "of b", agent: "b" }],
    next_cursor: null,
  });
  expect(() => showNotes(tables, { agents: ["a"], limit: 1, cursor })).toThrow("The cursor is damaged");
  const reply = await performTenantCall(
    tables,
    { principal: operator, op: "list_notes", params: { agents: null } },
    1_000,
  );
  expect(JSON.parse(reply.ok ? reply.json : "")).toEqual({
    data: [{ name: "n", content: "of all" }],
    next_cursor: null,
    prev_cursor: null,
  });
});
