import { expect, test } from "vitest";
import type { Crew, Member } from "../../support/crew.ts";
import {
  chatOf,
  childIds,
  coder,
  crewOf,
  delegate,
  endings,
  itemsOf,
  lead,
  passTurns,
  resultsOf,
  spawn,
  task,
  writer,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, replies, said } from "../../support/scripts.ts";
import { insist, settleSoon } from "../../support/power-cut.ts";

/** Power cuts at every write of sessions whose agents call each other (C18 to C21). */

interface Scenario {
  readonly name: string;
  readonly members: readonly Member[];
  readonly check: (made: Crew) => void;
}

const scenarios: readonly Scenario[] = [
  {
    name: "three generations",
    members: [
      { name: "lead", script: replies(said(delegate("coder"), ["put", { name: "a" }]), done) },
      {
        name: "coder",
        script: replies(said(delegate("writer")), said(["put", { name: "b" }]), said("Coded.")),
      },
      { name: "writer", script: replies(said(["put", { name: "c" }]), said("Written.")) },
    ],
    check: (made) => {
      expect(endings(made)).toEqual([
        "writer completed:end_turn",
        "coder completed:end_turn",
        "lead completed:end_turn",
      ]);
      expect(childIds(made)).toHaveLength(2);
      expect(resultsOf(made)).toEqual(["ok: Coded.", "ok: put(a) done"]);
      expect(resultsOf(made, childIds(made)[0])).toEqual(["ok: Written.", "ok: put(b) done"]);
    },
  },
  {
    name: "five at once",
    members: [
      {
        name: "lead",
        script: replies(
          said(spawn(["coder", "writer", "coder", "writer", "coder"].map((name) => task(name)))),
          done,
        ),
      },
      { name: "coder", script: replies(said(["look", { name: "x" }]), said("Coded.")) },
      { name: "writer", script: replies(said("Written.")) },
    ],
    check: (made) => {
      expect(childIds(made)).toHaveLength(5);
      expect(itemsOf(made).map(({ result }) => result)).toEqual([
        "Coded.",
        "Written.",
        "Coded.",
        "Written.",
        "Coded.",
      ]);
    },
  },
];

for (const { name, members, check } of scenarios) {
  test(`C18 C19 C20 C21: ${name}, cut at every write: each child once, each result once`, async () => {
    const open = await crewOf(members);
    const clean = open();
    const before = clean.bench.writes();
    insist(clean.bench, "send", { id: "i1", content: "Go" }, "i1");
    await settleSoon(clean.bench);
    check(clean);
    checkInvariants(clean.bench, ["i1"]);
    const writes = clean.bench.writes() - before;
    for (let cut = 1; cut <= writes; cut++) {
      const made = open();
      made.bench.cutAt(cut);
      insist(made.bench, "send", { id: "i1", content: "Go" }, "i1");
      await settleSoon(made.bench);
      check(made);
      checkInvariants(made.bench, ["i1"]);
      expect(childIds(made), `cut at write ${cut}: the same children`).toEqual(childIds(clean));
    }
  });
}

const report = ["task_complete", { status: "completed", summary: "Coded." }] as const;

const look = said(["look", {}]);

/** Sessions whose coder has its answer, or gets it, while a graceful stop takes place after some model calls. */
const stops: readonly (readonly [string, number, readonly Member[]])[] = [
  [
    "answers in the model call that runs",
    1,
    [lead([said(delegate("coder")), done]), coder([said("Coded.")])],
  ],
  ["reports in the model call that runs", 1, [lead([said(delegate("coder")), done]), coder([said(report)])]],
  [
    "answers while its own agent works in the background",
    2,
    [
      lead([said(delegate("coder")), done]),
      coder([said(delegate("writer", { async: true })), said("Coded.")], "delegation: { async: true }"),
      writer([look, look, done]),
    ],
  ],
  [
    "has answered while its own agent works in the background",
    3,
    [
      lead([said(delegate("coder")), done]),
      coder([said(delegate("writer", { async: true })), said("Coded.")], "delegation: { async: true }"),
      writer([look, look, look, done]),
    ],
  ],
];

test.each(stops)(
  "SE-31 C18: a graceful stop cut at every write, while a called agent %s: an answer that was stored reaches its caller",
  async (_, turns, members) => {
    const open = await crewOf(members);
    const stop = async (made: Crew, cut: number | null): Promise<number> => {
      made.bench.send("Go");
      await passTurns(made, turns);
      const before = made.bench.writes();
      made.bench.cutAt(cut);
      insist(made.bench, "cancel", { mode: "after_turn" }, "stop");
      made.bench.release();
      await settleSoon(made.bench);
      checkInvariants(made.bench, ["in_1"]);
      return made.bench.writes() - before;
    };
    const whole = open();
    const writes = await stop(whole, null);
    expect(resultsOf(whole)).toEqual(["ok: Coded."]);
    for (let cut = 1; cut <= writes; cut++) {
      const made = open();
      await stop(made, cut);
      const [id = ""] = childIds(made);
      const isStored = JSON.stringify(chatOf(made, id)).includes("Coded.");
      if (isStored) expect(resultsOf(made), `cut ${cut}`).toEqual(resultsOf(whole));
      expect(endings(made).toSorted(), `cut ${cut}`).toEqual(
        isStored
          ? endings(whole).toSorted()
          : endings(made)
              .map((end) => end.replace(/ .*/, " cancelled:cancelled"))
              .toSorted(),
      );
    }
  },
);
