import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { depthOf } from "../../src/chat/json.ts";
import { readBody, readPieces, releaseBody } from "../../src/api/body.ts";
import { accepted, anId, problemOf, setUp } from "./harness.ts";

/** What a body may be (AP-8, RE-T27). */

const S = `/v1/sessions/${anId()}`;
const post = (body: BodyInit, headers: Record<string, string> = { "Content-Type": "application/json" }) =>
  new Request("https://limpet.example", { method: "POST", body, headers, duplex: "half" } as RequestInit);
const codeOf = (request: Request, limit = 1000): Promise<string> =>
  readBody(request, limit)
    .then(
      () => "ok",
      (fault: { problem: { code: string } }) => fault.problem.code,
    )
    .finally(() => releaseBody(request));

/** A body in pieces of 1 MiB: how many were read, and whether the rest was refused. */
const pieces = (count: number) => {
  const seen = { pulled: 0, cancelled: false };
  const piece = new Uint8Array(1024 * 1024);
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (seen.pulled === count) return controller.close();
      seen.pulled += 1;
      controller.enqueue(piece);
    },
    cancel() {
      seen.cancelled = true;
    },
  });
  return { seen, stream };
};

test("AP-8: a body over its limit is read to its end before it is refused, so that its sender comes to read why", async () => {
  for (const announced of [{}, { "Content-Length": String(40 * 1024 * 1024) }] as Record<string, string>[]) {
    const { seen, stream } = pieces(40);
    const request = post(stream, { "Content-Type": "application/json", ...announced });
    expect(await codeOf(request)).toBe("payload_too_large");
    expect(seen).toEqual({ pulled: 40, cancelled: false });
  }
});

test("AP-8: of a body without end no more is read than a platform lets through, of one that says so nothing", async () => {
  const endless = pieces(Infinity);
  expect(await codeOf(post(endless.stream))).toBe("payload_too_large");
  expect(endless.seen).toEqual({ pulled: expect.any(Number), cancelled: true });
  expect(endless.seen.pulled).toBeLessThan(105);
  const huge = pieces(Infinity);
  const length = String(100 * 1024 * 1024 + 1);
  const request = post(huge.stream, { "Content-Type": "application/json", "Content-Length": length });
  expect(await codeOf(request)).toBe("payload_too_large");
  expect(huge.seen.pulled).toBeLessThan(3);
});

test("AP-8: commands take 1 MiB, messages 8 MiB", async () => {
  const { call, session } = setUp();
  await session(anId());
  const of = (bytes: number) => JSON.stringify({ content: "x".repeat(bytes - 14) });
  const mebi = 1024 * 1024;
  expect((await call("POST", `${S}/cancel`, of(mebi))).status).toBe(200);
  expect((await call("POST", `${S}/cancel`, of(mebi + 1))).status).toBe(413);
  expect((await call("POST", `${S}/messages`, of(8 * mebi))).status).toBe(200);
  const over = await call("POST", `${S}/messages`, of(8 * mebi + 1));
  expect(over.status).toBe(413);
  expect(await problemOf(over)).toMatchObject({ meta: { limit: 8 * mebi } });
});

test("AP-8: JSON nests 64 levels and no more, brackets in texts aside", async () => {
  const nested = (depth: number) => `{"a":${"[".repeat(depth - 1)}"}}]]{{"${"]".repeat(depth - 1)}}`;
  expect(await codeOf(post(nested(64)))).toBe("ok");
  expect(await codeOf(post(nested(65)))).toBe("invalid_json");
  expect(await codeOf(post("[".repeat(900)))).toBe("invalid_json");
  expect(await codeOf(post("[".repeat(1_000_000)), 2_000_000)).toBe("invalid_json");
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (text) => {
      const depth = (value: unknown): number =>
        typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;
      expect(depthOf(text)).toBe(depth(JSON.parse(text)));
    }),
  );
});

test("AP-8: texts must be well-formed Unicode, and the problem says where one is not", async () => {
  const { call } = setUp();
  const bad = [
    ['{"content":"\\ud800"}', "/content"],
    ['{"a":{"b/c":["x","\\udc00\\ud800"]}}', "/a/b~1c/1"],
    ['{"\\ud83d":1}', ""],
  ] as const;
  for (const [body, pointer] of bad) {
    const response = await call("POST", `${S}/cancel`, body);
    expect(response.status, body).toBe(400);
    expect(await problemOf(response)).toMatchObject({ errors: [{ pointer }] });
  }
  expect(await codeOf(post('{"a":"\\ud83d\\ude00"}'))).toBe("ok");
});

test("AP-8: what is no JSON object of UTF-8 is refused", async () => {
  const invalid = ["{", "{}x", "{'a':1}", "NaN", '{"a":1,}', "\u0000", '{"a":"\n"}'];
  for (const text of invalid) expect(await codeOf(post(text)), text).toBe("invalid_json");
  for (const text of ["[]", "null", "7", '"x"']) expect(await codeOf(post(text))).toBe("invalid_request");
  expect(await codeOf(post(new Uint8Array([0x7b, 0xff, 0x7d])))).toBe("invalid_json");
  expect(await codeOf(post(""))).toBe("ok");
});

test("AP-2: what is no JSON is refused with the line and the column where it stops being any", async () => {
  const { call } = setUp();
  const cases: readonly (readonly [BodyInit, string, number, number])[] = [
    ['{\n  "content": "a",\n  "wait": x\n}', "not JSON", 3, 11],
    ["{", "not JSON", 1, 2],
    ['{"a":1}\n{', "not JSON", 2, 1],
    [`{"a":\n${"[".repeat(64)}${"]".repeat(64)}}`, "nests deeper than 64 levels", 2, 64],
    [new Uint8Array([0x7b, 0x0a, 0x22, 0xc3, 0xbc, 0xff, 0x22, 0x7d]), "not UTF-8", 2, 3],
    [new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0xff]), "not UTF-8", 1, 2],
    [new Uint8Array([0x7b, 0x0a, 0x22, 0x22, 0xef, 0xbf]), "not UTF-8", 2, 4],
    [new Uint8Array([0x7b, 0x22, 0xef, 0xbf, 0xbd, 0x22, 0xc3]), "not UTF-8", 1, 5],
  ];
  for (const [body, what, line, column] of cases) {
    const response = await call("POST", `${S}/cancel`, body);
    expect(response.status).toBe(400);
    expect(await problemOf(response)).toMatchObject({
      code: "invalid_json",
      detail: expect.stringMatching(new RegExp(`${what}.* line ${line}, column ${column}\\b`)),
      meta: { line, column },
    });
  }
});

test("AP-2: an empty body is invalid JSON where one is needed, and nothing where none is", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId());
  const needed = [
    ["POST", `${S}/messages`],
    ["POST", S],
    ["POST", S.replace("/v1", "")],
    ["POST", `${S}/respond`],
    ["POST", `${S}/asks/ask_1`],
    ["POST", "/v1/keys"],
    ["PATCH", `${S}/inputs/in_1`],
    ["PATCH", `${S}/messages/msg_1`],
  ] as const;
  for (const [method, path] of needed) {
    const response = await call(method, path);
    expect(response.status, path).toBe(400);
    expect(await problemOf(response), path).toMatchObject({
      code: "invalid_json",
      detail: expect.stringMatching(/empty.*JSON object.*line 1, column 1\b/),
      meta: { line: 1, column: 1 },
    });
  }
  expect(calls).toEqual([]);
  for (const path of [`${S}/cancel`, `${S}/clear`, `${S}/compact`]) {
    expect((await call("POST", path)).status, path).toBe(200);
  }
  expect((await call("POST", `${S}/tokens`)).status).toBe(201);
  expect((await call("DELETE", S)).status).toBe(200);
});

test("AP-10: another content type or an encoded body is 415", async () => {
  for (const type of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=latin1",
    "application/json; profile=chat; Charset=latin1",
    "application/jsonp",
    "",
  ]) {
    expect(await codeOf(post("{}", { "Content-Type": type })), type).toBe("unsupported_media_type");
  }
  for (const type of [
    "application/json",
    "application/json;charset=UTF-8",
    'application/json; charset="utf-8"',
    "application/json; profile=chat; charset=utf-8",
    "application/json;",
  ]) {
    expect(await codeOf(post("{}", { "Content-Type": type })), type).toBe("ok");
  }
  const gzip = { "Content-Type": "application/json", "Content-Encoding": "gzip" };
  expect(await codeOf(post("{}", gzip))).toBe("unsupported_media_type");
});

test("RE-T15: a field named __proto__ is data like any other", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId());
  await call("POST", `${S}/cancel`, '{"__proto__":{"polluted":1},"constructor":2}');
  const params = Object(calls[0]?.params) as object;
  expect(Object.keys(params).sort()).toEqual(["__proto__", "constructor"]);
  expect(Object.getPrototypeOf(params)).toBe(Object.prototype);
  expect("polluted" in {}).toBe(false);
});

test("RE-9: no body makes the router fail with 5xx", async () => {
  const { call, session } = setUp({ access: { rate_limit: { rpm: 1_000_000 } } });
  await session(anId());
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string({ unit: "binary" }), fc.json(), fc.string()), async (text) => {
      expect((await call("POST", `${S}/cancel`, text)).status).toBeLessThan(500);
    }),
    { numRuns: 2000 },
  );
});

test("★ AP-8 RE-C37: an isolate holds 40 MiB of bodies at once; another one is told to come again, and is taken once they are over", async () => {
  const mebi = 1024 * 1024;
  const body = (count: number) => post(pieces(count).stream);
  const first = [body(32), body(8)];
  for (const request of first) expect((await readPieces(request, 32 * mebi)).size % mebi).toBe(0);
  const late = pieces(4);
  const refused = post(late.stream);
  await expect(readPieces(refused, 32 * mebi)).rejects.toMatchObject({
    problem: { code: "overloaded", retryAfterMs: 1_000 },
  });
  expect(late.seen).toEqual({ pulled: 4, cancelled: false });
  for (const request of [...first, refused]) releaseBody(request);
  const again = [body(32), body(8)];
  for (const request of again) await readPieces(request, 32 * mebi);
  for (const request of again) releaseBody(request);
});

test("★ AP-8 RE-C37: a body that is over ten seconds old gives way to others, sent slowly or held by a request that was cut", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const mebi = 1024 * 1024;
    const slow = new TransformStream<Uint8Array, Uint8Array>();
    const writer = slow.writable.getWriter();
    const slowRead = readPieces(post(slow.readable), 32 * mebi);
    await writer.write(new Uint8Array(mebi));
    for (const count of [31, 8]) await readPieces(post(pieces(count).stream), 32 * mebi);
    vi.advanceTimersByTime(10_000);
    const young = post(pieces(32).stream);
    expect((await readPieces(young, 32 * mebi)).size).toBe(32 * mebi);
    const next = post(pieces(8).stream);
    expect((await readPieces(next, 32 * mebi)).size).toBe(8 * mebi);
    await writer.write(new Uint8Array(mebi));
    await writer.close();
    await expect(slowRead).rejects.toMatchObject({ problem: { code: "overloaded" } });
    for (const request of [young, next]) releaseBody(request);
  } finally {
    vi.useRealTimers();
  }
});

test("RE-12: a client that breaks off its body is refused, and no fault of the server", async () => {
  const broken = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error("Network connection lost.")),
  });
  expect(await codeOf(post(broken))).toBe("invalid_request");
});

test("★ AP-8: what the body of a request held is given back with its answer, also of one that is refused", async () => {
  const { call } = setUp();
  const body = "x".repeat(1024 * 1024);
  for (let count = 0; count < 45; count += 1)
    expect((await call("POST", "/v1/sessions", body)).status).toBe(400);
});

test("AP-45: a file may have a name that begins as a credential does", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId(), () => accepted({}, { status: 201 }));
  const uploaded = await call("POST", `${S}/files?name=lt_x.txt`, "text", { "Content-Type": "text/plain" });
  expect(uploaded.status, await uploaded.text()).toBe(201);
  expect(calls).toMatchObject([{ op: "upload", params: { name: "lt_x.txt" } }]);
});
