import { expect, test } from "vitest";
import { openTables } from "../../../src/engine/access/database.ts";
import { memoryTables } from "./tables.ts";

const first = "\n  CREATE TABLE colors (name TEXT PRIMARY KEY);\n";
const second =
  "\n  ALTER TABLE colors ADD COLUMN tone TEXT NOT NULL DEFAULT 'warm';\n  CREATE INDEX tones ON colors (tone);\n";

const openOlder = () => {
  const { tables, database, dump } = memoryTables([first]);
  tables.write((all) => all("INSERT INTO colors (name) VALUES ('ochre')"));
  return { database, dump };
};

test("RE-C33: the first read of an older object's tables brings them up to date, rows intact, and once only", () => {
  const { database, dump } = openOlder();
  for (const tables of [openTables(database, [first, second]), openTables(database, [first, second])])
    expect(tables.read("SELECT * FROM colors")).toEqual([{ name: "ochre", tone: "warm" }]);
  expect(dump()).toContain('{"key":"schema_version","value":"2"}');
});

test("RE-C33: a migration that breaks off leaves the older tables as they were, and the next write makes it whole", () => {
  const { database, dump } = openOlder();
  const before = dump();
  const broken = openTables(database, [first, `${second}  INSERT INTO nowhere VALUES (1);\n`]);
  expect(() => broken.write(() => undefined)).toThrow("nowhere");
  expect(dump()).toBe(before);
  openTables(database, [first, second]).write((all) => all("INSERT INTO colors VALUES ('teal', 'cold')"));
  expect(dump()).toContain('[{"name":"ochre","tone":"warm"},{"name":"teal","tone":"cold"}]');
});

test("RE-C33: reads of an object that was never written to create no tables", () => {
  const { tables, dump } = memoryTables([first]);
  expect(tables.read("SELECT * FROM colors")).toEqual([]);
  expect(dump()).toBe("");
});

test("RE-C33: tables of a newer deploy serve the older one after a rollback, and the newer one again", () => {
  const { database } = openOlder();
  openTables(database, [first, second]).write((all) => all("INSERT INTO colors VALUES ('teal', 'cold')"));
  const older = openTables(database, [first]);
  expect(older.read("SELECT name FROM colors")).toEqual([{ name: "ochre" }, { name: "teal" }]);
  older.write((all) => all("INSERT INTO colors (name) VALUES ('umber')"));
  expect(older.read("SELECT name FROM colors")).toHaveLength(3);
  expect(openTables(database, [first, second]).read("SELECT tone FROM colors WHERE name = 'umber'")).toEqual([
    { tone: "warm" },
  ]);
});
