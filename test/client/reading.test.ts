import { expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import type { SnapshotBody } from "../../src/client/fold/start.ts";
import { createHttp } from "../../src/client/http.ts";
import { beginReading, continueReading, readEarlier } from "../../src/client/reading.ts";
import type { Reading } from "../../src/client/reading.ts";

/** What an open session keeps of a long log, and what it reads again, against a server that the test plays. */

const eventOf = (seq: number): StoredEvent => ({
  v: 1,
  id: `e${seq}`,
  seq,
  at: seq,
  session: "s",
  thread: "main",
  agent: { name: "a", prefix: "" },
  type: "error",
  data: { code: "internal", message: `Number ${seq}`, retryable: false },
});

const eventsOf = (from: number, to: number): readonly StoredEvent[] =>
  Array.from({ length: to - from + 1 }, (_, at) => eventOf(from + at));

const snapshotAt = (seq: number) =>
  ({
    seq,
    session: { id: "s", usage: {} },
    threads: [],
    asks: [],
    inputs: [],
    runs: [],
  }) as unknown as SnapshotBody;

/** A server with so many events. */
const serve = (head: number) => {
  const asked: string[] = [];
  const http = createHttp({
    url: "http://limpet.test",
    fetch: async (address) => {
      const { pathname, searchParams, search } = new URL(new Request(address).url);
      if (pathname.endsWith("/snapshot")) return Response.json(snapshotAt(head));
      asked.push(search);
      const [after, before, limit] = ["after", "before", "limit"].map((name) =>
        Number(searchParams.get(name)),
      );
      const last = Math.min(Number(after) + Number(limit), Number(before) - 1);
      return Response.json({ data: eventsOf(Number(after) + 1, last), next_after: last });
    },
  });
  return { address: { http, path: "/v1/sessions/s" }, asked };
};

const feed = (reading: Reading, from: number, to: number): Reading =>
  continueReading(
    reading,
    eventsOf(from, to).map((event) => ({ type: "event", event })),
  );

const entriesOf = ({ folded }: Reading): readonly number[] =>
  (folded.transcript.threads[0]?.entries ?? []).map(({ seq }) => seq);

const seqs = (from: number, to: number): readonly number[] => eventsOf(from, to).map(({ seq }) => seq);

test("AP-51: of a long log the newest 2,000 events are kept, and every entry that they made", async () => {
  const { address } = serve(900);
  let reading = await beginReading(address, new AbortController().signal);
  expect(reading.from).toBe(500);
  for (let from = 501; from < 6_500; from += 1_000) reading = feed(reading, from, from + 999);
  expect(reading.log.map(({ seq }) => seq)).toEqual(seqs(4_501, 6_500));
  expect(entriesOf(reading)).toEqual(seqs(501, 6_500));
});

test("AP-51: earlier entries are read with the events that were dropped meanwhile, and what came during the reading stays", async () => {
  const { address, asked } = serve(3_900);
  let reading = await beginReading(address, new AbortController().signal);
  reading = feed(reading, 3_501, 6_500);
  const change = await readEarlier(address, reading);
  reading = change(feed(reading, 6_501, 6_600));
  expect(asked.map((search) => /after=(\d+)/.exec(search)?.[1])).toEqual(["2500", "3500"]);
  expect(reading.from).toBe(2_500);
  expect(entriesOf(reading)).toEqual(seqs(2_501, 6_600));
  expect(reading.log.map(({ seq }) => seq)).toEqual(seqs(4_601, 6_600));
});

test("AP-51: a reading that ran far ahead while earlier events came is left as it is, and asked again", async () => {
  const { address } = serve(900);
  let reading = feed(await beginReading(address, new AbortController().signal), 501, 3_000);
  const change = await readEarlier(address, reading);
  reading = feed(reading, 3_001, 6_000);
  expect(change(reading)).toBe(reading);
  const again = (await readEarlier(address, reading))(reading);
  expect(entriesOf(again)).toEqual(seqs(1, 6_000));
});

test("AP-51: events from a far one on are read with one reading, each once", async () => {
  const { address, asked } = serve(20_900);
  let reading = await beginReading(address, new AbortController().signal);
  reading = feed(reading, 20_501, 20_900);
  reading = (await readEarlier(address, reading, 301))(reading);
  expect(asked).toHaveLength(21);
  expect(reading.from).toBe(300);
  expect(entriesOf(reading)).toEqual(seqs(301, 20_900));
  reading = (await readEarlier(address, reading, 301))(reading);
  expect(reading.from).toBe(0);
});
