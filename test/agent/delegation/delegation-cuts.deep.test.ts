import { expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { PowerCut } from "../../support/bench.ts";
import type { Crew, Member } from "../../support/crew.ts";
import {
  childIds,
  crewOf,
  delegate,
  endings,
  itemsOf,
  replies,
  resultsOf,
  said,
  spawn,
  task,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";

/** Power cuts at every write of sessions whose agents call each other (C18 to C21). */

const done = said("Done.");

const send = (bench: Bench): void => {
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      bench.ok("send", { id: "i1", content: "Go" }, "i1");
      return;
    } catch (error) {
      if (!(error instanceof PowerCut)) throw error;
    }
  }
};

const settle = async (bench: Bench): Promise<void> => {
  for (let round = 0; round < 20; round++) {
    await bench.idle();
    const at = bench.alarm();
    if (at === null || at - bench.now() > 120_000) return;
    await bench.pass(Math.max(1, at - bench.now()));
  }
};

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
    send(clean.bench);
    await settle(clean.bench);
    check(clean);
    checkInvariants(clean.bench, ["i1"]);
    const writes = clean.bench.writes() - before;
    for (let cut = 1; cut <= writes; cut++) {
      const made = open();
      made.bench.cutAt(cut);
      send(made.bench);
      await settle(made.bench);
      check(made);
      checkInvariants(made.bench, ["i1"]);
      expect(childIds(made), `cut at write ${cut}: the same children`).toEqual(childIds(clean));
    }
  });
}
