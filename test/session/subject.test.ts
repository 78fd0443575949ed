import { expect, test } from "vitest";
import { dataOf, play } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";

/** Whose session it is: said once, when it is created (AP-13). */

const opened = async (metadata?: object): Promise<Bench> =>
  (
    await play(
      "replies: [{ reply: [{ text: Fine. }] }]",
      metadata === undefined ? {} : { create: { metadata } },
    )
  ).bench;

const metadataOf = (bench: Bench): unknown => bench.ok("get")["metadata"];

test.each([
  ["changed", { subject: "mallory" }, { subject: "alice" }],
  ["emptied", { subject: "mallory" }, { subject: "" }],
  ["added", { plan: "free" }, { plan: "free", subject: "alice" }],
  ["added to no metadata at all", undefined, { subject: "alice" }],
])(
  "AP-13: metadata.subject is not %s by a PATCH, which says where and what to do",
  async (_, before, after) => {
    const bench = await opened(before);
    const reply = bench.perform("patch", { title: "New", metadata: after });
    expect(reply).toMatchObject({
      ok: false,
      problem: {
        code: "invalid_request",
        detail: expect.stringMatching(/^\/metadata\/subject: .*create another session/),
        errors: [
          { pointer: "/metadata/subject", message: expect.stringContaining("create another session") },
        ],
      },
    });
    expect(metadataOf(bench)).toEqual(before ?? {});
    expect([bench.ok("get")["title"], dataOf(bench, "session_updated")]).toEqual([null, []]);
  },
);

test("AP-13: a PATCH that leaves metadata.subject out keeps it, and so does one that repeats it", async () => {
  const bench = await opened({ subject: "alice", plan: "free" });
  bench.ok("patch", { metadata: { plan: "paid" } });
  expect(metadataOf(bench)).toEqual({ plan: "paid", subject: "alice" });
  bench.ok("patch", { metadata: { subject: "alice", team: "b" } });
  expect(metadataOf(bench)).toEqual({ subject: "alice", team: "b" });
  bench.ok("patch", { metadata: {} });
  expect(metadataOf(bench)).toEqual({ subject: "alice" });
  bench.ok("patch", { title: "New" });
  expect(metadataOf(bench)).toEqual({ subject: "alice" });
  expect(dataOf(bench, "session_updated").map(({ metadata }) => metadata)).toEqual([
    { plan: "paid", subject: "alice" },
    { subject: "alice", team: "b" },
    { subject: "alice" },
    undefined,
  ]);
});

test("AP-13 AP-16: the kept subject counts as one of the 16 pairs", async () => {
  const pairs = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, "x"]));
  const bench = await opened({ subject: "alice" });
  expect(bench.perform("patch", { metadata: pairs(16) })).toMatchObject({
    ok: false,
    problem: { code: "invalid_request", errors: [{ pointer: "/metadata" }] },
  });
  bench.ok("patch", { metadata: pairs(15) });
  expect(metadataOf(bench)).toEqual({ ...pairs(15), subject: "alice" });
  const free = await opened();
  free.ok("patch", { metadata: pairs(16) });
  expect(metadataOf(free)).toEqual(pairs(16));
});

test("AP-13: a session named by what every object has is none with a subject", async () => {
  const bench = await opened({ constructor: "x" });
  expect(bench.perform("patch", { metadata: { toString: "y", subject: "alice" } }).ok).toBe(false);
  bench.ok("patch", { metadata: { toString: "y" } });
  expect(metadataOf(bench)).toEqual({ toString: "y" });
});

test.each(["patch", "clear"] as const)("AP-13: %s needs sessions:manage", async (op) => {
  const bench = await opened();
  const scopes = ["sessions:read", "sessions:write", "asks:answer"] as const;
  expect(bench.performAs({ scopes }, op)).toMatchObject({
    ok: false,
    problem: {
      code: "scope_missing",
      detail: "This needs the scope sessions:manage.",
      meta: { scopes: ["sessions:manage"] },
    },
  });
  expect(bench.performAs({ scopes: ["sessions:manage"] }, op).ok).toBe(true);
});
