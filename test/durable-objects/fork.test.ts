import { expect, test } from "vitest";
import { api, create, sessionOf } from "../support/worker/session.ts";
import type { Answer, Session } from "../support/worker/session.ts";

/** Forks between objects of the real platform (SE-45). */

const forkOf = (source: Session, body: object, headers: Record<string, string> = {}): Promise<Answer> =>
  source.call("POST", "/fork", { body, headers });

const messagesOf = async (session: Session): Promise<unknown> =>
  (await session.call("GET", "/messages?retired=true")).body["data"];

test("SE-45 AP-6: a fork is another session with the same chat and revision; asked for again under its key it is the same one", async () => {
  const source = await create("text", "Go");
  await source.quiet();
  const events = await source.events();
  const key = { "Idempotency-Key": "fork-1" };
  const first = await forkOf(source, { at: events.length }, key);
  expect(first).toMatchObject({ status: 201, body: { agent: "text", head_seq: 3, usage: { calls: 0 } } });
  const fork = await sessionOf(first.body["id"] ?? "");
  expect(fork.id).not.toBe(source.id);
  expect(first.headers.get("Location")).toBe(`/v1/sessions/${fork.id}`);
  expect(await messagesOf(fork)).toEqual(await messagesOf(source));
  expect((await fork.call("GET")).body["revision"]).toBe((await source.call("GET")).body["revision"]);
  await fork.crash();
  const again = await forkOf(source, { at: events.length }, key);
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(again.body).toEqual(first.body);
  expect(await forkOf(source, { at: 1 }, key)).toMatchObject({
    status: 422,
    body: { code: "idempotency_key_reused" },
  });
  expect((await source.call("DELETE")).status).toBe(204);
  await fork.send("i2", "On");
  await fork.settled();
  expect((await fork.events()).filter(({ type }) => type === "run_end")).toMatchObject([
    { run: "run_2", data: { state: "completed" } },
  ]);
  expect(await messagesOf(fork)).toHaveLength(4);
});

test("SE-45: a fork that is refused leaves no session, and neither does one of a session that is not there", async () => {
  const source = await create("text", "Go");
  await source.quiet();
  for (const [body, status, code] of [
    [{ at: 999 }, 409, "cursor_ahead"],
    [{ at: 1, files: "restore" }, 422, "no_file_snapshot"],
    [{ at: 1, source: source.id }, 400, "invalid_request"],
    [{}, 400, "invalid_request"],
  ] as const)
    expect(await forkOf(source, body)).toMatchObject({ status, body: { code } });
  const nobody = await sessionOf(`s_${"c".repeat(26)}`);
  expect(await forkOf(nobody, { at: 0 })).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect(await nobody.peek()).toMatchObject({ tables: 0 });
});

test("SE-45 AP-13: a browser token forks its own session if that was asked for, and cannot use the fork", async () => {
  const source = await create("text", "Go");
  await source.quiet();
  const plain = await source.call("POST", "/tokens", { body: {} });
  const refused = await source.call("POST", "/fork", { key: String(plain.body["token"]), body: { at: 0 } });
  expect(refused.status).toBe(403);
  const { body } = await source.call("POST", "/tokens", {
    body: { scopes: ["sessions:manage", "sessions:read"] },
  });
  const key = String(body["token"]);
  const other = await create("text");
  expect((await other.call("POST", "/fork", { key, body: { at: 0 } })).status).toBe(401);
  const made = await source.call("POST", "/fork", { key, body: { at: 0 } });
  expect(made.status).toBe(201);
  expect((await api("GET", `/sessions/${made.body["id"]}`, { key })).status).toBe(401);
});

test("SE-45: a session at rest goes back over HTTP, with the ETag of what it then is", async () => {
  const session = await create("text", "Go");
  await session.quiet();
  const head = (await session.events()).length;
  const answer = await session.call("POST", "/rewind", { body: { at: 0 } });
  expect(answer).toMatchObject({ status: 200, body: { head_seq: head + 1 } });
  expect(answer.headers.get("ETag")).toBe(`"${head + 1}"`);
  expect((await session.call("GET", "/messages")).body["data"]).toEqual([]);
  expect(await messagesOf(session)).toHaveLength(2);
});
