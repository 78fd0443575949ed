import { expect, test } from "vitest";
import { api, create, request } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** The one alarm of a session wakes it for the report to its tenant and for the credentials of its sockets, and loses neither. */

const titlesOf = async ({ id: of }: Session): Promise<readonly unknown[]> => {
  const { body } = await api("GET", "/sessions?limit=200");
  return (body["data"] as unknown as { id: string; title: string }[])
    .filter(({ id }) => id === of)
    .map(({ title }) => title);
};

/** Makes a key that expires in so many milliseconds. */
const makeKey = async (ms: number): Promise<{ readonly key: string; readonly expires: number }> => {
  const expires = Date.now() + ms;
  const body = { tenant: "default", scopes: ["sessions:read"], expires_at: expires };
  const answer = await api("POST", "/keys", { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return { key: String(answer.body["key"]), expires };
};

/** Opens a socket that has seen all of the log, with a key that expires in so many milliseconds. */
const watchFor = async (session: Session, ms: number) => {
  const { key, expires } = await makeKey(ms);
  const watch = await session.watch({ after: 0 }, key);
  await watch.until(({ type }) => type === "live");
  return { watch, expires };
};

const rest = async (agent = "text"): Promise<Session> => {
  const session = await create(agent, "Go");
  await session.quiet();
  return session;
};

test("AP-5 RE-P2: news that were stored before a crash reach the index within 5 s, although a request wakes the session first", async () => {
  const session = await create("ask", "Go");
  await session.settled();
  const end = Date.now() + 5_000;
  await session.call("PATCH", "", { body: { title: "New" } });
  await session.crash();
  await session.call("GET");
  while (Date.now() < end && !(await titlesOf(session)).includes("New")) await scheduler.wait(20);
  expect(await titlesOf(session)).toEqual(["New"]);
});

test("AP-13 SE-34: a socket whose credential expires while its session sleeps is told and closed 4401, and nothing else happens", async () => {
  const session = await rest();
  const { head } = await session.peek();
  const { watch, expires } = await watchFor(session, 2_000);
  await expect.poll(async () => (await session.peek()).alarm).toBe(expires);
  await session.evict();
  expect(await watch.closed()).toBe(4401);
  expect(Date.now()).toBeGreaterThanOrEqual(expires);
  expect(watch.frames.at(-1)).toMatchObject({ type: "bye", code: 4401, resume_after: head });
  await session.quiet();
  expect(await session.peek()).toMatchObject({ head, alarm: null });
});

test("AP-13: a socket that renews its credential stays open past the old one's expiry, which closes the others", async () => {
  const session = await rest();
  const { key, expires } = await makeKey(2_000);
  const open = () => session.watch({ after: 0 }, key);
  const [renewed, idle] = [await open(), await open()];
  for (const watch of [renewed, idle]) await watch.until(({ type }) => type === "live");
  const { body } = await session.call("POST", "/tokens", { body: { scopes: ["sessions:read"], ttl: 900 } });
  renewed.send({ type: "auth", token: String(body["token"]) });
  // Two frames are one message, which the platform does not answer itself.
  renewed.send({ type: "ping" }, { type: "ping" });
  await renewed.until(({ type }) => type === "pong");
  await session.evict();
  expect(await idle.closed()).toBe(4401);
  expect(Date.now()).toBeGreaterThanOrEqual(expires);
  await expect.poll(async () => (await session.peek()).alarm).toBe(body["expires_at"]);
  await session.evict();
  await session.send("i2", "Again");
  while (renewed.events.filter(({ type }) => type === "run_end").length < 2) await scheduler.wait(2);
  await expect.poll(async () => (await session.peek()).alarm).toBe(body["expires_at"]);
  renewed.close();
  await session.quiet();
});

test("AP-13: a renewal takes the alarm away that was set for the old credential, the end of a socket that of the new one", async () => {
  const session = await rest();
  const { watch, expires } = await watchFor(session, 60_000);
  await expect.poll(async () => (await session.peek()).alarm).toBe(expires);
  const { body } = await session.call("POST", "/tokens", { body: { scopes: ["sessions:read"], ttl: 900 } });
  watch.send({ type: "auth", token: String(body["token"]) });
  await expect.poll(async () => (await session.peek()).alarm).toBe(body["expires_at"]);
  watch.close();
  await expect.poll(async () => (await session.peek()).alarm).toBeNull();
});

test("AP-13 SE-34: a socket whose credential does not expire leaves its session without an alarm", async () => {
  const session = await rest();
  const watch = await session.watch({ after: 0 });
  await watch.until(({ type }) => type === "live");
  expect((await session.peek()).alarm).toBeNull();
  watch.close();
});

test("AP-13: a socket whose credential expires in the middle of a silent run is closed then", async () => {
  const session = await create("sleeper");
  const { watch } = await watchFor(session, 2_000);
  await session.send("i1", "Go on");
  await watch.event("tool_call_start");
  expect(await watch.closed()).toBe(4401);
  expect((await session.peek()).busy).toBe(true);
  await session.call("POST", "/cancel", { body: {} });
  await session.quiet();
});

test("AP-5 AP-13: a report and the expiries of two sockets, before and after it, all come about while the session sleeps", async () => {
  const session = await rest();
  const [before, after] = [await watchFor(session, 1_500), await watchFor(session, 5_000)];
  await session.call("PATCH", "", { body: { title: "New" } });
  await session.evict();
  expect(await before.watch.closed()).toBe(4401);
  await session.evict();
  await expect.poll(() => titlesOf(session)).toEqual(["New"]);
  await session.evict();
  expect(await after.watch.closed()).toBe(4401);
  expect(Date.now()).toBeGreaterThanOrEqual(after.expires);
  await session.quiet();
});

test("AP-13 AP-21: a stream of server-sent events ends when its key expires, although nothing happens in its session", async () => {
  const session = await rest();
  const { key, expires } = await makeKey(2_000);
  const path = `/sessions/${session.id}/events?live=sse&after=0`;
  const stream = await request("GET", path, { key });
  expect(await stream.text()).toContain("event: run_end\n");
  expect(Date.now()).toBeGreaterThanOrEqual(expires);
});
