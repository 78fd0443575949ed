import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, test } from "vitest";
import { api, create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** Sessions that rested for as long as they are kept (`retention`). */

const day = 86_400_000;

/** Moves a session's last use back in its rows, as if that time had gone by. */
const age = async (session: Session, ms: number): Promise<void> => {
  const path = "'$.session.updatedAt'";
  await session.sql(
    `UPDATE turns SET json = json_set(json, ${path}, (json ->> ${path}) - ${ms}) WHERE thread = 'main'`,
  );
  await session.evict();
};

const listed = async (): Promise<readonly string[]> => {
  const { body } = await api("GET", "/sessions");
  return (body["data"] as unknown as readonly { readonly id: string }[]).map(({ id }) => id);
};

test("★ CF-14 RE-P14: a session is gone when its days are over, its sockets closed, and no sooner", async () => {
  const session = await create("text", "Go", { retention_days: 2, ref: "kept-for-two-days" });
  await session.settled();
  await age(session, day);
  expect(await runDurableObjectAlarm(session.stub())).toBe(true);
  expect((await session.call("GET")).body).toMatchObject({ id: session.id, retention_days: 2 });
  const { alarm } = await session.peek();
  expect(((alarm ?? 0) - Date.now()) / day).toBeCloseTo(1, 2);

  const reader = await session.watch();
  await age(session, day);
  expect(await runDurableObjectAlarm(session.stub())).toBe(true);
  expect(await reader.closed()).toBe(4410);
  expect((await session.call("GET")).status).toBe(404);
  expect(await session.peek()).toMatchObject({ tables: 0, alarm: null });
  expect(await listed()).not.toContain(session.id);

  const again = await create("text", undefined, { ref: "kept-for-two-days" });
  expect(await again.events()).toHaveLength(1);
});
