import { packTar, unpackTar } from "modern-tar";
import { expect, test } from "vitest";
import { line } from "../support/worker/sandbox.ts";
import type { Answer, Session } from "../support/worker/session.ts";
import { api, create, request } from "../support/worker/session.ts";

/** A workspace as a tar archive over HTTP, both ways (AP-45). */

const archiveOf = async (
  ...files: readonly (readonly [string, string])[]
): Promise<Uint8Array<ArrayBuffer>> =>
  Uint8Array.from(
    await packTar(files.map(([name, body]) => ({ header: { name, size: body.length }, body }))),
  );

const unpack = (
  { id }: Session,
  raw: BodyInit,
  headers: Record<string, string> = {},
  query = "?format=tar",
): Promise<Answer> => api("PUT", `/sessions/${id}/workspace${query}`, { raw, headers });

const pack = async ({ id }: Session, path = ""): Promise<readonly unknown[]> => {
  const answer = await request("GET", `/sessions/${id}/workspace${path}?format=tar`);
  expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, "application/x-tar"]);
  const entries = await unpackTar(await answer.arrayBuffer());
  return entries.map(({ header, data }) => [header.name, new TextDecoder().decode(data)]);
};

const changes = async (session: Session): Promise<readonly unknown[]> =>
  (await session.events())
    .filter(({ type }) => type === "file_change")
    .map(({ data }) => [(data as { path: string }).path, (data as { tool: string | null }).tool]);

test("AP-45 AP-4: a session without a workspace is an empty archive, and no sandbox is asked", async () => {
  const session = await create("files");
  expect(await pack(session)).toEqual([]);
  expect((await session.call("GET", "/workspace/a?format=tar")).status).toBe(404);
  expect(await line("asked", session)).toBe(0);
});

test("AP-45: an archive is unpacked, each file told as a person's change, and packed again, whole and by folder", async () => {
  const session = await create("files");
  const files = [
    ["a", "one"],
    ["in/b", "two"],
  ] as const;
  const done = await unpack(session, await archiveOf(...files));
  expect(done).toMatchObject({ status: 201, body: { path: ".", changed: 2, seq: 3 } });
  expect(await changes(session)).toEqual([
    ["a", null],
    ["in/b", null],
  ]);
  expect(await pack(session)).toEqual([files[0], ["in/", ""], files[1]]);
  expect(await pack(session, "/in")).toEqual([["b", "two"]]);
  expect((await session.call("GET", "/workspace/a?format=tar")).status).toBe(409);
  await session.quiet();
});

test("★ AP-45: a refused entry ends it with its name; those before it stay and are told", async () => {
  const session = await create("files");
  const refused = await unpack(session, await archiveOf(["a", "1"], ["../x", "2"], ["b", "3"]));
  expect(refused).toMatchObject({ status: 400, body: { code: "invalid_request" } });
  expect(refused.body["detail"]).toContain("../x");
  await expect.poll(() => changes(session)).toEqual([["a", null]]);
  expect(await pack(session)).toEqual([["a", "1"]]);
  const cut = (await archiveOf(["c", "1"])).slice(0, 512);
  expect((await unpack(session, cut)).body["detail"]).toContain("not a complete tar archive");
  expect((await unpack(session, "x", {}, "")).body["detail"]).toContain("format=tar");
  await session.quiet();
});

test("AP-6 AP-45: an archive is unpacked once per key; another one with its key is refused", async () => {
  const session = await create("files");
  const keyed = { "Idempotency-Key": "k" };
  const archive = await archiveOf(["a", "1"]);
  const first = await unpack(session, archive, keyed);
  const again = await unpack(session, archive, keyed);
  expect([again.body, again.headers.get("Idempotent-Replayed")]).toEqual([first.body, "true"]);
  expect(await unpack(session, await archiveOf(["b", "1"]), keyed)).toMatchObject({
    status: 422,
    body: { code: "idempotency_key_reused" },
  });
  expect(await changes(session)).toEqual([["a", null]]);
  await session.quiet();
});

test("★ AP-6 AP-45: an archive that was unpacked in part is no answer to its key: sent again, the rest of it comes", async () => {
  const keyed = { "Idempotency-Key": "k" };
  const archive = await archiveOf(["a", "1"], ["b", "2"]);
  const broken = [archive.slice(0, 1_536), await archiveOf(["a", "1"], ["../x", "2"])];
  for (const first of broken) {
    const session = await create("files");
    expect((await unpack(session, first, keyed)).status).toBe(400);
    await expect.poll(() => changes(session)).toEqual([["a", null]]);
    expect(await unpack(session, archive, keyed)).toMatchObject({ body: { changed: 2 } });
    const replayed = await unpack(session, archive, keyed);
    expect([replayed.body["changed"], replayed.headers.get("Idempotent-Replayed")]).toEqual([2, "true"]);
    expect(await pack(session)).toEqual([
      ["a", "1"],
      ["b", "2"],
    ]);
    await session.quiet();
  }
});
