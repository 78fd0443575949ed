import { runDurableObjectAlarm } from "cloudflare:test";
import { packTar } from "modern-tar";
import { expect, test } from "vitest";
import { allScopes } from "../../src/session/rpc.ts";
import type { SessionRpc } from "../../src/session/rpc.ts";
import { sha256Hex } from "../../src/sandbox/sha256.ts";
import { endKeyIn, line, placeSkillIn, writeUnder } from "../support/worker/sandbox.ts";
import type { Answer, Sent, Session } from "../support/worker/session.ts";
import { api, create, request, sessionOf } from "../support/worker/session.ts";

/** Files of a workspace over HTTP (AP-45). */

const at = ({ id }: Session, path: string): string => `/sessions/${id}/workspace${path}`;

const put = (session: Session, path: string, raw: BodyInit, more: Sent = {}): Promise<Answer> =>
  api("PUT", at(session, path), { raw, ...more });

const get = (session: Session, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  request("GET", at(session, path), { headers });

const changes = async (session: Session): Promise<readonly unknown[]> =>
  (await session.events())
    .filter(({ type }) => type === "file_change")
    .map(({ data }) => {
      const { path, op, tool } = data as Record<string, unknown>;
      return [path, op, tool];
    });

const refusal = async (answer: Promise<Answer>): Promise<unknown> => {
  const { status, body } = await answer;
  return [status, body["code"]];
};

test("AP-45 AP-4: reading asks no sandbox of a session that never had one", async () => {
  const session = await create("files");
  expect((await session.call("GET", "/workspace")).body).toEqual({
    data: [],
    next_cursor: null,
    prev_cursor: null,
  });
  expect(await session.call("GET", "/workspace/a/b")).toMatchObject({
    status: 404,
    body: { code: "not_found", errors: [{ pointer: "/path" }] },
  });
  expect(await line("asked", session)).toBe(0);
});

test("AP-45 AP-5: a file is written, read whole and in part, listed and deleted, and each change is told", async () => {
  const session = await create("files");
  const bytes = new Uint8Array(300_000).map((_, index) => index % 251);
  const etag = `"${sha256Hex(bytes)}"`;
  const written = await put(session, "/in%20here/ü.bin", bytes);
  expect(written).toMatchObject({
    status: 201,
    body: { path: "in here/ü.bin", size: 300_000, sha256: sha256Hex(bytes), seq: 2 },
  });
  expect(written.headers.get("ETag")).toBe(etag);
  const whole = await get(session, "/in%20here/ü.bin");
  expect(whole.headers.get("ETag")).toBe(etag);
  expect(whole.headers.get("Content-Type")).toBe("application/octet-stream");
  expect(new Uint8Array(await whole.arrayBuffer())).toEqual(bytes);
  const part = await get(session, "/in%20here/ü.bin", { Range: "bytes=10-19" });
  expect([part.status, part.headers.get("Content-Range")]).toEqual([206, "bytes 10-19/300000"]);
  expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(10, 20));
  const beyond = await get(session, "/in%20here/ü.bin", { Range: "bytes=300000-" });
  expect([beyond.status, beyond.headers.get("Content-Range")]).toEqual([416, "bytes */300000"]);
  const turned = await get(session, "/in%20here/ü.bin", { Range: "bytes=19-10" });
  expect(turned.status, "no range at all").toBe(200);
  expect((await get(session, "/in%20here/ü.bin", { Range: "lines=1-2" })).status).toBe(200);
  expect((await request("HEAD", at(session, "/in%20here/ü.bin"))).headers.get("ETag")).toBe(etag);
  expect((await put(session, "/in%20here/a", "")).status).toBe(201);
  const listed = [
    { name: "a", type: "file", size: 0 },
    { name: "ü.bin", type: "file", size: 300_000 },
  ];
  expect((await session.call("GET", "/workspace/in%20here")).body["data"]).toEqual(listed);
  expect((await session.call("GET", "/workspace/in%20here/a/b")).status).toBe(404);
  expect((await session.call("GET", "/workspace")).body["data"]).toEqual([
    { name: "in here", type: "directory", size: 0 },
  ]);
  const first = (await session.call("GET", "/workspace/in%20here?limit=1")).body;
  const next = `/workspace/in%20here?limit=1&cursor=${first["next_cursor"]}`;
  expect([first["data"], (await session.call("GET", next)).body["data"]]).toEqual([[listed[0]], [listed[1]]]);
  expect(await refusal(session.call("DELETE", "/workspace/in%20here"))).toEqual([409, "conflict"]);
  const deleted = await session.call("DELETE", "/workspace/in%20here?recursive=true");
  expect(deleted).toMatchObject({ status: 200, body: { path: "in here", seq: 5 } });
  expect(await refusal(session.call("DELETE", "/workspace/in%20here"))).toEqual([404, "not_found"]);
  expect(await changes(session)).toEqual([
    ["in here/ü.bin", "create", null],
    ["in here/a", "create", null],
    ["in here/a", "delete", null],
    ["in here/ü.bin", "delete", null],
  ]);
  await session.quiet();
});

test("AP-45 AG-38: what comes down as an archive goes up again, and nobody sees the team's skills over HTTP", async () => {
  const session = await create("files");
  await put(session, "/a", "1");
  await put(session, "/b", "2");
  await placeSkillIn(session, "refunds/SKILL.md", "Never above 50.");
  const archive = await (await get(session, "?format=tar")).arrayBuffer();
  expect(await put(session, "?format=tar", archive)).toMatchObject({ status: 200 });
  const first = (await session.call("GET", "/workspace?limit=1")).body;
  const next = (await session.call("GET", `/workspace?limit=1&cursor=${first["next_cursor"]}`)).body;
  expect([first, next].map(({ data }) => data)).toEqual(
    ["a", "b"].map((name) => [{ name, type: "file", size: 1 }]),
  );
  expect(next["next_cursor"]).toBeNull();
  const back = (await session.call("GET", `/workspace?limit=1&cursor=${next["prev_cursor"]}`)).body;
  expect(back["data"]).toEqual(first["data"]);
  for (const path of [
    "/.skills",
    "/.skills/refunds/SKILL.md",
    "/a/../.skills/refunds",
    "/.skills?format=tar",
  ])
    expect((await session.call("GET", `/workspace${path.replace("..", "%2e%2e")}`)).status, path).toBe(404);
  await session.quiet();
});

test("AP-45: a file has any name that a shell can give it, line ends included", async () => {
  const session = await create("files");
  for (const name of ["two%0Alines", "a%20b/%0D", "what%3F%23%25"]) {
    expect((await put(session, `/${name}`, "here")).status, name).toBe(201);
    expect(await (await get(session, `/${name}`)).text(), name).toBe("here");
    expect((await api("DELETE", at(session, `/${name}`))).body, name).toMatchObject({
      path: decodeURIComponent(name),
      changed: 1,
    });
    expect((await get(session, `/${name}`)).status, name).toBe(404);
  }
});

test("★ AP-7 AP-45: pages of a folder lose and repeat nothing while files before them come and go", async () => {
  const session = await create("files");
  for (const name of ["b", "d", "f", "h"]) await put(session, `/dir/${name}`, "x");
  const page = async (query: string) => {
    const { body } = await session.call("GET", `/workspace/dir?${query}`);
    const { data, next_cursor: next, prev_cursor: prev } = body as unknown as Record<string, string>;
    return { names: (data as unknown as { name: string }[]).map(({ name }) => name).join(""), next, prev };
  };
  const first = await page("&limit=2");
  await put(session, "/dir/a", "x");
  await put(session, "/dir/c", "x");
  const second = await page(`&limit=2&cursor=${first.next}`);
  await api("DELETE", at(session, "/dir/b"));
  await api("DELETE", at(session, "/dir/d"));
  expect([first.names, second.names, (await page(`&limit=2&cursor=${first.next}`)).names]).toEqual([
    "bd",
    "fh",
    "fh",
  ]);
  expect((await page(`&limit=2&cursor=${second.prev}`)).names).toBe("ac");
  await put(session, `/dir/${"n".repeat(3_000)}`, "x");
  await put(session, "/dir/z", "x");
  const fifth = await page("&limit=5");
  expect((await page(`&limit=5&cursor=${fifth.next}`)).names).toBe("z");
});

test("AP-45 AP-4: the pages of a folder with more than 10 000 entries name all of them", async () => {
  const session = await create("files");
  const all = Array.from({ length: 10_500 }, (_, at) => `f${String(at).padStart(5, "0")}`);
  for (let from = 0; from < all.length; from += 1_500) {
    const names = all.slice(from, from + 1_500).map((name) => `many/${name}`);
    const entries = names.map((name) => ({ header: { name, size: 0 }, body: "" }));
    const { status } = await put(session, "?format=tar", Uint8Array.from(await packTar(entries)));
    expect(status).toBeLessThan(300);
  }
  const found: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const more = cursor === "" ? "" : `&cursor=${cursor}`;
    const { body } = await session.call("GET", `/workspace/many?limit=200${more}`);
    const page = body as unknown as { data: { name: string }[]; next_cursor: string | null };
    found.push(...page.data.map(({ name }) => name));
    cursor = page.next_cursor;
  }
  expect(found).toEqual(all);
});

test("★ AP-45: an upload, an agent's edit, the download of the new bytes; with the old ETag nothing is changed", async () => {
  const session = await create("files");
  const first = await put(session, "/diary", "mine");
  const old = { headers: { "If-Match": first.headers.get("ETag") ?? "" } };
  await session.send("i1", "the sea");
  await session.settled();
  expect(await (await get(session, "/diary")).text()).toBe("of the sea");
  expect(await refusal(put(session, "/diary", "again", old))).toEqual([412, "precondition_failed"]);
  expect(await refusal(api("DELETE", at(session, "/diary"), old))).toEqual([412, "precondition_failed"]);
  const fresh = { headers: { "If-None-Match": "*" } };
  expect(await refusal(put(session, "/diary", "again", fresh))).toEqual([412, "precondition_failed"]);
  expect(await (await get(session, "/diary")).text()).toBe("of the sea");
  expect(await changes(session)).toEqual([
    ["diary", "create", null],
    ["diary", "modify", "fs_write"],
  ]);
  expect((await put(session, "/diary", "again")).status).toBe(200);
  await session.send("i2", "the land");
  await session.settled();
  expect(JSON.stringify((await session.events()).findLast(({ type }) => type === "tool_call_end"))).toMatch(
    /conflict.*diary was changed by a person/,
  );
  await session.quiet();
});

test("AP-45: a person writes where an agent's rules and writable paths do not let it, but not out of the jail", async () => {
  const session = await create("files");
  for (const path of ["/..%2fx", "/%2fetc%2fpasswd", "/a%00b", "/.git%2fconfig", "/.skills/x"]) {
    expect(await refusal(put(session, path, "x")), path).toEqual([400, "invalid_request"]);
    expect(await refusal(api("DELETE", at(session, path))), path).toEqual([400, "invalid_request"]);
  }
  expect(await refusal(session.call("GET", "/workspace/..%2fx"))).toEqual([400, "invalid_request"]);
  await put(session, "/dir/f", "x");
  expect(await refusal(put(session, "/dir", "x"))).toEqual([409, "conflict"]);
  expect(await refusal(put(session, "/dir/f?mode=1", "x"))).toEqual([400, "invalid_request"]);
  expect(await changes(session)).toEqual([["dir/f", "create", null]]);
  await session.quiet();
});

test("AP-45 AP-8: 32 MiB are taken, announced or not, and one byte more is refused whole", async () => {
  const session = await create("files");
  const most = 32 * 1024 * 1024;
  const chunked = (size: number): ReadableStream<Uint8Array> => {
    const piece = new Uint8Array(1_048_576);
    let left = size;
    return new ReadableStream({
      pull: (controller) => {
        if (left === 0) return controller.close();
        const length = Math.min(left, piece.length);
        left -= length;
        controller.enqueue(piece.slice(0, length));
      },
    });
  };
  expect((await put(session, "/big", chunked(most))).body).toMatchObject({ size: most });
  expect(await refusal(put(session, "/big", chunked(most + 1)))).toEqual([413, "payload_too_large"]);
  expect(await refusal(put(session, "/big", new Uint8Array(most + 1)))).toEqual([413, "payload_too_large"]);
  const whole = await get(session, "/big");
  expect((await whole.arrayBuffer()).byteLength).toBe(most);
  expect(await changes(session)).toEqual([["big", "create", null]]);
  await session.quiet();
});

test("AP-6 AP-45: a repeated change is made and told once; another body with its key is refused", async () => {
  const session = await create("files");
  const keyed = { headers: { "Idempotency-Key": "k" } };
  const both = await Promise.all([put(session, "/a", "one", keyed), put(session, "/a", "one", keyed)]);
  expect(both.map(({ status }) => status)).toEqual([201, 201]);
  const again = await put(session, "/a", "one", keyed);
  expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([201, "true"]);
  expect(again.body).toEqual(both[0]?.body);
  expect(await refusal(put(session, "/a", "two", keyed))).toEqual([422, "idempotency_key_reused"]);
  const gone = await api("DELETE", at(session, "/a"), keyed);
  expect(gone.status).toBe(200);
  await put(session, "/a", "anew");
  expect((await api("DELETE", at(session, "/a"), keyed)).body).toEqual(gone.body);
  expect(await refusal(api("DELETE", at(session, "/a?recursive=true"), keyed))).toEqual([
    422,
    "idempotency_key_reused",
  ]);
  expect(await changes(session)).toEqual([
    ["a", "create", null],
    ["a", "delete", null],
    ["a", "create", null],
  ]);
  await session.quiet();
});

test("AP-45: a workspace that is away is a sandbox_error, and the same request succeeds when it is back", async () => {
  const session = await create("files");
  await line("down", session);
  const keyed = { headers: { "Idempotency-Key": "k" } };
  expect(await refusal(put(session, "/a", "one", keyed))).toEqual([502, "sandbox_error"]);
  await line("up", session);
  expect((await put(session, "/a", "one", keyed)).status).toBe(201);
  await line("down", session);
  expect(await refusal(session.call("GET", "/workspace/a"))).toEqual([502, "sandbox_error"]);
  await line("up", session);
  expect(await changes(session)).toEqual([["a", "create", null]]);
  await session.quiet();
});

test("AP-45: a change without a key that was never sent to its workspace takes no place of those under way", async () => {
  const session = await create("files");
  await line("down", session);
  for (const path of ["/a", "/b"])
    expect(await refusal(put(session, path, "one"))).toEqual([502, "sandbox_error"]);
  await line("up", session);
  const pending = "SELECT state ->> '$.session.fileChanges' AS left FROM threads WHERE id = 'main'";
  expect(await session.sql(pending)).toEqual([{ left: null }]);
  expect(await changes(session)).toEqual([]);
  await session.quiet();
});

test("AP-45: files can be changed while a run works on them", async () => {
  const session = await create("files", "the sea");
  await put(session, "/beside", "x");
  await session.settled();
  expect((await changes(session)).map(String).toSorted()).toEqual([
    "beside,create,",
    "diary,create,fs_write",
  ]);
});

/** Begins a change as the router does, and says under which key, and by which instance, it is to be made. */
const begin = async (
  session: Session,
  path: string,
  key?: string,
): Promise<{ change: string; instance: string }> => {
  const stub = session.stub() as unknown as SessionRpc;
  const principal = { tenant: "default", jurisdiction: null, by: "operator", scopes: allScopes };
  const params = { path, ...(key === undefined ? {} : { key }) };
  const reply = await stub.perform({ principal, session: session.id, op: "write_file", params });
  expect(reply.ok).toBe(true);
  return JSON.parse(reply.ok ? reply.json : "{}") as { change: string; instance: string };
};

test("★ AP-45 TB-12: router and session die around a change: the alarm tells it if it was made, and else it never is", async () => {
  const session = await create("files");
  const [{ change: made }, { change: unmade }] = [
    await begin(session, "made"),
    await begin(session, "unmade"),
  ];
  expect(await writeUnder(session, made, "made", "one")).toBe(200);
  await session.crash();
  const { alarm } = await session.peek();
  expect(alarm).toBeGreaterThan(Date.now());
  expect(alarm).toBeLessThan(Date.now() + 301_000);
  for (const place of [0, 1])
    await session.sql(
      `UPDATE threads SET state = json_set(state, '$.session.fileChanges[${place}].until', 1) WHERE id = 'main'`,
    );
  expect(await runDurableObjectAlarm(session.stub())).toBe(true);
  const pending = "SELECT state ->> '$.session.fileChanges' AS left FROM threads WHERE id = 'main'";
  await expect.poll(() => session.sql(pending)).toEqual([{ left: null }]);
  expect(await changes(session)).toEqual([["made", "create", null]]);
  expect(await writeUnder(session, unmade, "unmade", "late")).toBe(503);
  expect((await get(session, "/unmade")).status).toBe(404);
});

test("★ AP-6 AP-45: a keyed request that meets the end of its own change is told to come again, and then succeeds", async () => {
  const session = await create("files");
  const { change } = await begin(session, "a", "k");
  await endKeyIn(session, change);
  const keyed = { headers: { "Idempotency-Key": "k" } };
  expect(await refusal(put(session, "/a", "one", keyed))).toEqual([503, "overloaded"]);
  await expect.poll(async () => (await put(session, "/a", "one", keyed)).status).toBe(201);
  expect(await changes(session)).toEqual([["a", "create", null]]);
  await session.quiet();
});

test("★ AP-45 RE-P14: a change that comes after its session was deleted reaches no file of the next one of its ref", async () => {
  const body = { agent: "files", ref: "again" };
  const open = async () => sessionOf(String((await api("POST", "/sessions", { body })).body["id"]));
  const first = await open();
  const { change, instance } = await begin(first, "diary");
  expect((await first.call("DELETE")).status).toBe(204);
  expect(await writeUnder(first, change, "diary", "old", instance)).toBe(503);
  const second = await open();
  await put(second, "/other", "new");
  expect(await writeUnder(first, change, "diary", "old", instance)).toBe(503);
  expect((await get(second, "/diary")).status).toBe(404);
  await second.quiet();
});
