import { call } from "./client.ts";
import { arrivals, forget, loop, order, reconnect, until, create } from "./scenarios.ts";
import { startWorker } from "./server.ts";
import type { WorkerOptions } from "./server.ts";
import { absolute, median, most } from "./table.ts";
import type { Figure } from "./table.ts";

/** What is counted or timed on its own: rows, bytes, recovery, cold wakes. */

interface Counts {
  /** Of sessions. */
  readonly rows: number;
  /** Of the team's object, seconds later (AP-5). */
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
export const measureCounts = async (options: WorkerOptions): Promise<readonly Figure[]> => {
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
  const create = await during(async () => call(server.port, "POST", "/v1/sessions", {}));
  await server.kill();
  const perTurn = (thirty.rows - ten.rows) / 20;
  const perCall = (wide.rows - ten.rows) / 30;
  const statements = (thirty.statements - ten.statements) / 20;
  const alarms = (thirty.alarms - ten.alarms) / 20;
  return [
    absolute(
      "rows written by a turn without tools, with its input and run",
      twice.rows - once.rows,
      "",
      { must: most(10, "rows"), aim: "" },
      `${create.rows} to create the session; ${twice.others - once.others} of the team: lease, day, index`,
    ),
    absolute(
      "rows written by a tool call",
      perCall,
      "",
      { must: most(5, "rows"), aim: "" },
      `a turn with one call: ${perTurn} rows in ${statements} statements, ${alarms} alarms`,
    ),
    absolute("alarms set by a turn within a run", alarms, "", { must: most(0, ""), aim: "" }),
    absolute("rows written by 2,000 deltas", deltas.rows - hello.rows, "", {
      must: most(30, "rows"),
      aim: "",
    }),
    absolute("bytes to a client that lacks nothing", none.bytes, "", { must: most(4_096, "bytes"), aim: "" }),
    absolute(
      "events to a client that lacks 7",
      some.events,
      "",
      { must: { most: 7, least: 7, text: "7" }, aim: "" },
      `${some.bytes} bytes`,
    ),
  ];
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
  times: number,
): Promise<Figure> => {
  const values: number[] = [];
  for (let count = 0; count < times; count++)
    values.push(await crash({ ...options, persist: `${options.persist}-${count}` }, provider, 200));
  const spread = values.map((value) => value.toFixed(2)).join(", ");
  return absolute(
    "after SIGKILL and restart, no client: server ready to next model call",
    median(values),
    "s",
    { must: most(3, "s"), aim: "≤ 1 s" },
    spread,
  );
};

/** First byte of a snapshot of a long session that nobody has touched since the server began. */
export const measureCold = async (options: WorkerOptions, provider: number): Promise<Figure> => {
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
  const values: number[] = [];
  for (let count = 0; count < 3; count++) {
    const again = await startWorker(options);
    await create(again);
    const { firstByteMs, text } = await call(again.port, "GET", `${path}/snapshot`);
    values.push(firstByteMs);
    if (!text.includes('"messages"')) throw new Error(text.slice(0, 300));
    await again.kill();
  }
  return absolute(
    `cold wake, 2,000 messages and ${events} events: first byte of GET snapshot`,
    median(values),
    "ms",
    { must: most(300, "ms"), aim: "" },
  );
};
