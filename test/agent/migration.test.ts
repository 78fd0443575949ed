import { expect, test } from "vitest";
import { migrations, schemaVersion } from "../../durable-objects/schema.ts";
import { linesOf } from "../../src/agent/lines.ts";
import { checkInvariants } from "../support/invariants.ts";
import { ends, play, results } from "./play.ts";
import { call, listOf, script, storePlay } from "./store-play.ts";
import type { Play } from "./play.ts";

/** Tables of older releases (RE-C33): a session that one of them left behind in the middle of a run goes on. */

const tablesSince = (version: number): readonly string[] =>
  migrations
    .slice(version - 1)
    .flatMap((step) => [...step.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name ?? ""));

/** Fields of stored threads, runs and sessions that the first release did not have. */
const later = [
  "tokens",
  "removed",
  "seen",
  "history",
  "recordMarks",
  "guards",
  "announce",
  "child",
  ...["clock", "lingers", "announces", "budget", "hidden", "notes", "overflows", "compact", "wants"].map(
    (name) => `run.${name}`,
  ),
  ...["prefix", "modelScope", "queue", "trees", "labels", "funds", "nextEdit"].map(
    (name) => `session.${name}`,
  ),
];

/** Puts what stands in rows of its own back into the rows of threads, as releases before version 5 had it. */
const joined = ({ bench }: Play): void => {
  for (const { thread, json, history } of bench.rows("turns")) {
    const { session, ...fields } = JSON.parse(json as string) as Record<string, Record<string, unknown>>;
    const values = [
      ...Object.entries({ ...fields, history }).map(([key, value]) => [key, value] as const),
      ...Object.entries(session ?? {}).map(([key, value]) => [`session.${key}`, value] as const),
    ];
    const sets = values.map(
      ([key, value]) => `'$.${key}', json('${JSON.stringify(value).replaceAll("'", "''")}')`,
    );
    bench.sql(
      `UPDATE threads SET state = json_set(state, ${sets.join(", ")}) WHERE id = '${thread as string}'`,
    );
  }
};

/** Makes the rows of events whole again, as they were before version 5. */
const wholeLines = ({ bench }: Play): void => {
  for (const { last, first, lines, at, session } of bench.rows("events")) {
    const whole = linesOf((lines as string).split("\n"), session as string, first as number, at as number);
    const text = whole.join("\n").replaceAll("'", "''");
    bench.sql(`UPDATE events SET lines = '${text}' WHERE last = ${last as number}`);
  }
  bench.sql("ALTER TABLE events DROP COLUMN at");
  bench.sql("ALTER TABLE events DROP COLUMN session");
};

/** Fields that stood in the rows of threads before version 6. */
const unbusied = ({ bench }: Play): void => {
  for (const field of ["guards", "session.nextRun", "session.nextInput"]) {
    const value = `(SELECT json -> '$.${field}' FROM turns WHERE thread = id)`;
    bench.sql(`UPDATE threads SET state = json_set(state, '$.${field}', json(${value}))`);
    bench.sql(`UPDATE turns SET json = json_remove(json, '$.${field}')`);
  }
  bench.sql("ALTER TABLE threads ADD COLUMN busy INTEGER NOT NULL DEFAULT 1");
};

/** Takes a session back to what a release with an older schema stored. */
const downgraded = (played: Play, version: number): void => {
  const { bench } = played;
  if (version < 6) unbusied(played);
  if (version < 5) {
    joined(played);
    wholeLines(played);
  }
  for (const table of tablesSince(version)) bench.sql(`DROP TABLE ${table}`);
  if (version === 1)
    bench.sql(
      `UPDATE threads SET state = json_remove(state, ${later.map((each) => `'$.${each}'`).join(", ")})`,
    );
  bench.sql(`UPDATE meta SET value = '${version}' WHERE key = 'schema_version'`);
};

const versionOf = ({ bench }: Play): unknown =>
  bench.rows("meta").find(({ key }) => key === "schema_version")?.["value"];

/** A session that waits for a person before it touches any store. */
const waiting = async (): Promise<Play> => {
  const played = await storePlay(
    script(
      '{ call: ask_user, args: { question: "On?" } }',
      call("shared_state_set", { key: "k", value: 1 }),
      call("shared_tasks_create", { title: "One" }),
    ),
  );
  played.bench.send("Go");
  await played.bench.idle();
  return played;
};

const goesOn = async (played: Play): Promise<void> => {
  const { bench, probe } = played;
  const [ask] = Object.keys(bench.state().asks);
  bench.ok("answer", { ask, decision: "answer", text: "Yes" });
  await bench.idle();
  expect(results(bench)).toHaveLength(3);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect([listOf(bench, "state").length, listOf(bench, "tasks").length]).toEqual([1, 1]);
  expect(versionOf(played)).toBe(String(schemaVersion));
  checkInvariants(bench, ["in_1"], probe);
};

for (let version = 1; version < schemaVersion; version++) {
  test(`RE-C33: a session of schema ${version} is brought up to date when it wakes, and goes on`, async () => {
    const played = await waiting();
    downgraded(played, version);
    played.bench.crash();
    await goesOn(played);
  });

  test(`RE-C33: the power is cut at every write of the migration from ${version}: it continues, the data intact`, async () => {
    const writes = (schemaVersion - version) * 3;
    for (let cut = 1; cut <= writes; cut++) {
      const played = await waiting();
      const { bench } = played;
      downgraded(played, version);
      bench.cutAt(cut);
      bench.crash();
      expect(versionOf(played), `cut ${cut} came before the end`).not.toBe(String(schemaVersion));
      bench.cutAt(null);
      await goesOn(played);
    }
  });
}

test("RE-C33: a new session has the newest tables from the start, the same that a migration makes", async () => {
  const shape = ({ bench }: Play): readonly unknown[] =>
    bench
      .rows("sqlite_master")
      .map(({ name, sql }) => `${String(name)} ${String(sql).replaceAll(/\s+/g, " ")}`)
      .toSorted();
  const fresh = await play("replies: [{ reply: [{ text: Hi. }] }]");
  expect(versionOf(fresh)).toBe(String(schemaVersion));
  const migrated = await waiting();
  downgraded(migrated, 1);
  migrated.bench.crash();
  expect(shape(migrated)).toEqual(shape(fresh));
});
