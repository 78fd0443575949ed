import { expect, test } from "vitest";
import { openAsks, play } from "../agent/loop/play.ts";
import { call, changing, script, storeRun } from "../agent/stores/store-play.ts";
import type { Bench } from "../support/bench.ts";
import { scripted } from "../support/scripts.ts";

/** Pages of long values (AP-7, AP-8, AP-24). */

/** What a page may have: its values, and a little beside them. */
const mostBytes = 4 * 2 ** 20 + 16_384;

interface Page {
  readonly data: readonly { readonly id: string; readonly seq: number }[];
  readonly next_cursor: string | null;
  readonly next_after: number;
}

const page = (bench: Bench, list: "asks" | "events" | "tasks", query: object): Page => {
  const { data, ...rest } = bench.ok(list, query) as unknown as Page;
  expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThanOrEqual(mostBytes);
  return { data, ...rest };
};

const two = "replies: [{ reply: [{ text: One. }] }, { reply: [{ text: Two. }] }]";

test("AP-8 RE-P6: a page of events ends early where its next_after goes on", async () => {
  const turns = 45;
  const { bench } = await play(`replies: [${"{ reply: [{ text: Hi. }] }, ".repeat(turns)}]`);
  for (let turn = 0; turn < turns; turn++) {
    bench.send("x".repeat(60_000));
    await bench.idle();
  }
  const pages: Page[] = [];
  do pages.push(page(bench, "events", { after: pages.at(-1)?.next_after ?? 0, limit: 1_000 }));
  while ((pages.at(-1)?.next_after ?? 0) < bench.state().head);
  expect(pages).toHaveLength(2);
  const seqs = pages.flatMap(({ data }) => data.map(({ seq }) => seq));
  expect(seqs).toEqual(bench.events().map(({ seq }) => seq));
});

test("AP-8: a filtered page holds what was asked for, however much lies between, and goes on behind its last event", async () => {
  const { bench } = await play(two);
  for (const text of ["first", "second"]) {
    bench.send(text);
    await bench.idle();
  }
  const ends = bench.events().filter(({ type }) => type === "run_end");
  expect(ends).toHaveLength(2);
  const first = page(bench, "events", { types: "run_end", limit: 1 });
  expect(first).toMatchObject({ data: [{ seq: ends[0]?.seq }], next_after: ends[0]?.seq });
  const second = page(bench, "events", { types: "run_end", limit: 1, after: first.next_after });
  expect(second).toMatchObject({ data: [{ seq: ends[1]?.seq }], next_after: ends[1]?.seq });
  const { head } = bench.state();
  const rest = page(bench, "events", { types: "run_end", after: second.next_after });
  expect(rest).toMatchObject({ data: [], next_after: head });
  const before = page(bench, "events", { types: "run_start,run_end", before: ends[0]?.seq });
  expect(before).toMatchObject({ data: [{ type: "run_start" }], next_after: (ends[0]?.seq ?? 0) - 1 });
});

test("AP-8: a page that finds nothing in 10,000 events ends there", async () => {
  const { bench } = await play("replies: [{ reply: [{ text: One. }] }]");
  for (let edit = 0; edit < 10_001; edit += 1) bench.ok("patch", { title: `title ${edit}` });
  bench.send("hello");
  await bench.idle();
  const empty = page(bench, "events", { types: "run_end" });
  expect(empty).toMatchObject({ data: [], next_after: 10_000 });
  const found = page(bench, "events", { types: "run_end", after: empty.next_after });
  expect(found.data).toHaveLength(1);
});

test("AP-8: a page that finds nothing in 16 Mi characters of the log ends there, without a gap", async () => {
  const { bench } = await play(two);
  bench.send("hello");
  const { input } = bench.send("later", { on_busy: "queue" });
  for (let edit = 0; edit < 300; edit += 1)
    bench.ok("edit_input", { input, content: `${edit} ${"x".repeat(60_000)}` });
  const cursors = [0];
  while ((cursors.at(-1) ?? 0) < bench.state().head)
    cursors.push(page(bench, "events", { types: "run_end", after: cursors.at(-1) }).next_after);
  const [, first = 0, second] = cursors;
  expect(second).toBe(bench.state().head);
  const lengths = bench.lines().map((line) => line.length);
  const read = lengths.slice(0, first).reduce((sum, length) => sum + length, 0);
  expect(read).toBeGreaterThan(16 * 2 ** 20);
  expect(read).toBeLessThan(17 * 2 ** 20);
});

test("AP-8: of events that a filter leaves out, no message is read", async () => {
  const { bench } = await play(two);
  bench.send("first");
  await bench.idle();
  const { head } = bench.state();
  bench.sql("DELETE FROM messages");
  const found = page(bench, "events", { types: "run_start,run_end" });
  expect(found).toMatchObject({ data: [{ type: "run_start" }, { type: "run_end" }], next_after: head });
  expect(page(bench, "events", { thread: "t1" })).toMatchObject({ data: [], next_after: head });
  expect(() => page(bench, "events", { types: "message_added" })).toThrow("is not stored");
});

test("AP-8: a type that no event has is refused with the nearest one", async () => {
  const { bench } = await play("replies: [{ reply: [{ text: One. }] }]");
  expect(bench.perform("events", { types: "run_start,run_ends" })).toMatchObject({
    ok: false,
    problem: {
      code: "invalid_request",
      detail: '/types: no event has the type "run_ends"; did you mean run_end?',
    },
  });
});

test("AP-24 AP-8 SE-28: open asks of long arguments fill a page and no more; the snapshot names the cursor of the others", async () => {
  const fire = '{ call: fire, args: { name: "{{input}}" } }';
  const yaml = scripted(
    `replies: [{ reply: [${Array.from({ length: 7 }, () => fire).join(", ")}] }]`,
    "",
    "permissions: { rules: [{ tool: fire, action: ask }] }",
  );
  const { bench } = await play("", { yaml: yaml.replace("128000", "10000000") });
  bench.send("x".repeat(900_000));
  await bench.idle();
  const all = openAsks(bench);
  const { asks, more } = bench.ok("snapshot") as unknown as {
    readonly asks: Page["data"];
    readonly more: { readonly asks: string | null };
  };
  const rest = page(bench, "asks", { status: "open", limit: 200, cursor: more.asks });
  expect([...asks, ...rest.data].map(({ id }) => id)).toEqual(all);
  expect([asks.length, rest.next_cursor]).toEqual([4, null]);
});

test("AP-7 AG-43: the tasks of a session come page by page, in the order in which they were made", async () => {
  const create = (n: number) =>
    ({ store: "tasks", op: "create", title: `T${n}`, description: "漢".repeat(16_000) }) as const;
  const steps = Array.from({ length: 2 }, (_, step) =>
    Array.from({ length: 100 }, (__, n) => create(100 * step + n)),
  );
  const { bench } = await storeRun(script(call("change", { n: 0 }), call("change", { n: 1 })), {
    tools: [changing(steps)],
  });
  const numbered = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => `task_${from + n + 1}`);
  const first = page(bench, "tasks", {});
  expect(first.data.map(({ id }) => id)).toEqual(numbered(0, 50));
  const second = page(bench, "tasks", { limit: 200, cursor: first.next_cursor });
  const third = page(bench, "tasks", { limit: 200, cursor: second.next_cursor });
  expect([...second.data, ...third.data].map(({ id }) => id)).toEqual(numbered(50, 200));
  expect([second.data.length < 150, third.next_cursor]).toEqual([true, null]);
});
