import { expect, test } from "vitest";
import type { Crew, Member } from "../../support/crew.ts";
import { childIds, crewOf, delegate, endings, itemsOf, resultsOf, spawn, task } from "../../support/crew.ts";
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
