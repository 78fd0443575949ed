import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Input } from "../../../src/agent/state/thread.ts";
import { eventsAs, resultsOf } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { textsOf } from "../loop/play.ts";
import type { Played } from "./announcement-play.ts";
import { isGentle, moves, playThrough, team } from "./announcement-play.ts";
import { sizeOf } from "../../support/random-size.ts";

/** Random work in the background, while people and crashes interfere: every result reaches the person once, told by a run or as it is. */

/** The same, with its log read once for all the looks at it. */
const logRead = (played: Played): Played => {
  const events = played.bench.events();
  return { ...played, bench: { ...played.bench, events: () => events } };
};

const inputsOf = ({ bench }: Played): readonly Input[] =>
  bench.rows("inputs").map(({ json }) => JSON.parse(String(json)) as Input);

/** What agents told `main`. */
const toldOf = (played: Played): readonly Input[] =>
  inputsOf(played).filter(({ origin, thread }) => origin === "agent" && thread === "main");

/** A run of `main`: the events that begin and end it, the inputs it took, and whether it had a word for the person at its end. */
interface MainRun {
  readonly id: string;
  readonly begin: number;
  readonly end: number;
  readonly inputs: readonly string[];
  readonly light: boolean;
  readonly tells: boolean;
}

const runsOf = (played: Played): readonly MainRun[] => {
  const lights = new Set(inputsOf(played).flatMap(({ id, light }) => (light === true ? [id] : [])));
  const starts = new Map(eventsAs(played, "run_start").map((start) => [start.run, start]));
  const applied = eventsAs(played, "input_applied");
  return eventsAs(played, "run_end").flatMap(({ thread, run: id = "", seq: end, data }) => {
    const start = starts.get(id);
    if (thread !== "main" || start === undefined) return [];
    const joined = applied.flatMap(({ run, data: { input } }) => (run === id ? [input] : []));
    const inputs = [...new Set([...start.data.inputs, ...joined])];
    const light = lights.has(start.data.inputs[0] ?? "");
    const words = data.message !== null || data.reason === "terminal_tool";
    const tells = data.state === "completed" && words && !light && inputs.length > 0;
    return [{ id, begin: start.seq, end, inputs, light, tells }];
  });
};

/** Ids of the runs whose model was shown a text. */
const shownTo = ({ bench }: Played, text: string): ReadonlySet<string> =>
  new Set(
    bench.requests
      .filter(({ context }) => context.purpose !== "compaction")
      .filter(({ messages }) => messages.some((message) => textsOf(message).includes(text)))
      .map(({ context: { run } }) => run),
  );

/** Numbers of the events in which what an agent told is said to the person as it is. */
const saidRaw = (played: Played, text: string): readonly number[] =>
  eventsAs(played, "message_added").flatMap(({ seq, thread, data: { message } }) => {
    const isRaw = thread === "main" && message.role === "assistant" && message.origin === "agent";
    return isRaw && textsOf(message).includes(text) ? [seq] : [];
  });

/** Told = a run whose model saw it completed with a word for the person: each result is told, by one run that took it at most, or said as it is, once, and never first told and then said (AG-31). */
const checkResult = (played: Played, runs: readonly MainRun[], { id, content }: Input): void => {
  const text = textsOf({ parts: content });
  const raws = saidRaw(played, text);
  expect(raws.length, `${id} is said as it is once at most`).toBeLessThanOrEqual(1);
  const saw = shownTo(played, text);
  const before = raws[0] ?? Infinity;
  const told = runs.filter((run) => run.tells && saw.has(run.id) && run.end < before);
  if (raws.length === 1) expect(told, `${id} was told, then said as it is`).toEqual([]);
  else expect(told, `${id} was told to nobody`).not.toEqual([]);
  const by = runs.filter((run) => run.tells && run.inputs.includes(id));
  expect(by.length, `${id} is announced by one run at most`).toBeLessThanOrEqual(1);
};

/** What an agent tells comes in once and leaves the inbox once, and only a question may go back (AG-30). */
const checkFate = (played: Played, { id, question }: Input): void => {
  const has = (type: "input_accepted" | "input_applied" | "input_returned"): number =>
    eventsAs(played, type).filter(({ data }) => data.input === id).length;
  expect(has("input_accepted"), `${id} comes in once`).toBe(1);
  const returned = question === undefined ? 0 : has("input_returned");
  expect(has("input_applied") + returned, `${id} leaves the inbox once`).toBe(1);
};

/** A light run takes nothing that agents tell, the lead has it before it once at most, and a question is never said to the person as it is (AG-28). */
const checkTold = (played: Played): void => {
  const runs = runsOf(played);
  const heard = played.bench.chat().filter(({ role }) => role === "user");
  for (const input of toldOf(played)) {
    const { id, question, content } = input;
    checkFate(played, input);
    const text = textsOf({ parts: content });
    const copies = heard.filter((message) => textsOf(message).includes(text));
    expect(copies.length, `${id} is before the lead once at most`).toBeLessThanOrEqual(1);
    const lights = runs.filter((run) => run.light && run.inputs.includes(id));
    expect(lights, `${id} is left to a run that tells`).toEqual([]);
    if (question === undefined) checkResult(played, runs, input);
    else expect(saidRaw(played, text), `${id} is asked of no person`).toEqual([]);
  }
};

/** Every call that went to the background has told what came of it (AG-30). */
const checkNoneLost = (played: Played): void => {
  const told = toldOf(played).map(({ id }) => id);
  const results = resultsOf(played).join("\n");
  for (const [, child] of results.matchAll(/"child":"(t_\w+)","state":"running"/g))
    expect(
      told.some((id) => id.startsWith(`in_${child}_`)),
      `${child} has told its end`,
    ).toBe(true);
  for (const [, dispatch] of results.matchAll(/"dispatch":"(d_\w+)"/g))
    expect(told, `${dispatch} has told its report`).toContain(`in_${dispatch}`);
};

/** Between a stop and what a person wants next, no run starts (SE-27). */
const checkStops = (played: Played): void => {
  for (const { from, to } of played.stops) {
    const begun = runsOf(played).filter(({ begin }) => begin > from && begin <= (to ?? Infinity));
    expect(begun, "nothing starts by itself after a stop").toEqual([]);
  }
};

test("AG-28 AG-30 AG-31 SE-27: random work in the background, people and crashes: every result reaches the person once, and nothing starts after a stop", async () => {
  await fc.assert(
    fc.asyncProperty(team, moves, fc.boolean(), async (members, made, instant) => {
      const played = logRead(await playThrough(members, made, instant));
      checkInvariants(played.bench, [], played.probe);
      const main = played.bench.state().threads["main"];
      expect([main?.run, main?.inbox, main?.announce]).toEqual([null, [], null]);
      checkTold(played);
      checkStops(played);
      if (isGentle(members, made)) checkNoneLost(played);
    }),
    sizeOf(150, 99),
  );
});
