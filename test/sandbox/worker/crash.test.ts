import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { WorkspaceObject } from "../../../src/sandbox/worker/object.ts";
import { bench, collect, freshKey, never, type Bench } from "../bench.ts";

const worker = exports as unknown as {
  default: Fetcher;
  WorkspaceObject: DurableObjectNamespace<WorkspaceObject>;
};
const fresh = (): Bench & { stub: () => DurableObjectStub<WorkspaceObject> } => {
  const made = bench(() => ({ fetch: (request) => worker.default.fetch(request) }));
  return { ...made, stub: () => worker.WorkspaceObject.getByName(made.id) };
};

/** Kills the object under whatever runs in it. */
async function abort(stub: DurableObjectStub<WorkspaceObject>): Promise<void> {
  await runInDurableObject(stub, (_, state) => state.abort("power cut")).catch(() => undefined);
}

test("TB-35: files, outcomes and the instance name survive an eviction between any two calls", async () => {
  const { stub, sandbox, put, text, run } = fresh();
  const instance = await sandbox.instance();
  await put("a/b", "one");
  await evictDurableObject(stub());
  expect(await text("a/b")).toBe("one");
  const key = freshKey();
  const edit = { path: "a/b", old_text: "one", new_text: "one one" };
  const first = await sandbox.change("edit", edit, { key });
  await evictDurableObject(stub());
  expect(await sandbox.change("edit", edit, { key })).toEqual(first);
  expect(await text("a/b")).toBe("one one");
  const execId = freshKey();
  await run("echo out; echo err >&2; exit 5", { execId });
  await evictDurableObject(stub());
  const { stdout, stderr, code } = await collect(sandbox.attach(execId, 0, Date.now() + 5000, never));
  expect([stdout, stderr, code]).toEqual(["out\n", "err\n", 5]);
  await sandbox.capabilities();
  expect(await sandbox.instance()).toBe(instance);
});

test("TB-29: a crash mid-command makes it lost, the files written stay, and it is not started again", async () => {
  const { stub, sandbox, text, run, raw } = fresh();
  const execId = freshKey();
  const request = { argv: ["sh", "-c", "echo 1 >> log; sleep 30; echo 2 >> log"], execId, timeoutMs: 60_000 };
  await sandbox.start(request, never);
  while ((await raw("GET", "/file/workspace/log")).status !== 200);
  await abort(stub());
  const { reason, code } = await collect(sandbox.attach(execId, 0, Date.now() + 5000, never));
  expect([reason, code]).toEqual(["lost", -1]);
  const again = await collect(sandbox.exec(request, never));
  expect(again.reason).toBe("lost");
  expect(await text("log")).toBe("1\n");
  expect((await run("echo alive")).stdout).toBe("alive\n");
});

test("TB-12: an object killed around an edit has applied it once when the call is repeated", async () => {
  const { stub, sandbox, put, text } = fresh();
  await put("f", "x");
  for (let round = 0; round < 20; round++) {
    const key = freshKey();
    const edit = { path: "f", old_text: "x", new_text: "xy" };
    const first = sandbox.change("edit", edit, { key }).catch(() => null);
    if (round % 2 === 0) await abort(stub());
    await first;
    if (round % 2 === 1) await abort(stub());
    await sandbox.change("edit", edit, { key });
    expect(await text("f")).toBe("xy");
    await put("f", "x");
  }
});

test("TB-29: outcomes are forgotten after a day by the alarm, and the instance changes with them", async () => {
  const { stub, sandbox, run, raw, put } = fresh();
  const execId = freshKey();
  await run("echo x", { execId });
  await put("kept", "y");
  const before = await sandbox.instance();
  await runInDurableObject(stub(), (_, state) => {
    state.storage.sql.exec("UPDATE commands SET started_at = 0");
    state.storage.sql.exec("UPDATE outcomes SET at = 0");
  });
  expect(await runDurableObjectAlarm(stub())).toBe(true);
  const response = await raw("GET", `/exec/${execId}?after=0`);
  expect(response.status).toBe(404);
  expect(response.headers.get("Sandbox-Instance")).not.toBe(before);
  expect((await raw("GET", "/file/workspace/kept")).status).toBe(200);
  await runInDurableObject(stub(), async (_, state) => {
    expect(await state.storage.getAlarm()).toBeNull();
  });
});

test("TB-28: ids that are not base32 and unknown routes are refused before any object is made", async () => {
  const send = (method: string, path: string) =>
    worker.default.fetch(new Request(`http://s${path}`, { method }));
  expect((await send("GET", "/v1/sandbox/NOT.BASE32/running")).status).toBe(400);
  expect((await send("GET", `/v1/sandbox/${"a".repeat(129)}/running`)).status).toBe(400);
  expect((await send("GET", "/elsewhere")).status).toBe(404);
  expect(await (await send("GET", "/health")).json()).toEqual({ ok: true });
  const made = await send("POST", "/v1/sandbox");
  expect(await made.json()).toEqual({ id: expect.stringMatching(/^[a-z2-7]{32}$/) });
});

test("toolboxes §6: a jurisdiction may stand before an id and names another sandbox; any other prefix is refused", async () => {
  const id = "a".repeat(52);
  const send = (sandbox: string, init?: RequestInit): Promise<Response> =>
    worker.default.fetch(new Request(`http://s/v1/sandbox/${sandbox}/file/workspace/note`, init));
  expect((await send(`eu-${id}`, { method: "PUT", body: "European" })).status).toBe(200);
  expect(await (await send(`eu-${id}`)).text()).toBe("European");
  for (const other of [id, `us-${id}`]) expect((await send(other)).status, other).toBe(404);
  for (const bad of [`xx-${id}`, `EU-${id}`, "eu-", `eu-us-${id}`, `-${id}`])
    expect((await send(bad)).status, bad).toBe(400);
});
