import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { sha256Hex } from "../../src/sandbox/sha256.ts";
import { line } from "../support/worker/sandbox.ts";
import type { Answer, Sent, Session } from "../support/worker/session.ts";
import { api, create, request } from "../support/worker/session.ts";
import { pngOf } from "../support/images.ts";

/** Uploads over HTTP: forms and raw bodies, kept with the session (AP-45). */

const upload = ({ id }: Session, query: string, sent: Sent): Promise<Answer> =>
  api("POST", `/sessions/${id}/files${query}`, sent);

const raw = (session: Session, text: string, query = "?name=a.txt", headers: Record<string, string> = {}) =>
  upload(session, query, { raw: text, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } });

const form = (fields: Readonly<Record<string, string | File>>): Sent => {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  return { raw: body };
};

const textFile = (text: string): File => new File([text], "notes.md", { type: "text/markdown" });

const refusal = async (answer: Promise<Answer>): Promise<unknown> => {
  const { status, body } = await answer;
  const [error] = (body["errors"] ?? []) as readonly { readonly pointer: string }[];
  return [status, body["code"], error?.pointer];
};

const bytesOf = ({ id }: Session, file: string | undefined): Promise<Response> =>
  request("GET", `/sessions/${id}/files/${file}?format=bytes`);

test("AP-45: a form and a raw body are kept with their names and types, shown, listed and given back", async () => {
  const session = await create("files");
  const whole = { name: "notes.md", media_type: "text/markdown", size: 6, sha256: sha256Hex("Tides.") };
  const first = await upload(session, "", form({ file: textFile("Tides.") }));
  expect(first).toMatchObject({ status: 201, body: { ...whole, seq: 1 } });
  const second = await raw(session, "Sand.");
  expect(second.body).toMatchObject({ name: "a.txt", media_type: "text/plain", size: 5 });
  const renamed = await upload(session, "", form({ file: textFile("Tides."), name: "other.md" }));
  expect(renamed.body).toMatchObject({ ...whole, name: "other.md" });
  const { data = [] } = (await session.call("GET", "/files")).body as { data?: readonly { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual([first, second, renamed].map(({ body }) => body["id"]));
  expect((await session.call("GET", `/files/${first.body["id"]}`)).body).toMatchObject(whole);
  await session.evict();
  const bytes = await bytesOf(session, first.body["id"]);
  expect([bytes.headers.get("Content-Type"), bytes.headers.get("ETag"), await bytes.text()]).toEqual([
    "text/markdown",
    `"${sha256Hex("Tides.")}"`,
    "Tides.",
  ]);
  expect((await bytesOf(session, "file_99")).status).toBe(404);
  expect(await line("asked", session)).toBe(0);
});

test("AP-45: a file whose sender names no type has that of its name's end", async () => {
  const session = await create("files");
  const unnamed = { "Content-Type": "application/x-www-form-urlencoded" };
  const types = async (name: string, headers?: Record<string, string>): Promise<unknown> =>
    (await raw(session, "x", `?name=${name}`, headers)).body["media_type"];
  expect(await types("notes.MD", unnamed)).toBe("text/markdown");
  expect(await types("notes.bin", unnamed)).toBe("application/octet-stream");
  expect(await types("notes.md")).toBe("text/plain");
});

test("AP-45: with a path it is put into the workspace too, as a person's change; a refused path keeps nothing", async () => {
  const session = await create("files");
  const placed = await upload(session, "", form({ file: textFile("Tides."), path: "in/notes.md" }));
  expect(placed).toMatchObject({ status: 201, body: { name: "notes.md", seq: 2 } });
  expect(await (await request("GET", `/sessions/${session.id}/workspace/in/notes.md`)).text()).toBe("Tides.");
  expect(await refusal(raw(session, "x", "?name=x&path=in"))).toEqual([409, "conflict", undefined]);
  expect(await refusal(raw(session, "x", "?name=x&path=..%2Fx"))).toEqual([400, "invalid_request", "/path"]);
  expect((await session.call("GET", "/files")).body["data"]).toHaveLength(1);
  const told = (await session.events()).filter(({ type }) => type === "file_change");
  expect(told).toMatchObject([{ data: { path: "in/notes.md", op: "create", tool: null } }]);
  await session.quiet();
});

test("AP-6 AP-45: an upload is repeated under its key without a second file or change", async () => {
  const session = await create("files");
  const send = (text: string) => raw(session, text, "?name=a&path=a", { "Idempotency-Key": "k" });
  const first = await send("one");
  const again = await send("one");
  expect([again.body, again.headers.get("Idempotent-Replayed")]).toEqual([first.body, "true"]);
  expect(await refusal(send("two"))).toEqual([422, "idempotency_key_reused", undefined]);
  expect((await session.call("GET", "/files")).body["data"]).toHaveLength(1);
  expect((await session.events()).map(({ type }) => type)).toEqual(["session_created", "file_change"]);
});

test("AP-45 AP-8: no name, no file, an unknown field, a broken form, over 8 MiB: refused with what to do", async () => {
  const session = await create("files");
  expect(await refusal(raw(session, "x", ""))).toEqual([400, "invalid_request", "/name"]);
  expect(await refusal(raw(session, "x", "?name="))).toEqual([400, "invalid_request", "/name"]);
  expect(await refusal(raw(session, "x", "?name=a&mode=1"))).toEqual([400, "invalid_request", "/mode"]);
  expect(await refusal(upload(session, "", form({ name: "a" })))).toEqual([400, "invalid_request", "/file"]);
  expect(await refusal(upload(session, "", form({ file: "text" })))).toEqual([
    400,
    "invalid_request",
    "/file",
  ]);
  expect(await refusal(upload(session, "", form({ file: textFile("x"), mode: "1" })))).toEqual([
    400,
    "invalid_request",
    "/mode",
  ]);
  const broken = { raw: "nothing", headers: { "Content-Type": "multipart/form-data; boundary=x" } };
  expect(await refusal(upload(session, "", broken))).toEqual([400, "invalid_request", undefined]);
  const unbounded = { raw: "nothing", headers: { "Content-Type": "multipart/form-data" } };
  expect(await refusal(upload(session, "", unbounded))).toEqual([400, "invalid_request", undefined]);
  const most = 8 * 1024 * 1024;
  expect((await raw(session, "x".repeat(most))).status).toBe(201);
  expect(await refusal(raw(session, "x".repeat(most + 1)))).toEqual([413, "payload_too_large", undefined]);
  const long = form({ file: textFile("x".repeat(most + 1)) });
  expect(await refusal(upload(session, "", long))).toEqual([413, "payload_too_large", undefined]);
});

test("AP-6 AP-45: a key that was used for a file in another place, and parameters beside a form, are refused and change nothing", async () => {
  const session = await create("files");
  const send = (path: string) => raw(session, "abc", `?name=n&path=${path}`, { "Idempotency-Key": "k" });
  expect((await send("p")).status).toBe(201);
  expect(await refusal(send("other"))).toEqual([422, "idempotency_key_reused", undefined]);
  expect((await session.call("GET", "/workspace/other")).status).toBe(404);
  expect((await send("p")).headers.get("Idempotent-Replayed")).toBe("true");
  const matched = { "If-Match": `"${sha256Hex("abc")}"` };
  expect((await raw(session, "two", "?name=n&path=p", matched)).status).toBe(400);
  expect(await (await request("GET", `/sessions/${session.id}/workspace/p`)).text()).toBe("abc");
  const beside = upload(session, "?path=in/x", form({ file: textFile("x") }));
  expect(await refusal(beside)).toEqual([400, "invalid_request", "/path"]);
});

test("★ AP-45: what is refused of an upload with a path changes no file: its name, its type, a session that is full", async () => {
  const session = await create("files");
  const typed = (type: string, query: string) => raw(session, "x", query, { "Content-Type": type });
  expect(await refusal(raw(session, "x", "?name=&path=a"))).toEqual([400, "invalid_request", "/name"]);
  expect(await refusal(raw(session, "x", "?path=a"))).toEqual([400, "invalid_request", "/name"]);
  expect(await refusal(raw(session, "x", `?name=${"n".repeat(256)}&path=a`))).toEqual([
    400,
    "invalid_request",
    "/name",
  ]);
  expect(await refusal(typed(`text/${"p".repeat(300)}`, "?name=a&path=a"))).toEqual([
    400,
    "invalid_request",
    "/media_type",
  ]);
  for (let count = 0; count < 100; count += 1) expect((await raw(session, "x")).status).toBe(201);
  expect(await refusal(raw(session, "x", "?name=a&path=a"))).toEqual([409, "conflict", undefined]);
  expect((await session.events()).filter(({ type }) => type === "file_change")).toEqual([]);
  expect(await line("asked", session)).toBe(0);
});

test("★ AP-45: an upload that holds a secret of the deployment is refused before it changes a file, whatever its place in the bytes", async () => {
  const session = await create("files");
  const secret = "lk_admin_test_key_for_the_worker_tests_only";
  for (const before of ["", "x", "xy"]) {
    expect(await refusal(raw(session, `${before}${secret}`, "?name=a&path=a"))).toEqual([
      400,
      "invalid_request",
      "/data",
    ]);
    const sent = form({ file: textFile(`${before}${secret}`), path: "a" });
    expect(await refusal(upload(session, "", sent))).toEqual([400, "invalid_request", "/data"]);
  }
  expect((await session.events()).filter(({ type }) => type === "file_change")).toEqual([]);
  expect(await line("asked", session)).toBe(0);
  expect((await raw(session, "x", "?name=a&path=a")).status).toBe(201);
});

/** Counts the rows that work reads from a session's storage. */
const countReads = async ({ stub }: Session, work: () => Promise<unknown>): Promise<number> => {
  const cursors: { readonly rowsRead: number }[] = [];
  const restore = await runInDurableObject(stub(), (_, { storage: { sql } }) => {
    const shared = Object.getPrototypeOf(sql) as {
      exec: (...args: never[]) => { readonly rowsRead: number };
    };
    const { exec } = shared;
    shared.exec = function counted(this: object, ...args: never[]) {
      const cursor = exec.apply(this, args);
      if (this === sql) cursors.push(cursor);
      return cursor;
    };
    return () => {
      shared.exec = exec;
    };
  });
  await work();
  restore();
  return cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
};

test("AP-45: an old picture of a long session, and an id that nothing has, cost as few reads as in a short one", async () => {
  const session = await create("text");
  const say = async (content: unknown): Promise<void> => {
    expect((await session.call("POST", "/messages", { body: { content } })).status).toBe(202);
    await session.quiet();
  };
  await say([{ type: "image", media_type: "image/png", name: "sea.png", data: pngOf(9, 9) }]);
  const { data = [] } = (await session.call("GET", "/messages")).body as {
    readonly data?: readonly { readonly parts: readonly { readonly blob?: string }[] }[];
  };
  const blob = data[0]?.parts[0]?.blob;
  const picture = async (): Promise<void> => {
    const read = await bytesOf(session, blob);
    expect([read.status, read.headers.get("Content-Type")]).toEqual([200, "image/png"]);
    expect(Buffer.from(await read.arrayBuffer()).toString("base64")).toBe(pngOf(9, 9));
  };
  const nothing = async (): Promise<void> => {
    expect((await bytesOf(session, "m77")).status).toBe(404);
  };
  const costs = async () => [await countReads(session, picture), await countReads(session, nothing)];
  const early = await costs();
  for (let count = 0; count < 3; count += 1) await say(`Word ${count}`);
  expect(await costs()).toEqual(early);
});

test("AP-8 AP-45: a file in a content coding is refused however it is sent: its bytes would be kept as the file", async () => {
  const session = await create("files");
  const sent = { raw: "x", headers: { "Content-Encoding": "gzip" } };
  const at = `/sessions/${session.id}`;
  const answers = [
    await api("PUT", `${at}/workspace/a`, sent),
    await api("PUT", `${at}/workspace?format=tar`, sent),
    await api("POST", `${at}/files?name=a`, sent),
  ];
  expect(answers.map(({ body }) => body["code"])).toEqual(Array(3).fill("unsupported_media_type"));
  const plain = { raw: "x", headers: { "Content-Encoding": "Identity" } };
  expect((await api("PUT", `${at}/workspace/a`, plain)).status).toBe(201);
});
