import { expect, test } from "vitest";
import { create, request } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** Lists and snapshots of long values, at their real sizes: no answer grows with what it is asked of (AP-7, AP-8, AP-24). */

/** What a page may have: its values, and a little beside them. */
const mostBytes = 4 * 2 ** 20 + 16_384;

/** So many millions of characters. */
const long = (millions: number) =>
  Array.from({ length: millions }, () => ({ type: "text", text: "x".repeat(1_000_000) }));

interface Row {
  readonly id: string;
}
interface Page {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
  readonly prev_cursor: string | null;
  readonly next_before: number | null;
}

interface Snapshot {
  readonly messages: readonly Row[];
  readonly inputs: readonly Row[];
  readonly more: {
    readonly messages: readonly { readonly thread: string; readonly before: number }[];
    readonly asks: string | null;
    readonly inputs: readonly string[];
  };
}

const read = async (
  { id }: Session,
  path: string,
): Promise<{ readonly body: Page & Snapshot; readonly bytes: number }> => {
  const answer = await request("GET", `/sessions/${id}${path}`);
  const text = await answer.text();
  expect(answer.status, text.slice(0, 300)).toBe(200);
  return { body: JSON.parse(text) as Page & Snapshot, bytes: text.length };
};

type Place = string | number | null;

/** The ids of each page from a place on, by the field that continues it and its parameter. */
const pagesOf = async (
  session: Session,
  list: string,
  [field, parameter]: readonly [keyof Page, string],
  from: Place = null,
): Promise<readonly (readonly string[])[]> => {
  const pages: (readonly string[])[] = [];
  for (let at = from; pages.length === 0 || at !== null;) {
    const { body, bytes } = await read(session, at === null ? list : `${list}&${parameter}=${at}`);
    expect(body.data.length).toBeGreaterThan(0);
    if (body.data.length > 1) expect(bytes).toBeLessThanOrEqual(mostBytes);
    pages.push(body.data.map(({ id }) => id));
    at = body[field] as Place;
  }
  return pages;
};

/** A session that was told so many millions of characters at a time. */
const told = async (...millions: readonly number[]): Promise<Session> => {
  const session = await create("vast");
  for (const [index, count] of millions.entries()) {
    const content = count === 0 ? "Go" : long(count);
    const sent = await session.call("POST", "/messages", { body: { id: `i${index}`, content } });
    expect(sent.status).toBe(202);
    await session.quiet();
  }
  return session;
};

test("AP-7 AP-8: a list of long inputs ends early with the cursor that goes on, forth and back, and leaves none out", async () => {
  const session = await told(3, 1, 0, 2, 3, 7);
  const list = "/inputs?limit=200";
  expect(await pagesOf(session, list, ["next_cursor", "cursor"])).toEqual([
    ["i5"],
    ["i4"],
    ["i3", "i2", "i1"],
    ["i0"],
  ]);
  const { body } = await read(session, list);
  const { body: second } = await read(session, `${list}&cursor=${body.next_cursor}`);
  const { body: third } = await read(session, `${list}&cursor=${second.next_cursor}`);
  const back = await pagesOf(session, list, ["prev_cursor", "cursor"], third.prev_cursor);
  expect(back).toEqual([["i4"], ["i5"]]);
});

test("AP-24 AP-8: a snapshot of long messages holds the newest that fit and says where the rest is, over HTTP and a socket", async () => {
  const session = await told(3, 2, 3, 1, 0);
  const whole = (await pagesOf(session, "/messages?limit=200", ["next_before", "before"]))
    .toReversed()
    .flat();
  expect(new Set(whole).size).toBe(whole.length);
  expect(whole.length).toBeGreaterThanOrEqual(5);
  const { body, bytes } = await read(session, "/snapshot");
  expect(bytes).toBeLessThanOrEqual(mostBytes);
  const [more] = body.more.messages;
  expect(body.more).toEqual({
    messages: [{ thread: "main", before: expect.any(Number) }],
    asks: null,
    inputs: [],
  });
  const before = ["next_before", "before"] as const;
  const rest = await pagesOf(session, "/messages?limit=200", before, more?.before);
  expect([...rest.toReversed().flat(), ...body.messages.map(({ id }) => id)]).toEqual(whole);
  const watch = await session.watch({});
  const frame = await watch.until(({ type }) => type === "snapshot");
  expect(frame["snapshot"]).toEqual(body);
  watch.close();
});

test("AP-24 AP-8: a snapshot names the long inputs that wait and do not fit", async () => {
  const session = await create("ask", "Go");
  await session.settled();
  for (const id of ["a", "b", "c"]) {
    const body = { id, content: long(3), on_busy: "queue" };
    expect((await session.call("POST", "/messages", { body })).status).toBe(202);
  }
  const { body, bytes } = await read(session, "/snapshot");
  expect(bytes).toBeLessThanOrEqual(mostBytes);
  expect([body.inputs.map(({ id }) => id), body.more.inputs]).toEqual([["a"], ["b", "c"]]);
});
