import { expect, test } from "vitest";
import { checkInvariants } from "../../support/invariants.ts";
import { insist } from "../../support/power-cut.ts";
import { openScenario, scenarios, writesOf } from "./cut-scenarios.ts";

test.each(scenarios)(
  "RE-P2 RE-P4 SE-33: $name survives a power cut at every single write",
  async (scenario) => {
    const total = await writesOf(scenario);
    expect(total).toBeGreaterThan(10);
    for (let cut = 1; cut <= total; cut++) {
      const { bench, probe } = await openScenario(scenario);
      bench.cutAt(cut);
      insist(bench, "create", {}, "create");
      await scenario.play(bench, probe);
      checkInvariants(bench, scenario.inputs, probe);
    }
  },
);
