import { expect, test } from "vitest";
import type { Crew, Member } from "../../support/crew.ts";
import { chatOf, childIds, crewOf, endings, resultsOf } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { textsOf } from "../loop/play.ts";
import { background, done, leads, node, progress, report, reportsIn, worker } from "./graph-play.ts";

/** What a crash at any write does to a task graph. */

const six = [
  node("a"),
  node("b"),
  node("c", ["a"], { message: "Do c. {{a.output}}" }),
  node("d", ["a", "b"], { blocking: false }),
  node("e", ["d"]),
  node("f", ["c", "e"]),
];

const sixDone = (look: boolean): Member => worker(done("a", "b", "c", "d", "e", "f"), look);

const checkSix = (made: Crew, what: string): void => {
  expect(report(made), what).toEqual(["a", "b", "c", "d", "e", "f"].map((id) => `${id} success`));
  expect(childIds(made), what).toHaveLength(6);
  expect(progress(made), what).toHaveLength(6);
  expect(resultsOf(made), what).toHaveLength(1);
  expect(
    endings(made).filter((end) => end.startsWith("lead")),
    what,
  ).toEqual(["lead completed:end_turn"]);
  checkInvariants(made.bench, ["in_1"]);
};

test("RE-C44 AG-34: cut at every write, and so after every commit, of a graph of six: each task ran once, one report", async () => {
  const left = leads(six, { async: true }, background);
  for (const [boss, check] of [
    [leads(six), checkSix],
    [
      left,
      (made: Crew, what: string) => {
        expect(reportsIn(chatOf(made, "main").map(textsOf)), what).toHaveLength(1);
        expect(childIds(made), what).toHaveLength(6);
        checkInvariants(made.bench, ["in_1"]);
      },
    ],
  ] as const) {
    const members = [boss, sixDone(false)];
    const open = await crewOf(members);
    const whole = open();
    const before = whole.bench.writes();
    whole.bench.send("Go");
    await whole.bench.idle();
    const total = whole.bench.writes() - before;
    for (let cut = 1; cut <= total; cut++) {
      const made = open();
      made.bench.cutAt(cut);
      try {
        made.bench.ok("send", { content: "Go" }, "key1");
      } catch {
        made.bench.ok("send", { content: "Go" }, "key1");
      }
      await made.bench.idle();
      made.bench.cutAt(null);
      check(made, `cut ${cut}`);
    }
  }
});
