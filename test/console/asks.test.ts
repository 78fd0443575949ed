import { afterEach, expect, test, vi } from "vitest";
import type { TranscriptAsk } from "../../src/client/transcript.ts";
import { describeClosed, isSaidByAnswer } from "../../src/console/asks/closed.ts";
import { keepEdit, listViews, readEdit, readVersion } from "../../src/console/asks/edits.ts";
import { limitUnit, writeAmount } from "../../src/console/asks/limits.ts";
import { draftOf } from "../../src/console/asks/subject.ts";
import { describePermission } from "../../src/console/calls/outcomes.ts";
import { play } from "../agent/loop/play.ts";
import { done, replies, said } from "../support/scripts.ts";
import { foldSince } from "../support/transcripts.ts";

test("AP-54: what would run is the input of the model until its text is changed, then that of the person", () => {
  const input = { path: "a.md", content: "tide", mode: "new" };
  const draft = draftOf("fs_write", input);
  expect(readVersion(draft, input, "tide")).toEqual({ text: "tide", isChanged: false, run: { input } });
  const changed = readVersion(draft, input, "ebb");
  expect(changed).toMatchObject({ isChanged: true, run: { input: { ...input, content: "ebb" } } });
  expect(listViews(changed, false)).toEqual(["thing", "edit", "changes", "input"]);
});

test("AP-54: a version that is no input can be edited and compared, and no other view shows anything in its place", () => {
  const input = { key: "letter" };
  const broken = readVersion(draftOf("shared_state_set", input), input, "{");
  expect(broken).toEqual({ text: "{", isChanged: true, run: null });
  expect(listViews(broken, false)).toEqual(["edit", "changes"]);
});

test("AP-54: the view of the editor is there while it is open, or something was changed in it", () => {
  const input = { key: "letter" };
  const draft = draftOf("shared_state_set", input);
  const version = readVersion(draft, input, draft.text);
  expect(listViews(version, false)).toEqual(["thing", "input"]);
  expect(listViews(version, true)).toEqual(["thing", "edit", "input"]);
});

afterEach(() => {
  vi.unstubAllGlobals();
});

test("AP-54: what was changed in an approval is kept in its tab by its ask until it is undone", () => {
  const kept = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
    removeItem: (name: string) => void kept.delete(name),
  });
  keepEdit("ask_1", "mine");
  keepEdit("ask_2", "other");
  expect([readEdit("ask_1"), readEdit("ask_2"), readEdit("ask_3")]).toEqual(["mine", "other", null]);
  keepEdit("ask_1", null);
  expect([readEdit("ask_1"), kept.size]).toEqual([null, 1]);
});

test("AP-54 TB-8: the row of an approval says how far it reaches", () => {
  const closed: TranscriptAsk = {
    id: "ask_far",
    kind: "approval",
    thread: "main",
    run: "run_1",
    call: "call_1",
    status: "resolved",
    opened_at: 0,
    seq: 1,
    expires_at: 1,
    closed_at: 1,
  };
  const whoOf = (reach: Pick<NonNullable<TranscriptAsk["resolution"]>, "remember"> = {}) =>
    describeClosed({ ...closed, resolution: { decision: "approve", by: "dev", ...reach } }, "dev", null).who;
  expect(whoOf()).toBe("You approved");
  expect(whoOf({ remember: "agent" })).toBe("You approved for every session with this agent");
  expect(whoOf({ remember: "session" })).toBe("You approved for this session");
  const seenBy = (own: string, by: string) =>
    describeClosed({ ...closed, resolution: { decision: "approve", by } }, own, null).who;
  expect(seenBy("abc", "abc")).toBe("You approved");
  expect(seenBy("abc", "operator")).toBe("The operator approved");
  expect(seenBy("abc", "dev")).toBe("Somebody approved");
  expect(seenBy("operator", "operator")).toBe("You approved");
});

const day = 86_400_000;

/** Plays one call until what it asked has expired, and says of it what the console says. */
const expire = async (
  tool: string,
  args: object,
  options: { readonly team?: string; readonly agent?: string },
) => {
  const { bench } = await play(replies(said([tool, args]), done), options);
  bench.send("Go");
  await bench.idle();
  await bench.pass(day);
  const { entries = [] } = foldSince(null, bench.events()).threads[0] ?? {};
  return entries.flatMap((entry) => {
    const ask = "ask" in entry ? entry.ask : "asks" in entry ? entry.asks[0] : null;
    if (ask === null || ask === undefined) return [];
    const { who, said: beside } = describeClosed(ask, "dev", null);
    const by = entry.kind === "call" ? describePermission(entry, "dev")?.by : undefined;
    return [{ words: `${who} · ${beside}`, isSaid: isSaidByAnswer(ask), by }];
  });
};

test("AP-54: the row of an ask that nobody answered says what was done instead, and shows the result of a call that ran", async () => {
  const rule = (more: string) => ({
    team: `permissions: { rules: [{ tool: fire, action: ask, ask_timeout: 30m${more} }] }`,
  });
  const late = "nobody answered in time";
  expect(await expire("fire", { name: "a" }, rule(", on_timeout: approve"))).toEqual([
    {
      words: `Approved by itself · ${late}`,
      isSaid: false,
      by: "The clock, asked because of the rule “ask fire”",
    },
  ]);
  expect(await expire("fire", { name: "a" }, rule(""))).toMatchObject([
    { words: `Denied by itself · ${late}`, isSaid: true },
  ]);
  const asks = (onTimeout: string) => ({
    team: `limits: { asks: { timeout: 30s, on_timeout: ${onTimeout} } }`,
  });
  expect(await expire("ask_user", { question: "q" }, asks("continue"))).toMatchObject([
    { words: `Went on by itself · ${late}`, isSaid: true },
  ]);
  expect(await expire("ask_user", { question: "q" }, asks("fail"))).toMatchObject([
    { words: `Stopped by itself · ${late}`, isSaid: true },
  ]);
});

test.each([
  ["max_cost_usd", 0.604_21, "0.6043", "USD"],
  ["max_cost_usd", 0.3, "0.3", "USD"],
  ["max_cost_usd", 1.1, "1.1", "USD"],
  ["max_duration", 61_900, "61.9", "seconds of model time"],
  ["max_tokens", 12_001, "12001", "tokens"],
])(
  "AP-54: the least new limit of %s is written in the field's unit, and is enough as it is written",
  (kind, least, words, unit) => {
    const { one, word } = limitUnit(kind);
    expect(writeAmount(limitUnit(kind), least)).toBe(words);
    expect(Number(words) * one).toBeGreaterThanOrEqual(least);
    expect(word).toBe(unit);
  },
);
