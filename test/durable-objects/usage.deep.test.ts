import { expect, test } from "vitest";
import type { SessionSummary } from "../../src/engine/access/rpc.ts";
import { replaceMethod, tenantStub } from "../support/worker/directories.ts";
import { api, create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** What sessions report of their ledgers to their tenant's object, which sums it up (AP-40). */

interface Sum {
  readonly calls: number;
  readonly usage: { readonly input: number; readonly output: number; readonly total: number };
}
interface Listed extends Sum {
  readonly key: string | null;
}

/** What a session used in all, from its own ledger. */
const usedBy = async (session: Session): Promise<Sum> => {
  const { calls, ...usage } = (await session.call("GET", "/usage")).body[
    "lifetime"
  ] as unknown as Sum["usage"] & {
    readonly calls: number;
  };
  return { calls, usage };
};

const groups = async (query: string): Promise<{ data: readonly Listed[]; total: Sum }> => {
  const { status, body } = await api("GET", `/usage?limit=200&${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as unknown as { data: readonly Listed[]; total: Sum };
};

/** The sum that the tenant has of a session. */
const knownOf = async ({ id }: Session): Promise<Sum | undefined> => {
  const found = (await groups("group_by=session")).data.find(({ key }) => key === id);
  return found && { calls: found.calls, usage: found.usage };
};

const remove = async (session: Session): Promise<void> => {
  expect((await session.call("DELETE")).status).toBe(204);
};

test("★ AP-40: the sums of children, an override and a deleted session by each key equal the ledgers", async () => {
  const family = await create("boss", "Go", { metadata: { team: "x" } });
  const other = await create("text", "Go", { model: "hand-script", metadata: { team: "y" } });
  const gone = await create("retry", "Go");
  await Promise.all([family, other, gone].map((session) => session.quiet()));
  expect((await other.call("PATCH", "", { body: { metadata: { team: "z" } } })).status).toBe(200);
  await other.send("i2", "More");
  await other.quiet();
  const sums = await Promise.all([family, other, gone].map(usedBy));
  await remove(gone);
  const calls = sums.reduce((sum, each) => sum + each.calls, 0);
  const input = sums.reduce((sum, { usage }) => sum + usage.input, 0);
  await expect.poll(() => groups("").then(({ total }) => total)).toMatchObject({ calls, usage: { input } });
  for (const [place, session] of [family, other, gone].entries())
    expect(await knownOf(session)).toEqual(sums[place]);
  const callsBy = async (key: string): Promise<Readonly<Record<string, number>>> => {
    const { data, total } = await groups(`group_by=${key}`);
    expect([data.reduce((sum, row) => sum + row.calls, 0), total.calls]).toEqual([calls, calls]);
    return Object.fromEntries(data.map((row) => [String(row.key), row.calls]));
  };
  expect(await callsBy("agent")).toEqual({ boss: 2, hand: 6, text: 4, retry: 3 });
  expect(await callsBy("model")).toMatchObject({ "hand-script/hand-model": 10 });
  expect(await callsBy("metadata[team]")).toEqual({ x: 8, y: 3, z: 1, null: 3 });
  expect(await callsBy("day")).toEqual({ [new Date().toISOString().slice(0, 10)]: calls });
  const { body } = await api("GET", "/sessions");
  const rows = body["data"] as unknown as readonly { id: string; usage: unknown }[];
  for (const session of [family, other])
    expect(rows.find(({ id }) => id === session.id)?.usage).toEqual(
      (await session.call("GET")).body["usage"],
    );
  await remove(family);
  await remove(other);
  expect((await groups("")).total.calls).toBe(calls);
});

test("★ AP-40: what a run used is known within five seconds of its end, in a few reports", async () => {
  const session = await create("slow", "Go");
  const calls: number[] = [];
  await replaceMethod(tenantStub(), "index", (there) => (...args) => {
    calls.push(Date.now());
    return there(...args);
  });
  await session.settled();
  const ended = Date.now();
  const own = await usedBy(session);
  await expect.poll(() => knownOf(session), { timeout: 5_000 }).toEqual(own);
  expect(Date.now() - ended).toBeLessThan(5_000);
  expect(calls.length).toBeLessThan(4);
});

/** Has the tenant's object be away at the first report of each session, and lose its answer to the second. */
const failReports = (): Promise<void> => {
  const times = new Map<string, number>();
  return replaceMethod(tenantStub(), "index", (there) => async (summary) => {
    const { id } = summary as SessionSummary;
    times.set(id, (times.get(id) ?? 0) + 1);
    if (times.get(id) === 1) throw new Error("the tenant is away");
    const answer = await there(summary);
    if (times.get(id) === 2) throw new Error("the answer is lost");
    return answer;
  });
};

/** Plays a session through crashes, one more at the end or its deletion; what it used is known all the same. */
const playThroughCrashes = async (crashes: number): Promise<void> => {
  const session = await create("loop", "Go");
  for (let crash = 0; crash < crashes; crash++) {
    await scheduler.wait(7 * (crash + 1));
    await session.crash();
  }
  await session.settled();
  const own = await usedBy(session);
  expect(own.calls).toBeGreaterThan(30);
  if (crashes % 2 === 1) await session.crash();
  if (crashes % 3 === 2) await remove(session);
  await expect.poll(() => knownOf(session), { timeout: 30_000 }).toEqual(own);
};

test("★ AP-40: whatever dies or is away when usage is reported, it counts exactly once", async () => {
  await failReports();
  await Promise.all([0, 1, 2, 3, 4, 5].map(playThroughCrashes));
  const { data, total } = await groups("group_by=session");
  expect(total.calls).toBe(data.reduce((sum, { calls }) => sum + calls, 0));
});
