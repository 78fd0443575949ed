import { expect, test } from "vitest";
import { indexSession } from "../../../../src/engine/access/tenant/session-index.ts";
import {
  addPin,
  definitionKeepMs,
  dropPin,
  renewPin,
  takeUnusedPins,
} from "../../../../src/engine/access/tenant/pins.ts";
import type { Tables } from "../../../../src/engine/access/database.ts";
import { memoryTables } from "../tables.ts";

const session = (
  tables: Tables,
  revision: string,
  status: "idle" | "deleted" = "idle",
  more: { readonly head_seq?: number; readonly next_revision?: string } = {},
): number =>
  indexSession(tables, {
    id: "a",
    ref: null,
    agent: "guide",
    title: null,
    metadata: {},
    status,
    revision,
    head_seq: 1,
    created_at: 1,
    updated_at: 2,
    usage: {},
    ledger: { since: 0, rows: [] },
    ...more,
  });

test("CF-33: a pin lasts for a day after it was asked for, since sessions may be about to need it, and while one does", () => {
  const { tables } = memoryTables();
  expect(renewPin(tables, "r_1", 1)).toBe(false);
  addPin(tables, "r_1", 1);
  session(tables, "r_1");
  const later = 2 * definitionKeepMs;
  expect(takeUnusedPins(tables, later)).toEqual([]);
  expect(renewPin(tables, "r_1", later)).toBe(true);
  session(tables, "r_1", "deleted");
  expect(takeUnusedPins(tables, later + definitionKeepMs)).toEqual([]);
  expect(takeUnusedPins(tables, later + definitionKeepMs + 1)).toEqual(["r_1"]);
});

test("CF-33: a pin that goes is told of until the team knows, and is none for a session that comes meanwhile", () => {
  const { tables } = memoryTables();
  addPin(tables, "r_1", 1);
  const late = definitionKeepMs + 2;
  expect(takeUnusedPins(tables, late)).toEqual(["r_1"]);
  expect(takeUnusedPins(tables, late)).toEqual(["r_1"]);
  expect(renewPin(tables, "r_1", late)).toBe(false);
  addPin(tables, "r_1", late);
  dropPin(tables, "r_1");
  expect(renewPin(tables, "r_1", late)).toBe(true);
  expect(takeUnusedPins(tables, 3 * definitionKeepMs)).toEqual(["r_1"]);
  dropPin(tables, "r_1");
  expect(tables.read("SELECT * FROM pins")).toEqual([]);
});

test("CF-33 CF-35: the revision that a session goes over to before its next run is pinned like its own", () => {
  const { tables } = memoryTables();
  addPin(tables, "r_1", 1);
  addPin(tables, "r_2", 1);
  session(tables, "r_1", "idle", { next_revision: "r_2" });
  const late = definitionKeepMs + 2;
  expect(takeUnusedPins(tables, late)).toEqual([]);
  session(tables, "r_1", "idle", { head_seq: 2 });
  expect(takeUnusedPins(tables, late)).toEqual(["r_2"]);
});

test("AP-4 CF-33: looking for pins that are not needed creates no table", () => {
  const { tables, database } = memoryTables();
  expect(takeUnusedPins(tables, 1)).toEqual([]);
  expect(database.all("SELECT name FROM sqlite_master")).toEqual([]);
});
