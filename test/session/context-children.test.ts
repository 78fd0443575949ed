import { describe, expect, test } from "vitest";
import type { Crew } from "../support/crew.ts";
import { crew, delegate, endings, eventsAs, member, mission, spawn, task } from "../support/crew.ts";
import { done, said } from "../support/scripts.ts";

/** What called agents saw, told after they have ended (EF-42): as they stood then, not as `main`, nor as they stand now. */

interface View {
  readonly model: string;
  readonly system: string;
  readonly provider: string;
  readonly tools: readonly { readonly name: string }[];
  readonly verified: boolean | null;
}

/** Every turn of a run of the agent, over a restart. */
const viewsOf = (made: Crew, agent: string): readonly View[] => {
  made.bench.crash();
  return made.bench
    .events()
    .flatMap(({ type, agent: by, run = "", turn = 0 }) =>
      type === "turn_start" && by.name === agent
        ? [made.bench.ok("context", { run, turn }) as unknown as View]
        : [],
    );
};

const verified = (views: readonly View[]): readonly (boolean | null)[] => views.map((view) => view.verified);

describe("EF-42: called agents that have ended", () => {
  test("EF-42 AG-11: a delegated agent's turns are verified, and show the tools that only called agents have", async () => {
    const made = await mission([
      member("lead", [said(delegate("coder")), done]),
      member("coder", [
        said(["look", {}]),
        said(["task_complete", { status: "completed", summary: "Coded." }]),
      ]),
    ]);
    expect(endings(made)).toEqual(["coder completed:terminal_tool", "lead completed:end_turn"]);
    const views = viewsOf(made, "coder");
    expect(verified(views)).toEqual([true, true]);
    expect(views[0]?.tools.map(({ name }) => name)).toContain("task_complete");
    expect(verified(viewsOf(made, "lead"))).toEqual([true, true]);
  });

  test("EF-42 AG-14: a nameless agent shows its own prompt", async () => {
    const made = await mission([
      member(
        "lead",
        [said(["spawn_agent", { task: "Count", system_prompt: "You count sheep.", max_turns: 2 }]), done],
        "delegation: { ad_hoc: true }",
      ),
    ]);
    const views = viewsOf(made, "lead");
    expect(verified(views)).toEqual([true, true, true, true]);
    expect(views.filter(({ system }) => system.includes("You count sheep."))).toHaveLength(2);
  });

  test("EF-42 AG-13: a persistent agent that got another provider for each task shows every run as it was", async () => {
    const again = (provider: string) =>
      said(delegate("coder", { persistent: true, task: `On ${provider}`, provider }));
    const made = await mission([
      member(
        "lead",
        [again("p_writer"), again("p_coder"), again("p_writer"), done],
        "delegation: { providers: [p_coder, p_writer] }",
      ),
      member("coder", [done, done, done]),
      member("writer", [done, done, done]),
    ]);
    const views = viewsOf(made, "coder");
    expect(verified(views)).toEqual([true, true, true]);
    expect(views.map(({ provider }) => provider)).toEqual(["p_writer", "p_coder", "p_writer"]);
  });

  test("EF-42 AG-10: several agents called at once are verified", async () => {
    const made = await mission([
      member("lead", [said(spawn([task("coder"), task("writer")])), done]),
      member("coder", [said(["look", {}]), done]),
      member("writer", [said(["look", {}]), done]),
    ]);
    expect(verified([...viewsOf(made, "coder"), ...viewsOf(made, "writer")])).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });
});

describe("EF-42 MO-38: a model override", () => {
  const family = [
    member("lead", [said(delegate("coder")), done]),
    member("coder", [said(["look", {}]), done]),
  ];

  test.each(["main", "tree"] as const)(
    "EF-42 MO-38: set for %s while a called agent works: its turns stay verified when the override is gone",
    async (scope) => {
      const made = await crew(family);
      made.bench.hold = true;
      made.bench.send("Go");
      await made.bench.steps();
      made.bench.release();
      made.bench.hold = true;
      await made.bench.steps();
      made.bench.ok("patch", { model: "p_lead/play", scope });
      made.bench.hold = false;
      made.bench.release();
      await made.bench.idle();
      const expected = ["p_coder", scope === "tree" ? "p_lead" : "p_coder"];
      for (const change of [{}, { model: "p_coder/play", scope: "main" }, { model: null, scope: "tree" }]) {
        if ("model" in change) made.bench.ok("patch", change);
        const views = viewsOf(made, "coder");
        expect(verified(views)).toEqual([true, true]);
        expect(views.map(({ provider }) => provider)).toEqual(expected);
        expect(verified(viewsOf(made, "lead"))).toEqual([true, true]);
      }
      expect(eventsAs(made, "error")).toEqual([]);
    },
  );
});
