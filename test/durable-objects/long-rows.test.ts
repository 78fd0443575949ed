import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { executionsOf } from "../support/worker/probe.ts";
import { create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** Values that are longer than a row of the platform may be (DESIGN 6); workerd itself would take them. */

/** Bytes of a row that the platform takes in any case. */
const mostBytes = 1.5 * 2 ** 20;

/** Tables with a row that is too long. */
const tooLong = (session: Session): Promise<readonly string[]> =>
  runInDurableObject(session.stub(), (_, { storage: { sql } }) =>
    sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*'")
      .toArray()
      .map(({ name }) => name)
      .filter((table) => {
        const columns = sql
          .exec<{ name: string }>(`SELECT name FROM pragma_table_info('${table}')`)
          .toArray();
        const sum = columns.map(({ name }) => `ifnull(length(CAST(${name} AS BLOB)), 0)`).join(" + ");
        return sql.exec(`SELECT 1 FROM ${table} WHERE ${sum} > ${mostBytes} LIMIT 1`).toArray().length > 0;
      }),
  );

const openAsks = async (session: Session): Promise<readonly string[]> => {
  const { body } = await session.call("GET", "/asks?status=open");
  return (body["data"] as unknown as readonly { readonly id: string }[]).map(({ id }) => id);
};

/** As long as the body of an answer allows: each JSON around it escapes each of its signs once more. */
const longName = "\\".repeat(520_000);

test("SE-29 RE-P1: approvals edited to arguments as long as they may be have no row that the platform refuses; they are stored, replayed and run, after a crash too", async () => {
  const session = await create("vast", "Fire twice");
  await session.settled();
  const [first = "", second = ""] = await openAsks(session);
  const edit = (ask: string) =>
    session.call("POST", `/asks/${ask}`, {
      body: { decision: "edit", input: { name: longName } },
      headers: { "Idempotency-Key": ask },
    });
  const edited = await edit(first);
  expect(edited.status).toBe(200);
  expect(await tooLong(session)).toEqual([]);
  await session.crash();
  expect((await edit(second)).status).toBe(200);
  await session.settled();
  expect(await tooLong(session)).toEqual([]);
  expect(executionsOf(session.id).map(({ name }) => name === longName)).toEqual([true, true]);
  await session.crash();
  const again = await edit(first);
  expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
  expect(again.body).toEqual(edited.body);
  const listed = (await session.call("GET", "/asks")).body["data"];
  expect(listed).toMatchObject([
    { id: first, resolution: { body: { input: { name: longName } } } },
    { id: second },
  ]);
});
