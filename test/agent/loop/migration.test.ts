import { expect, test } from "vitest";
import { createTables, migrate } from "../../../durable-objects/rows/tables.ts";
import { createStorage, openDatabase } from "../../support/sql.ts";

/** Tables that an older schema version left behind. */

const steps = [
  "CREATE TABLE first (n INTEGER PRIMARY KEY); INSERT INTO first VALUES (7);",
  "ALTER TABLE first ADD COLUMN note TEXT NOT NULL DEFAULT 'kept';",
];

const open = () => {
  const database = openDatabase();
  let left = Infinity;
  const storage = createStorage(database, () => {
    if (left-- <= 0) throw new Error("power cut");
  });
  createTables(storage.sql);
  return {
    storage,
    cutAt: (write: number): void => {
      left = write;
    },
    version: () => database.prepare("SELECT value FROM meta WHERE key = 'schema_version'").get()?.["value"],
    first: () => database.prepare("SELECT * FROM first").all(),
  };
};

test("RE-C33: a new session has the newest tables from the start, and nothing to migrate", () => {
  const { storage, version } = open();
  expect(version()).toBeUndefined();
  migrate(storage);
  expect(version()).toBeUndefined();
});

test("RE-C33: the power is cut at every write of a migration: it goes on from there, the data intact", () => {
  let cut = 0;
  for (let isCut = true; isCut; cut++) {
    const { storage, cutAt, version, first } = open();
    cutAt(cut);
    isCut = false;
    try {
      migrate(storage, steps);
    } catch (error) {
      expect(error).toEqual(new Error("power cut"));
      isCut = true;
      expect(version()).not.toBe("3");
    }
    cutAt(Infinity);
    migrate(storage, steps);
    expect(version()).toBe("3");
    expect(first()).toEqual([{ n: 7, note: "kept" }]);
  }
  expect(cut).toBe(7);
});
