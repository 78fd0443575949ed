import { describe, expect, test } from "vitest";
import type { Crew } from "../../support/crew.ts";
import {
  chatOf,
  childIds,
  crew,
  delegate,
  endings,
  eventsAs,
  leadEnds,
  member,
  rawIn,
  toRest,
} from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { said } from "../../support/scripts.ts";
import { textsOf } from "../loop/play.ts";

/** After a stop nothing starts by itself, and a run's own end stops only what it waits for; no result is lost by either (AG-28 to AG-31, SE-27). */

const announcing = (retries: number, more = ""): string =>
  `delegation: { async: true, announce: { timeout: 30s, retries: ${retries}, backoff: 2s } }\n${more}`;

const later = (agent: string) => delegate(agent, { async: true });

const look = (name = "") => said(["look", { name }]);

const coder = member("coder", [look("c"), said("Coded.")]);

const silent = "{ reply: [{ reasoning: Hm. }] }";

const failed = "failed:max_iterations";

const steps = async ({ bench }: Crew): Promise<void> => {
  for (let round = 0; round < 4; round++) await bench.steps();
};

const finished = async (made: Crew, name: string): Promise<void> => {
  made.probe.calls.find((call) => call.name === name)?.finish();
  await steps(made);
};

const coded = [expect.stringContaining('"result":"Coded."') as string];

/** The lead announces the coder's result, and has got as far as `look(l)`. */
const telling = async (after: readonly string[], yaml: string): Promise<Crew> => {
  const made = await crew(
    [member("lead", [said(later("coder")), said("Started."), look("l"), ...after], yaml), coder],
    {
      instant: false,
    },
  );
  made.bench.send("Go");
  await steps(made);
  await finished(made, "c");
  expect(made.bench.state().threads["main"]?.run?.announces).toBe(true);
  return made;
};

/** An announcement has failed, and is to be tried again. */
const untold = async (...after: readonly string[]): Promise<Crew> => {
  const yaml = announcing(2, "options: { max_iterations: 2 }");
  const made = await crew([
    member("lead", [said(later("coder")), said("Started."), look(), look(), ...after], yaml),
    coder,
  ]);
  made.bench.send("Go");
  await made.bench.idle();
  expect(leadEnds(made)).toEqual(["completed:end_turn", failed]);
  return made;
};

describe("AG-31 SE-27: a person who cancels gets the result as it is, once, and nothing starts by itself", () => {
  test("AG-31 SE-27: the announcing run", async () => {
    const made = await telling([said("The coder is done.")], announcing(2));
    made.bench.ok("cancel", {});
    await made.bench.pass(5_000);
    await toRest(made);
    expect(leadEnds(made)).toEqual(["completed:end_turn", "cancelled:cancelled"]);
    expect(rawIn(made)).toEqual(coded);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-31 SE-27: a run of their own that has taken it", async () => {
    const lead = member("lead", [said(later("coder")), look("l"), look("m"), said("Done.")], announcing(2));
    const made = await crew([lead, coder], { instant: false });
    made.bench.send("Go");
    await steps(made);
    await finished(made, "c");
    await finished(made, "l");
    expect(made.probe.names()).toContain("look(m)");
    made.bench.ok("cancel", {});
    await made.bench.pass(5_000);
    await toRest(made);
    expect(leadEnds(made)).toEqual(["cancelled:cancelled"]);
    expect(rawIn(made)).toEqual(coded);
  });

  test("AG-31 SE-27: between two tries, at rest", async () => {
    const made = await untold(said("The coder is done."));
    made.bench.ok("cancel", {});
    expect(made.bench.alarm()).toBeNull();
    await toRest(made);
    expect(leadEnds(made)).toHaveLength(2);
    expect(rawIn(made)).toEqual(coded);
    made.bench.ok("cancel", {});
    expect(rawIn(made)).toHaveLength(1);
  });

  test.each([{}, { light: true }])(
    "AG-31 SE-27: between two tries, a run of their own: %o",
    async (input) => {
      const made = await untold(look("p"), said("The coder is done."));
      made.probe.instant = false;
      made.bench.send("Hm", input);
      await steps(made);
      made.bench.ok("cancel", {});
      await made.bench.pass(5_000);
      await toRest(made);
      expect(leadEnds(made).slice(2)).toEqual(["cancelled:cancelled"]);
      expect(rawIn(made)).toEqual(coded);
    },
  );

  test("AG-31 SE-27 SE-31: after_turn, the announcing run, whose last turn fails", async () => {
    const guard = "middleware: [{ kind: output_guardrail, params: { must_not_contain: [bad] } }]";
    const made = await telling([said("bad"), said("The coder is done.")], announcing(2, guard));
    made.bench.hold = true;
    await finished(made, "l");
    made.bench.ok("cancel", { mode: "after_turn" });
    made.bench.release();
    await toRest(made);
    expect(leadEnds(made)).toEqual(["completed:end_turn", "failed:output_invalid"]);
    expect(rawIn(made)).toEqual(coded);
  });

  test("AG-18 SE-27: an agent, then everything above it: its end is told to nobody", async () => {
    const lead = member(
      "lead",
      [said(later("coder")), said("Started."), said("It was stopped.")],
      announcing(2),
    );
    const made = await crew([lead, member("coder", [said(["fire", {}]), said("Coded.")])], {
      instant: false,
    });
    made.bench.send("Go");
    await steps(made);
    made.bench.ok("cancel", { thread: childIds(made)[0] });
    await steps(made);
    made.bench.ok("cancel", {});
    await made.bench.tick(5_000);
    await toRest(made);
    expect(endings(made)).toEqual(["lead completed:end_turn", "coder cancelled:cancelled"]);
  });
});

test("AG-31 SE-13: a run that completes without a word tells nobody: it is tried again", async () => {
  const made = await telling([silent, silent, silent, said("The coder is done.")], announcing(2));
  await toRest(made);
  expect(leadEnds(made)).toEqual(["completed:end_turn", "completed:end_turn", "completed:end_turn"]);
  expect(chatOf(made, "main").map(textsOf).at(-1)).toBe("The coder is done.");
  expect(rawIn(made)).toEqual([]);
  checkInvariants(made.bench, ["in_1"]);
});

describe("AG-31 EF-27: a result that was compacted between two tries is told again", () => {
  const beat = said("Heartbeat fine.");
  const long = said("A long answer. ".repeat(400));
  const compacted = async (...after: readonly string[]): Promise<Crew> => {
    const lead = [
      long,
      long,
      said(later("coder")),
      said("Started."),
      said("bad"),
      said("A summary."),
      ...after,
    ];
    const guard = "middleware: [{ kind: output_guardrail, params: { must_not_contain: [bad] } }]";
    const made = await crew([member("lead", lead, announcing(2, guard)), coder]);
    for (const text of ["One", "Two", "Go"]) {
      made.bench.send(text);
      await made.bench.idle();
    }
    expect(leadEnds(made).at(-1)).toBe("failed:output_invalid");
    made.bench.send("Beat. ".repeat(400), { light: true });
    await made.bench.idle();
    made.bench.ok("compact", {});
    await made.bench.idle();
    expect(made.bench.chat().map(textsOf).join("\n")).not.toContain("Coded.");
    return made;
  };
  const seen = ({ bench }: Crew): number =>
    bench.requests.at(-1)?.messages.filter((each) => textsOf(each).includes('"result":"Coded."')).length ?? 0;

  test("AG-31 EF-27: to the next try", async () => {
    const made = await compacted(said("bad"), said("The coder is done."));
    await made.bench.pass(2_000);
    expect([leadEnds(made).at(-1), seen(made)]).toEqual(["failed:output_invalid", 1]);
    await toRest(made);
    expect([leadEnds(made).at(-1), seen(made)]).toEqual(["completed:end_turn", 1]);
    expect(rawIn(made)).toEqual([]);
    checkInvariants(made.bench, ["in_1"]);
  });

  test("AG-31 EF-27: to a person's own run, which ends the matter, and to no light one", async () => {
    const made = await compacted(beat, said("The coder is done."));
    made.bench.send("Beat", { light: true });
    await made.bench.idle();
    expect(seen(made)).toBe(0);
    made.bench.send("And?");
    await made.bench.idle();
    expect(seen(made)).toBe(1);
    expect(made.bench.alarm()).toBeNull();
  });

  test("AG-31 EF-27: to a run that compacts before it asks the model", async () => {
    const made = await telling([said("A summary."), said("The coder is done.")], announcing(2));
    made.bench.ok("compact", {});
    made.bench.send("And?", { on_busy: "queue" });
    await made.bench.tick(30_000);
    await toRest(made);
    expect(leadEnds(made)).toEqual(["completed:end_turn", "failed:deadline_exceeded", "completed:end_turn"]);
    expect(made.bench.requests.slice(-2).map(({ context }) => context.purpose)).toEqual([
      "compaction",
      "turn",
    ]);
    expect(seen(made)).toBe(1);
  });
});

describe("AG-30: an announcing run whose time is over", () => {
  test("AG-30 AG-31: ends the agent that it waits for, and none that nobody waits for", async () => {
    const made = await crew(
      [
        member(
          "lead",
          [
            said(later("coder"), later("writer")),
            said("Started."),
            said(delegate("editor")),
            said("Written, too."),
          ],
          announcing(0),
        ),
        coder,
        member("writer", [look("w"), said("Written.")]),
        member("editor", [look("e"), said("Edited.")]),
      ],
      { instant: false },
    );
    made.bench.send("Go");
    await steps(made);
    await finished(made, "c");
    await made.bench.tick(30_000);
    await made.bench.tick(5_000);
    await toRest(made);
    expect(endings(made)).toEqual([
      "lead completed:end_turn",
      "coder completed:end_turn",
      "editor cancelled:cancelled",
      "lead failed:deadline_exceeded",
      "writer completed:end_turn",
      "lead completed:end_turn",
    ]);
    expect(rawIn(made)).toEqual(coded);
    const told = made.bench.requests.at(-1)?.messages.map(textsOf) ?? [];
    expect(told.filter((text) => text.includes('"result":"Written."'))).toHaveLength(1);
  });

  test("AG-28 AG-30: leaves the agent whose question it answered at work; its result is told when it comes", async () => {
    const question = "{{results.check_children.0.question.id}}";
    const answer = { child: "{{results.check_children.0.child}}", question, answer: "Blue" };
    const made = await crew(
      [
        member(
          "lead",
          [
            said(delegate("coder", { async: true, mode: "interactive" })),
            said("Started."),
            said(["check_children", {}]),
            said(["answer_child", answer]),
            said("The coder is done."),
          ],
          announcing(1),
        ),
        member("coder", [
          look("c"),
          said(["request_input", { question: "Colour?" }]),
          look("d"),
          said("Coded."),
        ]),
      ],
      { instant: false },
    );
    made.bench.send("Go");
    await steps(made);
    await finished(made, "c");
    expect(made.probe.names()).toEqual(["look(c)", "look(d)"]);
    await made.bench.tick(30_000);
    await steps(made);
    expect(leadEnds(made)).toEqual(["completed:end_turn", "failed:deadline_exceeded"]);
    expect(made.bench.state().threads[childIds(made)[0] ?? ""]?.run?.cancel).toBeNull();
    await made.bench.tick(2_000);
    await steps(made);
    await toRest(made);
    expect(endings(made).slice(2)).toEqual(["coder completed:end_turn", "lead completed:end_turn"]);
    expect(chatOf(made, "main").map(textsOf).at(-1)).toBe("The coder is done.");
    checkInvariants(made.bench, ["in_1"]);
  });
});

describe("AG-28 AG-31: a question of an agent that works in the background", () => {
  const asks = member("coder", [look("c"), said(["request_input", { question: "Colour?" }]), said("Coded.")]);
  const asked = async (retries: number, ...after: readonly string[]): Promise<Crew> => {
    const made = await crew(
      [
        member(
          "lead",
          [said(delegate("coder", { async: true, mode: "interactive" })), said("Started."), ...after],
          announcing(retries, "options: { max_iterations: 2 }"),
        ),
        asks,
      ],
      { instant: false },
    );
    made.bench.send("Go");
    await steps(made);
    await finished(made, "c");
    return made;
  };

  test("AG-28 AG-31: that every run left open is asked again, and is no text for a person at last", async () => {
    const made = await asked(1, look("l"), look(), look(), look());
    await toRest(made);
    expect(leadEnds(made).slice(0, 3)).toEqual(["completed:end_turn", failed, failed]);
    expect(
      chatOf(made, "main")
        .filter(({ role, origin }) => role === "assistant" && origin === "agent")
        .map(textsOf)
        .join(),
    ).not.toContain("answer_child");
    expect(chatOf(made, "main").map(textsOf).join("\n")).toContain('"result":"Coded."');
  });

  test("AG-28 SE-27: is no text for a person who stops the run that took it", async () => {
    const made = await asked(1, look("l"));
    made.bench.ok("cancel", {});
    await made.bench.pass(5_000);
    await toRest(made);
    expect(leadEnds(made)).toEqual(["completed:end_turn", "cancelled:cancelled"]);
    expect(
      chatOf(made, "main")
        .filter(({ role }) => role === "assistant")
        .map(textsOf)
        .join("\n"),
    ).not.toContain("Colour?");
  });

  test("AG-28 SE-27: is no text for a person who stops the run that has not taken it yet", async () => {
    const lead = [said(delegate("coder", { async: true, mode: "interactive" })), look("l"), said("Started.")];
    const made = await crew([member("lead", lead, announcing(1)), asks], { instant: false });
    made.bench.send("Go");
    await steps(made);
    await finished(made, "c");
    expect(made.bench.state().threads["main"]?.inbox.map(({ question }) => question)).toHaveLength(1);
    made.bench.ok("cancel", {});
    await made.bench.pass(5_000);
    await toRest(made);
    expect(leadEnds(made)).toEqual(["cancelled:cancelled"]);
    expect(chatOf(made, "main").map(textsOf).join("\n")).not.toContain("Colour?");
    expect(eventsAs(made, "input_returned").map(({ data }) => data.reason)).toEqual(["cancelled"]);
    checkInvariants(made.bench, ["in_1"]);
  });
});

test("AG-31 SE-25: a person who joins an announcement has the time of a run of their own", async () => {
  const made = await telling([look("m"), said("Both.")], announcing(1));
  made.bench.send("And the rest?", { on_busy: "steer" });
  await finished(made, "l");
  expect(made.probe.names()).toContain("look(m)");
  await made.bench.tick(60_000);
  await steps(made);
  await toRest(made);
  expect(leadEnds(made)).toEqual(["completed:end_turn", "completed:end_turn"]);
  expect(chatOf(made, "main").map(textsOf).at(-1)).toBe("Both.");
});
