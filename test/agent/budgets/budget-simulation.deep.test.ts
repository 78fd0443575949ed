import { expect, test } from "vitest";
import { budgetStageOf, playSchedule } from "../../session/schedule.ts";
import { seedsOf } from "../../support/random-size.ts";

test("RE-8 EF-38 RE-4: 120 random schedules on budgets keep every invariant, and their books add up", async () => {
  const seen = new Map<string, number>();
  for (const { stage, seeds } of seedsOf(20, 120)) {
    const set = await budgetStageOf(stage);
    for (const seed of seeds) {
      for (const bench of await playSchedule(set, seed, 10)) {
        for (const type of bench.types()) seen.set(type, (seen.get(type) ?? 0) + 1);
        const ledger = bench.ledger();
        const {
          spent,
          funds: { tenant },
        } = bench.state();
        expect(spent.usage.total).toBe(ledger.reduce((sum, { usage }) => sum + usage.total, 0));
        expect(spent.cost).toBe(ledger.reduce((sum, { cost }) => sum + (cost ?? 0), 0));
        expect(tenant.lease?.closed ?? true, "at rest no lease is held").toBe(true);
      }
    }
  }
  // A schedule that never comes to a budget proves nothing.
  for (const type of ["budget_warning", "budget_reached", "ask_user", "ask_resolved", "ask_expired"])
    expect(seen.get(type) ?? 0, `${type} happened`).toBeGreaterThan(10);
});
