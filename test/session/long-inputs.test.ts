import { expect, test } from "vitest";
import { dataOf, ends, openAsks, play, run, textsOf } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";

/** Inputs longer than a row may be (AP-8, DESIGN 6). */

/** Bytes of a value that the platform takes in any case. */
const mostBytes = 1.5 * 2 ** 20;

const part = (sign: string) => ({ type: "text", text: sign.repeat(500_000) });

/** 4.5 MB as UTF-8. */
const long = [part("漢"), part("字"), part("船")];

const whole = long.map(({ text }) => text).join("");

const tables = ["inputs", "threads", "turns", "messages", "events", "blobs", "asks", "runs", "idempotency"];

/** Tables with a value that is too long. */
const tooLong = (bench: Bench): readonly string[] =>
  tables.filter((table) =>
    bench
      .rows(table)
      .some((row) =>
        Object.values(row).some((value) => typeof value === "string" && Buffer.byteLength(value) > mostBytes),
      ),
  );

const contentOf = (bench: Bench, input: string): string =>
  textsOf({ parts: bench.ok("input", { input })["content"] as never });

test("AP-8: an input of several MiB has no row that the platform refuses, and is read whole", async () => {
  const { bench } = await play("replies: [{ reply: [{ text: Hi. }] }]");
  bench.perform("send", { id: "long", content: long });
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(tooLong(bench)).toEqual([]);
  const first = bench.state().threads["main"]?.firstInput;
  bench.crash();
  expect(contentOf(bench, "long")).toBe(whole);
  expect(bench.ok("inputs", {})["data"]).toMatchObject([{ id: "long", status: "applied" }]);
  expect(bench.state().threads["main"]?.firstInput).toEqual(first);
});

test("SE-23 RE-C28: a long input that waits is applied whole after a crash, as it was edited last", async () => {
  const { bench } = await run(
    'replies: [{ reply: [{ call: ask_user, args: { question: "On?" } }] }, { reply: [{ text: A. }] }, { reply: [{ text: B. }] }, { reply: [{ text: C. }] }]',
  );
  bench.perform("send", { id: "a", content: long, on_busy: "queue" });
  bench.perform("send", { id: "b", content: "short", on_busy: "queue" });
  bench.ok("edit_input", { input: "b", content: long.slice(0, 2) });
  bench.ok("edit_input", { input: "a", content: "short now" });
  expect(tooLong(bench)).toEqual([]);
  bench.crash();
  const [ask] = openAsks(bench);
  bench.ok("answer", { ask, decision: "answer", text: "Yes" });
  await bench.idle();
  expect(ends(bench)).toHaveLength(3);
  expect(dataOf(bench, "input_applied").map(({ input }) => input)).toEqual(["in_1", "a", "b"]);
  expect([contentOf(bench, "a"), contentOf(bench, "b")]).toEqual(["short now", whole.slice(0, 1_000_000)]);
});
