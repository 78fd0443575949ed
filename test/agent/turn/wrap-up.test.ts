import { expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { done, look, replies } from "../../support/scripts.ts";
import { ends, onlyAsk, play } from "../loop/play.ts";

/** The wrap-up notes, each with the number of the turn before which it stands. */
const notes = (bench: Bench): readonly string[] =>
  bench
    .chat()
    .flatMap(({ marks, parts, turn }) =>
      marks?.includes("note") === true && parts[0]?.type === "text" ? [`${turn}: ${parts[0].text}`] : [],
    );

const options = (text: string): { readonly agent: string } => ({ agent: `options: { ${text} }` });

test("CF-14: from warn_iterations on one note a run says that turns run out, and how many there are", async () => {
  const { bench } = await play(
    replies(look, look, look, look, done, look, look, look, done),
    options("warn_iterations: 2, max_iterations: 9"),
  );
  bench.send("Go");
  await bench.idle();
  const text =
    "This is turn 3 of at most 9. Begin nothing new: finish what is under way, and give your final answer.";
  expect(notes(bench)).toEqual([`2: ${text}`]);
  const third = bench.requests[2]?.messages.at(-1);
  expect(JSON.stringify(third)).toContain("This is turn 3 of at most 9.");
  bench.send("Again");
  await bench.idle();
  expect(notes(bench)).toEqual([`2: ${text}`, `2: ${text}`]);
  expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
});

test("CF-14: the number of turns is the one that a person raised it to", async () => {
  const { bench } = await play(replies(look, look, look, done), {
    agent: "options: { warn_iterations: 3, max_iterations: 2 }\nguards: { budget: { on_exceeded: ask } }",
  });
  bench.send("Go");
  await bench.idle();
  bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 10 });
  await bench.idle();
  expect(notes(bench)[0]).toContain("This is turn 4 of at most 10.");
});

test("CF-14: off, too short a run, and no limit of turns", async () => {
  const none = await play(replies(look, look, done));
  none.bench.send("Go");
  await none.bench.idle();
  expect(notes(none.bench)).toEqual([]);
  const short = await play(replies(look, done), options("warn_iterations: 2"));
  short.bench.send("Go");
  await short.bench.idle();
  expect(notes(short.bench)).toEqual([]);
  const unbounded = await play(replies(look, done), {
    agent: "options: { warn_iterations: 1, max_iterations: 0 }\nguards: { budget: { max_tokens: 100000 } }",
  });
  unbounded.bench.send("Go");
  await unbounded.bench.idle();
  expect(notes(unbounded.bench)).toEqual([
    "1: This is turn 2. Begin nothing new: finish what is under way, and give your final answer.",
  ]);
});

test("CF-14, C24: whatever write the power is cut at, the note stands once", async () => {
  for (let write = 1, cut = true; cut; write++) {
    const { bench } = await play(replies(look, look, done), options("warn_iterations: 1"));
    bench.send("Go");
    const before = bench.writes();
    bench.cutAt(write);
    await bench.idle();
    bench.cutAt(null);
    cut = bench.writes() >= before + write;
    expect(notes(bench)).toHaveLength(1);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  }
});
