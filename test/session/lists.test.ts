import { expect, test } from "vitest";
import { openAsks, play, refused, run } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";
import { crew, delegate, mission, passTurns } from "../support/crew.ts";
import { replies, said } from "../support/scripts.ts";

/** Lists of a session, page by page (AP-7). */

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly next_cursor: string | null;
  readonly prev_cursor: string | null;
}

type List = "inputs" | "runs" | "asks" | "threads";

const page = (bench: Bench, list: List, query: object): Page => bench.ok(list, query) as unknown as Page;

const ids = ({ data }: Page): readonly string[] => data.map(({ id }) => id);

/** Every page of a list, from the first to the last; and back again. */
const walk = (bench: Bench, list: List, query: object): readonly (readonly string[])[] => {
  const pages: Page[] = [page(bench, list, query)];
  for (let cursor = pages[0]?.next_cursor; cursor != null; cursor = pages.at(-1)?.next_cursor)
    pages.push(page(bench, list, { ...query, cursor }));
  const back: Page[] = [];
  for (let cursor = pages.at(-1)?.prev_cursor; cursor != null; cursor = back.at(-1)?.prev_cursor)
    back.push(page(bench, list, { ...query, cursor }));
  expect(back.map(ids).toReversed()).toEqual(pages.slice(0, -1).map(ids));
  return pages.map(ids);
};

const numbered = (prefix: string, from: number, to: number): readonly string[] =>
  Array.from({ length: from - to + 1 }, (_, index) => `${prefix}${from - index}`);

const say = "{ reply: [{ text: Hi. }] }";

const talk = async (turns: number): Promise<Bench> => {
  const { bench } = await play(`replies: [${Array.from({ length: turns }, () => say).join(", ")}]`);
  for (let turn = 0; turn < turns; turn++) {
    bench.send("x");
    await bench.idle();
    await bench.pass(turn % 3);
  }
  return bench;
};

test("AP-7: runs and inputs come newest first, all of them, page by page", async () => {
  const bench = await talk(13);
  for (const [list, prefix] of [
    ["runs", "run_"],
    ["inputs", "in_"],
  ] as const) {
    expect(walk(bench, list, { limit: 5 })).toEqual([
      numbered(prefix, 13, 9),
      numbered(prefix, 8, 4),
      numbered(prefix, 3, 1),
    ]);
    expect(page(bench, list, {})).toMatchObject({ next_cursor: null, prev_cursor: null });
    expect(ids(page(bench, list, { limit: 13 }))).toHaveLength(13);
    expect(page(bench, list, { limit: 13 }).next_cursor).toBeNull();
  }
});

test("AP-7: runs that begin while the list is read disturb no page that follows", async () => {
  const { bench } = await play(`replies: [${Array.from({ length: 9 }, () => say).join(", ")}]`);
  for (let turn = 0; turn < 4; turn++) {
    bench.send("x");
    await bench.idle();
  }
  bench.hold = true;
  bench.send("x");
  await bench.steps();
  const first = page(bench, "runs", { limit: 2 });
  expect(first.data).toMatchObject([
    { id: "run_5", state: "running" },
    { id: "run_4", state: "completed" },
  ]);
  bench.release();
  await bench.idle();
  bench.send("x");
  await bench.idle();
  expect(ids(page(bench, "runs", { limit: 2, cursor: first.next_cursor }))).toEqual(["run_3", "run_2"]);
});

test("AP-7: a run that ends while the list is read keeps its place, and comes once", async () => {
  const call = said(delegate("coder"));
  const { bench } = await crew([
    { name: "lead", script: replies(call, call, said("All."), said("More.")) },
    { name: "coder", script: replies(said("Made.")) },
  ]);
  bench.send("x");
  await bench.idle();
  bench.hold = true;
  bench.send("x");
  await bench.steps();
  const first = page(bench, "runs", { limit: 1 });
  expect(first.data).toMatchObject([{ id: "run_4", state: "running" }]);
  bench.release();
  await bench.idle();
  const rest = page(bench, "runs", { cursor: first.next_cursor });
  expect(ids(rest), "a caller's run ends after those that it waited for").toEqual([
    "run_3",
    "run_2",
    "run_1",
  ]);
  expect(page(bench, "runs", {}).data.at(-1)).toMatchObject({ id: "run_1", agent: "lead" });
  expect(bench.ok("run", { run: "run_2" })).toMatchObject({ id: "run_2", agent: "coder" });
});

test("AP-7: asks come in the order in which they were put, by status if wished", async () => {
  const call = (n: number): string => `{ call: ask_user, args: { question: q${n} } }`;
  const { bench } = await run(
    `replies: [{ reply: [${Array.from({ length: 7 }, (_, n) => call(n)).join(", ")}] }, ${say}]`,
  );
  const all = openAsks(bench);
  expect(walk(bench, "asks", { limit: 3 })).toEqual([all.slice(0, 3), all.slice(3, 6), all.slice(6)]);
  bench.ok("answer", { ask: all[1], decision: "answer", text: "x" });
  expect(walk(bench, "asks", { limit: 4, status: "open" }).flat()).toEqual(all.filter((id) => id !== all[1]));
  expect(ids(page(bench, "asks", { status: "resolved" }))).toEqual([all[1]]);
});

const startedThreads = (bench: Bench): readonly string[] =>
  bench.events().flatMap(({ type, thread }) => (type === "run_start" ? [thread] : []));

test("AP-7: threads come page by page, in the order in which they began", async () => {
  const call = said(delegate("coder"));
  const { bench } = await mission([
    { name: "lead", script: replies(call, call, call, said("All.")) },
    { name: "coder", script: replies(said("Made.")) },
  ]);
  const begun = startedThreads(bench);
  expect(walk(bench, "threads", { limit: 2 })).toEqual([begun.slice(0, 2), begun.slice(2)]);
});

test("AP-7: threads that begin and end while the list is read come once each", async () => {
  const call = said(delegate("coder"));
  const { bench } = await crew([
    { name: "lead", script: replies(call, call, call, said("All.")) },
    { name: "coder", script: replies(said("Made.")) },
  ]);
  bench.send("x");
  await passTurns({ bench }, 3);
  const read: Page[] = [page(bench, "threads", { limit: 2 })];
  const statuses = (bench.ok("threads")["data"] as unknown as readonly { status: string }[]).map(
    ({ status }) => status,
  );
  expect(statuses).toContain("ended");
  expect(statuses, "main and a called agent").toHaveLength(3);
  bench.release();
  await bench.idle();
  for (let cursor = read[0]?.next_cursor; cursor != null; cursor = read.at(-1)?.next_cursor)
    read.push(page(bench, "threads", { limit: 2, cursor }));
  const all = startedThreads(bench);
  expect(all).toHaveLength(4);
  expect(read.flatMap(ids)).toEqual(all);
});

test("AP-41: each thread shows what it used with everything below it, main too, while it works and afterwards", async () => {
  const { bench } = await mission([
    { name: "lead", script: replies(said(delegate("coder")), said("All.")) },
    { name: "coder", script: replies(said("Made.")) },
  ]);
  const rows = bench.ok("threads")["data"] as unknown as readonly { id: string; usage: { total: number } }[];
  const [main, child] = rows;
  const { cumulative, by } = bench.ok("usage") as unknown as {
    cumulative: { total: number };
    by: readonly { agent: string; usage: { total: number } }[];
  };
  const coder = by.find(({ agent }) => agent === "coder")?.usage.total ?? 0;
  expect(coder).toBeGreaterThan(0);
  expect([main?.id, main?.usage.total]).toEqual(["main", cumulative.total]);
  expect(child?.usage.total).toBe(coder);
});

test("AP-7: a cursor belongs to its list, its filters and its session", async () => {
  const bench = await talk(3);
  const cursor = page(bench, "runs", { limit: 1 }).next_cursor;
  expect(refused(bench, "inputs", { cursor })).toBe("invalid_cursor");
  expect(refused(bench, "runs", { cursor: "x" })).toBe("invalid_cursor");
  const { bench: other } = await play(`replies: [${say}]`, { id: `s_${"b".repeat(26)}` });
  expect(refused(other, "runs", { cursor })).toBe("invalid_cursor");
  for (const list of ["inputs", "runs", "asks", "threads"] as const)
    for (const limit of [0, 201, 1.5]) expect(refused(bench, list, { limit })).toBe("invalid_request");
});
