import { expect, test } from "vitest";
import type { StoreChange } from "../../../src/tools/stores.ts";
import type { Bench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { dataOf, ends, refused, results } from "../loop/play.ts";
import {
  call,
  changing,
  entriesOf,
  listOf,
  script,
  setting,
  storePlay,
  storeRun,
  tasksOf,
} from "./store-play.ts";

/** Shared values from YAML, and how tools change stores (AG-42, TB-37). */

const set = (key: string, value: unknown, more: object = {}): string =>
  call("shared_state_set", { key, value, ...more });

const seqs = (bench: Bench): readonly number[] =>
  bench.events().flatMap(({ type, seq }) => (type === "store_changed" ? [seq] : []));

test("AG-42: a value is set, read with its revision, listed by sorted key and deleted; each change is one event", async () => {
  const { bench } = await storeRun(
    script(
      set("b", { deep: [1, null] }),
      set("a", false),
      call("shared_state_get", { key: "b" }),
      call("shared_state_list"),
      call("shared_state_delete", { key: "b" }),
      call("shared_state_delete", { key: "b" }),
      call("shared_state_get", { key: "b" }),
    ),
  );
  const [first, second] = seqs(bench);
  expect(results(bench)).toEqual([
    `ok: {"key":"b","revision":${first}}`,
    `ok: {"key":"a","revision":${second}}`,
    `ok: {"value":{"deep":[1,null]},"revision":${first}}`,
    'ok: ["a","b"]',
    'ok: {"key":"b","deleted":true}',
    'ok: {"key":"b","deleted":false}',
    "error: not_found: there is no value b; shared_state_list shows the keys",
  ]);
  expect(dataOf(bench, "store_changed")).toEqual([
    { store: "state", key: "b", op: "set" },
    { store: "state", key: "a", op: "set" },
    { store: "state", key: "b", op: "delete" },
  ]);
  expect(listOf(bench, "state")).toEqual([{ key: "a", revision: second, value: false }]);
});

test("AG-42: if_revision sets only what is still as it was read, 0 only what is absent; the conflict tells the revision", async () => {
  const { bench } = await storeRun(
    script(
      set("k", 1, { if_revision: 0 }),
      set("k", 2, { if_revision: 0 }),
      set("new", 2, { if_revision: 7 }),
    ),
  );
  expect(results(bench).slice(1)).toEqual([
    `error: conflict: k is at revision ${seqs(bench)[0]}, not 0; read it again`,
    "error: conflict: new is absent, not at revision 7; read it again",
  ]);
  expect(entriesOf(bench)).toEqual(["state k 1"]);
});

test("AG-42: a revision is never used twice: a value deleted and set again is not taken for the old one", async () => {
  const { bench } = await storeRun(
    script(
      set("k", 1),
      [call("shared_state_delete", { key: "k" }), set("k", 1), set("k", 1)].join(", "),
      call("shared_state_get", { key: "k" }),
    ),
  );
  const revisions = results(bench).flatMap((result) => /"key":"k","revision":(\d+)/.exec(result)?.[1] ?? []);
  expect(new Set(revisions).size).toBe(3);
});

test.each([
  ["an empty key", { key: "", value: 1 }, "key: 1 to 256 characters"],
  ["a key with a line break", { key: "a\nb", value: 1 }, "key: 1 to 256 characters"],
  ["a key of 257 characters", { key: "k".repeat(257), value: 1 }, "key: 1 to 256 characters"],
  ["a missing value", { key: "k" }, "value: "],
])("AG-42: %s is refused and nothing is stored", async (_name, args, message) => {
  const { bench } = await storeRun(script(call("shared_state_set", args)));
  expect(results(bench)[0]).toContain(`error: invalid_arguments: ${message}`);
  expect(entriesOf(bench)).toEqual([]);
});

test("AG-42: 256 characters of key and 256 KiB of value are the most", async () => {
  const steps = [[setting("😀".repeat(256), "x".repeat(262_142))], [setting("k", "x".repeat(262_143))]];
  const replies = script(call("change", { n: 0 }), call("change", { n: 1 }));
  const { bench } = await storeRun(replies, { tools: [changing(steps)] });
  expect(results(bench)).toEqual([
    expect.stringMatching(/^ok: /),
    "error: invalid_arguments: value: a value has at most 256 KiB of JSON",
  ]);
});

test("AG-42: 1 000 keys and 8 MiB are the most; what is replaced or deleted makes room", async () => {
  const steps: readonly (readonly StoreChange[])[] = [
    Array.from({ length: 1_000 }, (_, at) => setting(`k${at}`, "v")),
    [setting("new", "v")],
    [setting("k1", "w")],
    [{ store: "state", op: "delete", key: "k2" }, setting("new", "v")],
    Array.from({ length: 33 }, (_, at) => setting(`k${at + 10}`, "x".repeat(262_000))),
    [setting("k10", "small")],
  ];
  const { bench } = await storeRun(script(...steps.map((_, n) => call("change", { n }))), {
    tools: [changing(steps)],
  });
  expect(results(bench).map((result) => result.slice(0, 64))).toEqual([
    expect.stringMatching(/^ok: /),
    expect.stringContaining("error: limit: the store holds 1000 keys; delete one first"),
    expect.stringMatching(/^ok: /),
    expect.stringMatching(/^ok: /),
    expect.stringContaining("error: limit: all values together have at most 8 MiB"),
    expect.stringMatching(/^ok: /),
  ]);
  expect(entriesOf(bench)).toHaveLength(1_000);
});

test("TB-37: a team's tool reads the stores as copies and changes them together with its result", async () => {
  const tool = changing([[setting("a", "1"), setting("b", "2")]], "Both are set.");
  const seen: unknown[] = [];
  const spy = {
    ...tool,
    run: async (args: unknown, context: Parameters<typeof tool.run>[1]) => {
      const task = context.stores.tasks.get("task_1");
      Object.assign(task?.metadata ?? {}, { x: 99 });
      seen.push(context.stores.state.get("seed")?.value, context.stores.state.keys(), task?.title);
      return tool.run(args, context);
    },
  };
  const { bench } = await storeRun(
    script(
      set("seed", [1]),
      call("shared_tasks_create", { title: "One", metadata: { x: 1 } }),
      call("change", { n: 0 }),
      call("shared_tasks_get", { id: "task_1" }),
    ),
    { tools: [spy] },
  );
  expect(results(bench)[2]).toBe("ok: Both are set.");
  expect(results(bench)[3]).toContain('"metadata":{"x":1}');
  expect(seen).toEqual([[1], ["seed"], "One"]);
  expect(entriesOf(bench)).toEqual(['state a "1"', 'state b "2"', "state seed [1]"]);
});

test("TB-37: of several changes all are made or none: a refused one undoes those before it, events too", async () => {
  const bad: readonly StoreChange[] = [
    setting("a", "1"),
    { store: "tasks", op: "create", title: "One" },
    { store: "tasks", op: "claim", id: "task_9" },
  ];
  const worse = [setting("a", "1"), { store: "moon", op: "set" }] as unknown as readonly StoreChange[];
  const { bench } = await storeRun(script(call("change", { n: 0 }), call("change", { n: 1 })), {
    tools: [changing([bad, worse], "Never said.")],
  });
  expect(results(bench)).toEqual([
    "error: not_found: there is no task task_9; list the tasks to see them",
    expect.stringMatching(/^error: invalid_arguments: /),
  ]);
  expect([entriesOf(bench), listOf(bench, "tasks")]).toEqual([[], []]);
  expect(bench.types()).not.toContain("store_changed");
  expect(bench.types()).not.toContain("task_changed");
});

test("TB-37: an error changes nothing, and a cached result is not applied twice", async () => {
  const failing = { ...changing([[setting("a", "1")]]), name: "fails" };
  const tools = [
    { ...failing, run: async () => ({ content: "failed: no", isError: true, stores: [setting("a", "1")] }) },
    { ...changing([[setting("b", "1")]]), cache: true },
  ];
  const replies = script(call("fails", { n: 0 }), call("change", { n: 0 }), call("change", { n: 0 }));
  const { bench } = await storeRun(replies, {
    tools,
    team: "defaults: { options: { cache_tool_results: true } }",
  });
  expect(entriesOf(bench)).toEqual(['state b "1"']);
  expect(dataOf(bench, "store_changed")).toHaveLength(2);
});

test("AG-42: stores are there only if some agent lists the toolbox", async () => {
  const { bench } = await storePlay(script(), { toolboxes: "[probe, state]" });
  expect(listOf(bench, "state")).toEqual([]);
  expect([refused(bench, "tasks", {}), refused(bench, "notes", {})]).toEqual(["not_found", "not_found"]);
  expect(refused(bench, "state", { colour: "red" })).toBe("invalid_request");
});

const story = script(
  [set("a", 1), set("b", 2)].join(", "),
  call("shared_tasks_create", { title: "One" }),
  call("shared_tasks_claim", { id: "task_1" }),
  call("shared_tasks_update", { id: "task_1", status: "completed" }),
  call("write_note", { name: "n", content: "Kept." }),
  call("shared_state_delete", { key: "a" }),
);

const check = (bench: Bench): void => {
  expect(entriesOf(bench)).toEqual(['notes n "Kept."', "state b 2"]);
  expect(tasksOf(bench).map(({ id, status }) => `${id} ${status}`)).toEqual(["task_1 completed"]);
  expect(bench.types().filter((type) => type === "store_changed")).toHaveLength(4);
  expect(bench.types().filter((type) => type === "task_changed")).toHaveLength(3);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
};

test("AG-42 AG-43 AG-47: a restart leaves values, tasks and notes as they were", async () => {
  const { bench } = await storeRun(story);
  check(bench);
  bench.crash();
  check(bench);
});

test("AG-42 RE-C12: the power is cut at every single write: each change is made once, with its result and its event", async () => {
  const whole = await storePlay(story);
  const before = whole.bench.writes();
  whole.bench.send("Go");
  await whole.bench.idle();
  const total = whole.bench.writes() - before;
  expect(total).toBeGreaterThan(30);
  for (let cut = 1; cut <= total; cut++) {
    const { bench, probe } = await storePlay(story);
    const input = (): string => String(bench.ok("send", { content: "Go" }, "key1")["input"]);
    bench.cutAt(cut);
    let id: string;
    try {
      id = input();
    } catch {
      id = input();
    }
    await bench.idle();
    bench.cutAt(null);
    check(bench);
    checkInvariants(bench, [id], probe);
  }
});
