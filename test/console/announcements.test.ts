import { expect, test } from "vitest";
import type { StoredEvent } from "../../src/client/index.ts";
import type { OpenSession, Transcript } from "../../src/client/transcript.ts";
import { announceEvents } from "../../src/console/state/announcements.ts";

/** AP-54: sentences for who listens instead of looking. */

type Ask = Pick<Transcript["asks"][number], "id" | "kind">;

/** A session that is shown, as far as announcements look at it. */
const openFake = (isNew = false) => {
  let events: readonly unknown[] = [];
  let snapshot: { status: Transcript["status"]; seq: number; asks: readonly Ask[] } = {
    status: "connecting",
    seq: 0,
    asks: [],
  };
  let listener = (): void => undefined;
  const told: string[] = [];
  const open: Pick<OpenSession, "getEvents" | "getSnapshot" | "subscribe"> = {
    getEvents: () => events as readonly StoredEvent[],
    getSnapshot: () => snapshot as unknown as Transcript,
    subscribe: (given) => {
      listener = given;
      return () => undefined;
    },
  };
  announceEvents(open as OpenSession, (sentence) => void told.push(sentence), isNew);
  return {
    told,
    show: (status: Transcript["status"], more: readonly object[] = [], asks: readonly Ask[] = []): void => {
      events = [...events, ...more.map((event, at) => ({ seq: events.length + at + 1, ...event }))];
      snapshot = { status, seq: events.length, asks };
      listener();
    },
  };
};

const place = { thread: "main", agent: { name: "guide" } };
const ask = (id: string) => ({
  ...place,
  type: "ask_user",
  data: { ask: { id, kind: "question", question: { text: `${id}?` } } },
});
const end = { ...place, type: "run_end", data: { state: "completed" } };

test("AP-54: what happens while the page is live is announced, and nothing of before", () => {
  const { told, show } = openFake();
  show("connecting", [ask("old")]);
  show("live", [], [{ id: "old", kind: "question" }]);
  expect(told).toEqual([]);
  show("live", [ask("new"), end]);
  expect(told).toEqual(["guide asks you: new?", "guide is done"]);
});

test("AP-54: of what is replayed after a break only asks that are still open are announced", () => {
  const { told, show } = openFake();
  show("live");
  show("offline");
  show("connecting", [ask("answered"), end]);
  show("connecting", [ask("open")]);
  show("live", [end], [{ id: "open", kind: "question" }]);
  expect(told).toEqual(["guide asks you: open?"]);
  show("live", [end]);
  expect(told).toEqual(["guide asks you: open?", "guide is done"]);
});

test("AP-54: of a session that the page has just created all is announced, however late the page is live", () => {
  const { told, show } = openFake(true);
  show("connecting", [ask("first")]);
  show("connecting", [end]);
  show("live", [ask("second")]);
  expect(told).toEqual(["guide asks you: first?", "guide is done", "guide asks you: second?"]);
  show("offline");
  show("connecting", [end]);
  show("live", [end]);
  expect(told).toHaveLength(3);
});

test("AP-54: of a session that the page has just created all is announced, also if the first try to read it fails", () => {
  const { told, show } = openFake(true);
  show("offline");
  show("connecting");
  show("live", [end]);
  expect(told).toEqual(["guide is done"]);
});
