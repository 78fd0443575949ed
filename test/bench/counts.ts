import { call } from "./client.ts";
import { arrivals, create, firstReply, forget, loop, order, reconnect, until } from "./scenarios.ts";
import { startWorker } from "./server.ts";
import type { WorkerOptions } from "./server.ts";
import type { Results } from "./table.ts";

/** What is counted or timed on its own: rows, bytes, recovery, cold wakes. */

interface Counts {
  /** Of sessions. */
  readonly rows: number;
  /** Of the other objects, some of them seconds later. */
  readonly others: number;
  readonly statements: number;
  readonly alarms: number;
}

/** What has been counted once nothing was written for 3 s. */
const rested = async (read: () => Promise<Counts>): Promise<Counts> => {
  for (let last = await read(); ;) {
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const next = await read();
    if (next.rows === last.rows && next.others === last.others) return next;
    last = next;
  }
};

/** Rows written per turn, call and delta; bytes of a reconnect. `options` is a fresh server of the product. */
export const measureCounts = async (options: WorkerOptions, results: Results): Promise<void> => {
  const server = await startWorker({ ...options, vars: { ...options.vars, BENCH_COUNT: "1" } });
  const during = async (work: () => Promise<unknown>): Promise<Counts> => {
    const read = async (): Promise<Counts> =>
      JSON.parse((await call(server.port, "GET", "/_counts")).text) as Counts;
    const before = await rested(read);
    await work();
    const after = await rested(read);
    const part = (key: keyof Counts): number => after[key] - before[key];
    return {
      rows: part("rows"),
      others: part("others"),
      statements: part("statements"),
      alarms: part("alarms"),
    };
  };
  await order(server, "Hello.");
  const hello = await during(() => order(server, "Hello."));
  const once = await during(() => loop(server, 1, 0));
  const twice = await during(() => loop(server, 1, 1));
  const deltas = await during(() => order(server, "bench:stream 2000"));
  const ten = await during(() => order(server, "bench:loop 10"));
  const thirty = await during(() => order(server, "bench:loop 30"));
  const wide = await during(() => order(server, "bench:loop 10 4"));
  const { session } = await loop(server, 50, 0);
  const none = await reconnect(server, session, 0);
  const some = await reconnect(server, session, 7);
  const created = await during(() => create(server));
  const first = await during(() => firstReply(server));
  await server.kill();
  const perTurn = (thirty.rows - ten.rows) / 20;
  const statements = (thirty.statements - ten.statements) / 20;
  results.add("rowsFirst", first.rows + first.others);
  results.note("rowsFirst", `${first.rows} of the session, ${created.rows} of them to create it`);
  results.add("rowsTurn", twice.rows - once.rows);
  results.note("rowsTurn", `${twice.others - once.others} more of its tenant: lease, day, index`);
  results.add("rowsCall", (wide.rows - ten.rows) / 30);
  results.note("rowsCall", `a turn with one call: ${perTurn} rows in ${statements} statements`);
  results.add("alarms", (thirty.alarms - ten.alarms) / 20);
  results.add("rowsDeltas", deltas.rows - hello.rows);
  results.add("bytesNone", none.bytes);
  results.add("eventsSome", some.events);
  results.note("eventsSome", `${some.bytes} bytes`);
};

/** SIGKILL in the middle of a run, restart on the same storage, no client: until the next model call, in seconds. */
const crash = async (options: WorkerOptions, provider: number, turns: number): Promise<number> => {
  const first = await startWorker(options);
  const half = Math.floor(turns / 2);
  await forget(provider);
  const running = loop(first, turns, 0).catch(() => undefined);
  await until(async () => (await arrivals(provider)).length >= half, 30_000, "half of the run");
  await first.kill();
  await running;
  const before = await arrivals(provider);
  const second = await startWorker(options);
  await until(async () => (await arrivals(provider)).length > before.length, 60_000, "the next model call");
  const next = (await arrivals(provider))[before.length];
  const lastTurn = async (): Promise<number> => (await arrivals(provider)).at(-1)?.results ?? 0;
  await until(async () => (await lastTurn()) >= turns, 60_000, "the end of the run");
  await second.kill();
  const lost = (next?.results ?? 0) < Math.max(...before.map(({ results }) => results));
  if (lost) throw new Error("the run went back behind a turn that the provider had seen");
  return Math.max(0, ((next?.at ?? Infinity) - second.readyAt) / 1_000);
};

export const measureCrash = async (
  options: WorkerOptions,
  provider: number,
  results: Results,
): Promise<void> => results.add("crash", await crash(options, provider, 200));

/** First byte of a snapshot of a long session that nobody has touched since the server began. */
export const measureCold = async (
  options: WorkerOptions,
  provider: number,
  passes: number,
  results: Results,
): Promise<void> => {
  const first = await startWorker(options);
  const { session } = await loop(first, 500, 0);
  const path = `/v1/sessions/${session}`;
  const head = async (): Promise<number> =>
    (JSON.parse((await call(first.port, "GET", path)).text) as { head_seq: number }).head_seq;
  for (let count = 0; count < 500; count++) {
    const { status, text } = await call(first.port, "POST", path, {
      content: "More.",
    });
    if (status >= 300) throw new Error(text);
  }
  for (let seq = await head(); seq < 20_000; seq++)
    await call(first.port, "PATCH", path, { title: `Title ${seq}` });
  await forget(provider);
  const events = await head();
  await first.kill();
  for (let pass = 0; pass < passes; pass++) {
    const again = await startWorker(options);
    await create(again);
    const { firstByteMs, text } = await call(again.port, "GET", `${path}/snapshot`);
    results.add("coldSnapshot", firstByteMs);
    if (!text.includes('"messages"')) throw new Error(text.slice(0, 300));
    await again.kill();
  }
  results.note("coldSnapshot", `${events} events`);
};
