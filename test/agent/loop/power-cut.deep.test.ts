import { test } from "vitest";
import { checkInvariants } from "../../support/invariants.ts";
import { insist } from "../../support/power-cut.ts";
import { openScenario, scenarios, writesOf } from "./cut-scenarios.ts";

test.each(scenarios)(
  "RE-C39 RE-C40: $name survives two cuts in a row at every pair of neighbouring writes",
  async (scenario) => {
    const total = await writesOf(scenario);
    for (let cut = 1; cut <= total; cut++) {
      const { bench, probe } = await openScenario(scenario);
      bench.cutAt(cut);
      insist(bench, "create", {}, "create");
      bench.cutAt(3);
      await scenario.play(bench, probe);
      checkInvariants(bench, scenario.inputs, probe);
    }
  },
);
