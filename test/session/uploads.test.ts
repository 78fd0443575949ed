import { expect, test } from "vitest";
import { refused, say } from "../engine/harness.ts";
import { sha256Hex } from "../../src/sandbox/sha256.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { chatOf, childIds, crew, delegate, member, passTurns } from "../support/crew.ts";
import { insist } from "../support/power-cut.ts";
import { done, replies, said, scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { jpeg, pngOf } from "../support/images.ts";

/** Files that are kept with a session and named by parts of inputs (AP-45, AP-18). */

const open = async (...each: readonly string[]): Promise<Bench> => {
  const bench = openBench({ engine: await engineOf(scripted(replies(...each)).replace("[probe]", "[]")) });
  bench.ok("create");
  return bench;
};

const file = (text: string, name = "notes.md", media_type = "text/markdown") => ({
  name,
  media_type,
  data: Buffer.from(text).toString("base64"),
  size: Buffer.byteLength(text),
  sha256: sha256Hex(text),
});

test("AP-45 AP-18: a part names a kept file; its bytes are stored once", async () => {
  const bench = await open(done, done);
  const { id } = bench.ok("upload", file("Tides first."));
  const blobs = bench.rows("blobs").length;
  await say(bench, "Hi", { content: [{ type: "document", file: id }] });
  await say(bench, "Hi", { content: [{ type: "document", file: id, name: "mine.md" }] });
  const parts = bench.requests.map(({ messages }) => messages.at(-1)?.parts.at(-1));
  expect(parts).toEqual([
    expect.objectContaining({ type: "document", media_type: "text/markdown", name: "notes.md" }),
    expect.objectContaining({ type: "document", media_type: "text/markdown", name: "mine.md" }),
  ]);
  expect(bench.rows("blobs")).toHaveLength(blobs);
  const [said] = bench.chat();
  const [part] = said?.parts ?? [];
  const blob = part?.type === "document" ? part.blob : undefined;
  expect(bench.ok("read_upload", { file: blob })).toMatchObject({ id, name: "notes.md" });
});

test("AP-45 AP-18: a part with a file that is not kept, of another kind, or with two sources is refused by its field", async () => {
  const bench = await open(done);
  const { id } = bench.ok("upload", file("x", "x.bin", "application/octet-stream"));
  const problem = (...content: readonly object[]): unknown => {
    const { code, errors } = refused(bench, "send", { content });
    return [code, errors?.[0]?.pointer];
  };
  const text = { type: "text", text: "Hi" };
  expect(problem(text, { type: "document", file: "file_9" })).toEqual(["not_found", "/content/1/file"]);
  expect(problem({ type: "document", file: id })).toEqual([
    "unsupported_media_type",
    "/content/0/media_type",
  ]);
  expect(problem({ type: "image", file: id, url: "https://example.com/x.png" })).toEqual([
    "invalid_request",
    "/content/0",
  ]);
  bench.ok("send", { content: [{ type: "document", file: id, media_type: "text/plain" }] });
});

test("AP-45 SE-45: an attachment that no kept file holds is read by its blob, in a fork too", async () => {
  const engine = await engineOf(scripted(replies(done)).replace("[probe]", "[]"));
  const bench = openBench({ engine });
  bench.ok("create");
  const { data, size, sha256 } = file("Tides first.");
  const sent = { type: "document", media_type: "text/plain", data, name: "tides.txt" };
  await say(bench, "Hi", { content: [sent] });
  const part = bench.chat()[0]?.parts[0];
  const blob = part?.type === "document" ? part.blob : undefined;
  const fork = openBench({ engine, id: "s_bbbbbbbbbbbbbbbbbbbbbbbbbb", source: bench });
  fork.ok("fork", { source: bench.id, at: bench.state().head });
  for (const each of [bench, fork]) {
    const shown = { id: blob, name: "tides.txt", media_type: "text/plain", size, sha256 };
    expect(each.ok("read_upload", { file: blob })).toMatchObject(shown);
    expect(each.ok("read_upload", { file: blob, format: "bytes" })).toMatchObject({ ...shown, data });
    expect(refused(each, "read_upload", { file: "m99" }).code).toBe("not_found");
    expect(each.ok("uploads")["data"]).toEqual([]);
  }
});

test("AP-45 AG-18: what was sent to a called agent is read by its blob, also after it ended", async () => {
  const made = await crew([
    member("lead", [said(delegate("coder")), done]),
    member("coder", [said(["look", {}]), done]),
  ]);
  const { bench } = made;
  bench.send("Go");
  await passTurns(made, 1);
  const [coder = ""] = childIds(made);
  const { data, size, sha256 } = file("Tides first.");
  const sent = { type: "document", media_type: "text/plain", data, name: "tides.txt" };
  bench.ok("send", { content: [sent], thread: coder, on_busy: "steer" });
  bench.release();
  await bench.idle();
  const part = chatOf(made, coder)
    .flatMap(({ parts }) => parts)
    .find(({ type }) => type === "document");
  const blob = part?.type === "document" ? part.blob : undefined;
  expect(bench.state().threads[coder]).toBeUndefined();
  const shown = { id: blob, name: "tides.txt", media_type: "text/plain", size, sha256 };
  expect(bench.ok("read_upload", { file: blob, format: "bytes" })).toMatchObject({ ...shown, data });
});

test("AP-45: a session keeps 100 files, listed in order, each readable by its bytes", async () => {
  const bench = await open(done);
  for (let n = 0; n < 100; n++) bench.ok("upload", file(`text ${n}`, `f${n}`));
  expect(refused(bench, "upload", file("one more")).code).toBe("conflict");
  const { data, next_cursor: cursor } = bench.ok("uploads", { limit: 60 });
  const rest = bench.ok("uploads", { limit: 60, cursor })["data"] ?? [];
  const names = [...(data ?? []), ...rest].map(({ name }: { name: string }) => name);
  expect(names).toEqual(Array.from({ length: 100 }, (_, n) => `f${n}`));
  const id: string | undefined = (rest[0] as { id: string } | undefined)?.id;
  expect(bench.ok("read_upload", { file: id, format: "bytes" })).toMatchObject({
    name: "f60",
    data: file("text 60").data,
  });
  expect(bench.ok("read_upload", { file: id })).not.toHaveProperty("data");
  expect(refused(bench, "read_upload", { file: "file_0" }).code).toBe("not_found");
});

test("AP-45: a file of 8 MiB is kept over a crash; one byte more, or bytes that are no base64, are refused", async () => {
  const bench = await open(done);
  const long = "é".repeat(4 * 1024 * 1024);
  const { id } = bench.ok("upload", file(long));
  bench.crash();
  expect(bench.ok("read_upload", { file: id, format: "bytes" })).toMatchObject({ data: file(long).data });
  expect(refused(bench, "upload", file(`${long}!`)).code).toBe("invalid_request");
  expect(refused(bench, "upload", { ...file("x"), data: "?" }).code).toBe("invalid_request");
});

test("★ AP-45: the power cut at every write: a file under one key is kept once, with all its bytes", async () => {
  for (let cut = 1; cut <= 8; cut++) {
    const bench = await open(done);
    bench.cutAt(cut);
    const { id } = insist(bench, "upload", file("x".repeat(1_200_000)), "k");
    expect(bench.ok("uploads")["data"], `cut at ${cut}`).toHaveLength(1);
    expect(bench.ok("read_upload", { file: id, format: "bytes" })["data"], `cut at ${cut}`).toHaveLength(
      1_600_000,
    );
  }
});

test("MO-4: an image is taken as what its bytes are, whatever its name and media type say", async () => {
  const bench = await open(done);
  const { id } = bench.ok("upload", { ...file("", "crab.png", "image/png"), data: jpeg });
  for (const source of [
    { media_type: "image/png", data: jpeg },
    { data: `data:image/png;base64,${jpeg}` },
    { data: jpeg },
    { file: id },
  ]) {
    await say(bench, "Hi", { content: [{ type: "image", ...source }] });
    const sent = bench.chat().findLast(({ role }) => role === "user");
    expect(sent?.parts).toMatchObject([{ type: "image", media_type: "image/jpeg" }]);
  }
});

test("MO-4: an image that no provider would take is refused with what can be sent, and nothing is stored", async () => {
  const bench = await open(done);
  const upload = (data: string): unknown =>
    bench.ok("upload", { ...file("", "crab.png", "image/png"), data })["id"];
  const wide = pngOf(12_000, 9_000);
  const heavy = `${pngOf(1, 1)}${"A".repeat(5 * 1024 * 1024)}`;
  const files = { text: upload(file("hello").data), wide: upload(wide), heavy: upload(heavy) };
  const before = bench.state();
  const problem = (source: object): unknown => {
    const { code, errors } = refused(bench, "send", {
      content: [{ type: "image", media_type: "image/png", ...source }],
    });
    return [code, errors?.[0]?.pointer, errors?.[0]?.message];
  };
  const advice = "Use a PNG, JPEG, GIF or WebP image of at most 3932160 bytes and 8000 pixels a side.";
  const cases = [
    [{ data: file("hello").data, file: files.text }, "Its header cannot be read"],
    [{ data: wide, file: files.wide }, "It is more than 8000 pixels wide or high"],
    [{ data: heavy, file: files.heavy }, "It is larger than 3932160 bytes"],
  ] as const;
  for (const [{ data, file: kept }, why] of cases) {
    const says = `${why}, so it cannot be shown. ${advice}`;
    expect(problem({ data })).toEqual(["unsupported_media_type", "/content/0/data", says]);
    expect(problem({ file: kept })).toEqual(["unsupported_media_type", "/content/0/file", says]);
  }
  expect(bench.state()).toEqual(before);
});

test("AP-18: a data URL may leave out its media type, and hold its text as it is (RFC 2397)", async () => {
  const bench = await open(done);
  const givenAs = async (part: object): Promise<readonly [string, string]> => {
    await say(bench, "Hi", { content: [part] });
    const sent = bench
      .chat()
      .findLast(({ role }) => role === "user")
      ?.parts.at(-1);
    const [type, blob] =
      sent?.type === "document" || sent?.type === "image" ? [sent.media_type, sent.blob] : [];
    return [type ?? "", String(Buffer.from(bench.requests.at(-1)?.media(blob ?? "") ?? "", "base64"))];
  };
  for (const [data, type, text] of [
    ["data:,hello%20tides%2C%20100%25", "text/plain", "hello tides, 100%"],
    ["data:;base64,aGVsbG8=", "text/plain", "hello"],
    ["data:;BASE64,aGVsbG8%3D", "text/plain", "hello"],
    ["data:;charset=utf-8,tidé", "text/plain", "tidé"],
    ["data:text/csv,a;b", "text/csv", "a;b"],
    ["data:Text/CSV;base64,aGVsbG8=", "text/csv", "hello"],
  ])
    expect([data, ...(await givenAs({ type: "document", data }))]).toEqual([data, type, text]);
  const typed = { type: "document", media_type: "text/html", data: "data:;base64,aGVsbG8=" };
  expect(await givenAs(typed)).toEqual(["text/html", "hello"]);
  const problem = (data: string): unknown => {
    const { code, errors } = refused(bench, "send", { content: [{ type: "document", data }] });
    return [code, errors?.[0]?.pointer, errors?.[0]?.message];
  };
  expect(problem("data:,100%")).toEqual([
    "invalid_request",
    "/content/0/data",
    "not a data URL: write % as %25, and other bytes than those of UTF-8 as base64",
  ]);
  expect(problem("data:;base64,hello tides")).toEqual(["invalid_request", "/content/0/data", "not base64"]);
});
