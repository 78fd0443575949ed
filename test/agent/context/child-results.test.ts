import { describe, expect, test } from "vitest";
import {
  chatOf,
  crew,
  delegate,
  itemsOf,
  member,
  mission,
  resultsOf,
  spawn,
  task,
} from "../../support/crew.ts";
import { done, said } from "../../support/scripts.ts";
import { textsOf } from "../loop/play.ts";

/** How much of called agents' reports their caller reads (AG-24). */

const entries = (letter: string): readonly string[] =>
  Array.from({ length: 100 }, (_, index) => `${letter}${index} `.padEnd(500, letter));

const report = said([
  "task_complete",
  {
    status: "completed",
    summary: "All is well.",
    caveats: entries("c"),
    tests_run: entries("t"),
    files_modified: entries("f"),
  },
]);

describe("AG-24: long lists of a report", () => {
  test("AG-24: the items of a list are together at most 32 000 characters, their reports' lists counted", async () => {
    const made = await mission([
      member("lead", [said(spawn([task("coder"), task("coder"), task("writer")])), done]),
      member("coder", [report]),
      member("writer", [said("Written.")]),
    ]);
    const [text = ""] = resultsOf(made);
    expect(text.length).toBeLessThan(34_000);
    const [one, , three] = itemsOf(made);
    expect(one?.result).toMatch(/^All is well\./);
    expect(one?.completion?.tests_run?.[0]).toMatch(/^t0 /);
    expect(one?.completion?.tests_run?.at(-1)).toMatch(/^… \d+ more; recall\("b\d+"\) has them$/);
    expect(three?.result).toBe("Written.");
  });

  test("AG-24: sixty-four reports are no longer", async () => {
    const made = await mission([
      member(
        "lead",
        [said(spawn(Array.from({ length: 64 }, () => task("coder")))), done],
        "delegation: { max_children_per_call: 64 }",
      ),
      member("coder", [report]),
    ]);
    const texts = itemsOf(made).map(({ result, completion, files_modified }) =>
      [
        result,
        completion?.summary,
        ...(completion?.caveats ?? []),
        ...(completion?.tests_run ?? []),
        ...(completion?.files_modified ?? []),
        ...(files_modified ?? []),
      ].join(""),
    );
    expect(texts).toHaveLength(64);
    expect(texts.join("").length).toBeLessThanOrEqual(32_000);
  });

  test("AG-24 AG-30: a report in the background is cut as well; recall has the whole of it", async () => {
    const made = await crew([
      member(
        "lead",
        [
          said(delegate("coder", { async: true })),
          said("Started."),
          said(["recall", { id: "b1" }]),
          said(["recall", { id: "b1", offset: 140_000 }]),
          done,
        ],
        "delegation: { async: true }",
      ),
      member("coder", [report]),
    ]);
    made.bench.send("Go");
    await made.bench.idle();
    const told = chatOf(made, "main")
      .map(textsOf)
      .find((text) => text.startsWith("An agent"));
    expect(told?.length).toBeLessThan(34_000);
    expect(told).toMatch(/… \d+ more; recall\(\\"b1\\"\) has them/);
    const [, start = "", end = ""] = resultsOf(made);
    expect(start).toContain("All is well.\n\nCaveats:\n- c0 c");
    expect(end).toMatch(/- f99 f+ \(claimed\)$/);
  });
});

test("AG-24: a result that is cut to its length, and again to its share of a list, names how long it was", async () => {
  const made = await mission([
    member("lead", [said(spawn(["coder", "writer", "tester"].map((name) => task(name)))), done]),
    ...["coder", "writer", "tester"].map((name) => member(name, [said(name.repeat(5_000))])),
  ]);
  const [one = "", ...rest] = itemsOf(made).map(({ result }) => result ?? "");
  const [, head = "", shown = "", total = "", tail = ""] =
    /^(\w+) … \[(\d+) of (\d+) characters shown; recall\("b\d+"\) has the full text\] … (\w+)$/.exec(one) ??
    [];
  expect(total).toBe(`${"coder".length * 5_000}`);
  expect(head.length + tail.length).toBe(Number(shown));
  expect([one, ...rest].join("").length).toBeLessThanOrEqual(32_000);
});
