import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createClient, LimpetError } from "../../src/client/index.ts";
import { createReader } from "../../src/console/parts/reader.ts";
import { untilReached } from "../../src/console/state/again.ts";
import { createApi } from "../../src/console/state/api.ts";
import { createSessions } from "../../src/console/state/sessions.ts";

/** AP-54: the console with a server that is slow or silent, on a clock that tests move. */

interface Held {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly at: number;
  readonly signal: AbortSignal;
  readonly answer: (body: object, status?: number) => void;
}

/** A server that answers when the test says so, or after a while, if it is given one. */
const serveSlowly = (after = Infinity) => {
  const held: Held[] = [];
  const begun = Date.now();
  const client = createClient({
    url: "http://limpet.test",
    fetch: (address, init) => {
      const { pathname, search } = new URL(new Request(address).url);
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      const signal = init?.signal ?? new AbortController().signal;
      const answer: Held["answer"] = (body, status = 200) => resolve(Response.json(body, { status }));
      signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
      if (after < Infinity) setTimeout(() => answer(answerTo(pathname)), after);
      held.push({
        method: init?.method ?? "",
        path: pathname,
        search,
        at: Date.now() - begun,
        signal,
        answer,
      });
      return promise;
    },
  });
  return { client, api: createApi(() => client), held };
};

const row = { id: "s_1", title: "One", updated_at: 0 };

const answerTo = (path: string): object =>
  path === "/v1/sessions" ? { data: [row], next_cursor: null } : { data: [] };

const problem = (code: string) => ({
  type: "",
  title: "",
  status: 400,
  detail: code,
  code,
  retryable: false,
});

/** What a page has and Node lacks. */
let page: EventTarget;
/** Listeners that were called since the page is there. */
let heard: number;

beforeEach(() => {
  vi.useFakeTimers();
  page = new EventTarget();
  heard = 0;
  vi.stubGlobal(
    "addEventListener",
    (type: string, listener: () => void, options?: { readonly signal: AbortSignal }) =>
      page.addEventListener(
        type,
        () => {
          heard += 1;
          listener();
        },
        options,
      ),
  );
});

afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const wait = (seconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(1_000 * seconds);

test("AP-54: a list that takes longer than the time between two reads is shown, and read once at a time", async () => {
  const { api, held } = serveSlowly(8_000);
  const sessions = createSessions(api, () => true);
  sessions.refresh();
  await wait(7);
  expect(held.map(({ path }) => path)).toEqual(["/v1/sessions", "/v1/asks"]);
  await wait(2);
  expect(sessions.list.get()).toMatchObject({ state: "ready", rows: [row] });
  await wait(30);
  const reads = held.filter(({ path }) => path === "/v1/sessions").map(({ at }) => at);
  expect(reads).toEqual([0, 13_000, 26_000, 39_000]);
});

test("AP-54: a list that never comes is given up after a minute, said to be old, and asked for again", async () => {
  const { api, held } = serveSlowly();
  const sessions = createSessions(api, () => true);
  sessions.refresh();
  await wait(59);
  expect(sessions.list.get().state).toBe("loading");
  await wait(2);
  expect(sessions.list.get().state).toBe("failed");
  expect(held.every(({ signal }) => signal.aborted)).toBe(true);
  await wait(5);
  expect(held.slice(2).map(({ path }) => path)).toEqual(["/v1/sessions", "/v1/asks"]);
});

test("AP-54: another search gives up the one under way", async () => {
  const { api, held } = serveSlowly();
  const sessions = createSessions(api, () => true);
  sessions.refresh();
  await wait(0);
  sessions.query.set("tide");
  await wait(0);
  expect(held.map(({ signal }) => signal.aborted)).toEqual([true, true, false, false]);
  expect(held[2]?.search).toContain("q=tide");
});

test("AP-54: another title shows once the server has it, though the list is read slowly, or learns of it later", async () => {
  const { api, held } = serveSlowly();
  const sessions = createSessions(api, () => true);
  const answerList = async (): Promise<void> => {
    for (const { path, answer } of held) answer(answerTo(path));
    await wait(0);
  };
  sessions.refresh();
  await wait(0);
  await answerList();
  const renamed = sessions.rename("s_1", "Two");
  await wait(5);
  held.find(({ method }) => method === "PATCH")?.answer({ ...row, title: "Two", updated_at: 1 });
  await renamed;
  expect(sessions.list.get().rows).toEqual([{ ...row, title: "Two" }]);
  // What was read meanwhile has the old one.
  await answerList();
  expect(held.filter(({ path }) => path === "/v1/sessions").map(({ signal }) => signal.aborted)).toEqual([
    false,
    true,
    false,
  ]);
  expect(sessions.list.get().rows).toEqual([{ ...row, title: "Two" }]);
});

test("AP-54: what changes while it is read is read once more, however often it changed", async () => {
  const reads: PromiseWithResolvers<void>[] = [];
  const reader = createReader(() => {
    const read = Promise.withResolvers<void>();
    reads.push(read);
    return read.promise;
  });
  for (let change = 0; change < 5; change += 1) reader.refresh();
  expect(reads).toHaveLength(1);
  reads[0]?.resolve();
  await wait(0);
  expect(reads).toHaveLength(2);
  reads[1]?.resolve();
  await wait(0);
  expect(reads).toHaveLength(2);
});

test("AP-54: what is tried again while the page is offline leaves no listener behind", async () => {
  let tries = 0;
  const ended = new AbortController();
  const work = untilReached(async () => {
    tries += 1;
    throw new LimpetError({ ...problem("unreachable"), retryable: true });
  }, ended.signal);
  const outcome = expect(work).rejects.toThrow("over");
  await wait(300);
  expect(tries).toBeGreaterThan(10);
  page.dispatchEvent(new Event("online"));
  expect(heard).toBe(1);
  ended.abort(new Error("over"));
  await outcome;
  page.dispatchEvent(new Event("online"));
  expect(heard).toBe(1);
});

test("AP-54: what a silent server does not answer is asked for again", async () => {
  const { api, held } = serveSlowly();
  const read = untilReached(() => api.read<object>("/capabilities"), new AbortController().signal);
  await wait(130);
  expect(held.map(({ signal }) => signal.aborted)).toEqual([true, true, false]);
  held.at(-1)?.answer({ team: "default" });
  expect(await read).toEqual({ team: "default" });
});

test("AP-54: what is sent has the time of its size beside the minute of an answer", async () => {
  const { api, held } = serveSlowly();
  const body = new Blob(["x".repeat(200_000)]);
  const sent = api.request("/sessions/s_1/files", { method: "POST", body });
  const outcome = expect(sent).rejects.toMatchObject({ problem: { code: "server_silent" } });
  await wait(69);
  expect(held.map(({ signal }) => signal.aborted)).toEqual([false]);
  await wait(2);
  await outcome;
  expect(held.map(({ signal }) => signal.aborted)).toEqual([true]);
});
