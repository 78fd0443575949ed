import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { WorkspaceObject } from "../../../src/sandbox/worker/object.ts";
import { bench, everything, freshKey, type Bench } from "../bench.ts";

/** What a workspace leaves behind, and what reaches the next one of its id. */

const worker = exports as unknown as {
  default: Fetcher;
  WorkspaceObject: DurableObjectNamespace<WorkspaceObject>;
};
type Stub = DurableObjectStub<WorkspaceObject>;

const fresh = (): Bench & { stub: () => Stub } => {
  const made = bench(() => ({ fetch: (request) => worker.default.fetch(request) }));
  return { ...made, stub: () => worker.WorkspaceObject.getByName(made.id) };
};

/** What an object keeps: its tables, its bytes, and its alarm. */
const keptBy = (stub: Stub) =>
  runInDurableObject(stub, async (_, { storage }) => ({
    tables: storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
    bytes: storage.sql.databaseSize,
    alarm: await storage.getAlarm(),
  }));

/** The empty page that each object has. */
const nothing = { tables: [], bytes: 4096, alarm: null };

/** Sends a body whose second half the test lets go; resolves once the first half has arrived. */
const sendSlowly = ({ raw }: Bench, path: string, content: Uint8Array) => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const answer = raw("PUT", path, { body: readable });
  const half = Math.floor(content.length / 2);
  return writer.write(content.subarray(0, half)).then(() => async () => {
    await writer.write(content.subarray(half));
    await writer.close();
    return answer;
  });
};

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("toolboxes §6: a workspace that was removed keeps no storage, whatever is asked of it afterwards", async () => {
  const { stub, sandbox, put, run, raw } = fresh();
  await put("a/b", "one");
  await run("echo two > c");
  expect(await keptBy(stub())).toMatchObject({ alarm: expect.any(Number) });
  expect((await raw("DELETE", "")).status).toBe(204);
  expect(await keptBy(stub())).toEqual(nothing);
  await sandbox.kill(freshKey());
  await raw("GET", "/running");
  await raw("GET", "/skills");
  await raw("GET", "/file/workspace/c");
  await raw("GET", "/exec/unknown?after=0");
  expect(await everything(sandbox)).toEqual({});
  expect(await keptBy(stub())).toEqual(nothing);
  expect((await raw("DELETE", "")).status).toBe(204);
  expect(await keptBy(stub())).toEqual(nothing);
});

test("toolboxes §6: what still runs when a workspace is removed leaves nothing in the next one of its id", async () => {
  const made = fresh();
  const { stub, sandbox, run, raw } = made;
  await run("git init -q .; for n in 1 2 3 4 5 6 7 8 9; do echo $n > f$n; done");
  const finishUpload = await sendSlowly(made, "/file/workspace/late", bytes("too late"));
  const body = JSON.stringify({ message: "late", all: true });
  const command = run("while :; do echo x >> loop; done");
  while ((await raw("GET", "/file/workspace/loop")).status !== 200);
  const commit = raw("POST", "/git/commit", { body });
  const removals = await Promise.all([raw("DELETE", ""), raw("DELETE", "")]);
  expect(removals.map(({ status }) => status)).toEqual([204, 204]);
  const upload = await finishUpload();
  expect([upload.status, await upload.json()]).toEqual([
    409,
    { code: "conflict", error: "the workspace was removed meanwhile" },
  ]);
  await Promise.allSettled([command, commit]);
  expect(await everything(sandbox)).toEqual({});
  expect(await keptBy(stub())).toEqual(nothing);
});

test("TB-29: the next workspace of an id forgets its outcomes after a day, too", async () => {
  const { stub, put, raw } = fresh();
  await put("a", "one");
  await raw("DELETE", "");
  await put("a", "two");
  expect(await keptBy(stub())).toMatchObject({ alarm: expect.any(Number) });
});
