import { createDeflateRaw, constants } from "node:zlib";
import { call, openLine } from "./client.ts";
import type { Line } from "./client.ts";
import type { WorkerServer } from "./server.ts";

/** What is measured, on either Worker by the same client: wall and CPU in milliseconds. */

export interface Cost {
  readonly wall: number;
  readonly cpu: number;
}

/** Creates a session and gives its id. */
export const create = async ({ port }: WorkerServer, input?: string): Promise<string> => {
  const answer = await call(port, "POST", "/v1/sessions", input === undefined ? {} : { input });
  if (answer.status !== 201) throw new Error(`create: ${answer.status} ${answer.text}`);
  return (JSON.parse(answer.text) as { id: string }).id;
};

let orders = 0;

const say = (line: Line, content: string): void =>
  line.send({ type: "send", id: `o${(orders += 1)}`, input: { content } });

const timed = async (server: WorkerServer, work: () => Promise<unknown>): Promise<Cost> => {
  const cpu = server.cpu();
  const startedAt = performance.now();
  await work();
  const wall = performance.now() - startedAt;
  return { wall, cpu: server.cpu() - cpu };
};

const open = async (server: WorkerServer, session: string, after = 0): Promise<Line> => {
  const line = await openLine(server.port, session, after);
  await line.live();
  return line;
};

/** One order on a session of its own, from `send` to the run's end. */
export const order = async (server: WorkerServer, text: string): Promise<Cost> => {
  const line = await open(server, await create(server));
  const cost = await timed(server, () => {
    say(line, text);
    return line.ended(1);
  });
  line.close();
  return cost;
};

/** Bytes that a run's turns with a tool call each send to a watcher: as text, and as permessage-deflate puts it on the wire. */
export const watchedTurns = async (
  server: WorkerServer,
  turns: number,
): Promise<{ readonly text: number; readonly wire: number }> => {
  const line = await open(server, await create(server));
  const messages = line.record();
  say(line, `bench:loop ${turns}`);
  await line.ended(1);
  line.close();
  const deflate = createDeflateRaw();
  let [text, wire] = [0, 0];
  deflate.on("data", (piece: Buffer) => (wire += piece.length));
  for (const message of messages) {
    text += Buffer.byteLength(message);
    deflate.write(message);
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
  }
  return { text: text / turns, wire: wire / turns };
};

/** One run of `turns` turns with a tool call each: cost of a turn; and a further turn of that session, when it is warm. */
export const loop = async (
  server: WorkerServer,
  turns: number,
  further: number,
): Promise<{
  readonly turn: Cost;
  readonly next: readonly Cost[];
  readonly session: string;
}> => {
  const session = await create(server);
  const line = await open(server, session);
  const whole = await timed(server, () => {
    say(line, `bench:loop ${turns}`);
    return line.ended(1);
  });
  const next: Cost[] = [];
  for (let count = 0; count < further; count++) {
    next.push(
      await timed(server, () => {
        say(line, "Once more.");
        return line.ended(count + 2);
      }),
    );
  }
  line.close();
  return { turn: { wall: whole.wall / turns, cpu: whole.cpu / turns }, next, session };
};

/** One answer of `deltas` pieces to some sockets, until the last of them has its end. */
export const stream = async (server: WorkerServer, deltas: number, sockets: number): Promise<Cost> => {
  const session = await create(server);
  const lines = await Promise.all(Array.from({ length: sockets }, () => open(server, session)));
  const cost = await timed(server, () => {
    if (lines[0] !== undefined) say(lines[0], `bench:stream ${deltas}`);
    return Promise.all(lines.map((line) => line.ended(1)));
  });
  for (const line of lines) line.close();
  return cost;
};

/** One answer whose deltas come apart; milliseconds that each took to each of some sockets, the first one's first. */
export const pace = async (
  server: WorkerServer,
  deltas: number,
  gapMs: number,
  sockets: number,
): Promise<readonly number[]> => {
  const session = await create(server);
  const lines = await Promise.all(Array.from({ length: sockets }, () => open(server, session)));
  if (lines[0] !== undefined) say(lines[0], `bench:pace ${deltas} ${gapMs}`);
  await Promise.all(lines.map((line) => line.ended(1)));
  for (const line of lines) line.close();
  const delays = lines.flatMap((line) => line.delays);
  if (delays.length !== deltas * sockets) throw new Error(`${delays.length} paced deltas came`);
  return delays;
};

/** Creates a session with an input and reads its first answer over a socket. */
export const firstReply = (server: WorkerServer): Promise<Cost> =>
  timed(server, async () => {
    const line = await openLine(server.port, await create(server, "Hello."), 0);
    await line.ended(1);
    line.close();
  });

/** Starts some sessions at once, each with a run of five turns; resolves at the last end with the open sockets. */
export const gather = (server: WorkerServer, sessions: number): Promise<readonly Line[]> =>
  Promise.all(
    Array.from({ length: sessions }, async () => {
      const line = await open(server, await create(server));
      say(line, "bench:loop 4");
      await line.ended(1);
      return line;
    }),
  );

/** Sends a second input over a socket whose session has had one run; resolves at the end of its run. */
export const replyAgain = (line: Line): Promise<void> => {
  say(line, "Hello.");
  return line.ended(2);
};

/** Some sessions at once, each with a run of five turns: sessions in a second, CPU of one. */
export const crowd = async (
  server: WorkerServer,
  sessions: number,
): Promise<{ readonly rate: number; readonly cpu: number }> => {
  let lines: readonly Line[] = [];
  const { wall, cpu } = await timed(server, async () => (lines = await gather(server, sessions)));
  for (const line of lines) line.close();
  return { rate: (sessions / wall) * 1_000, cpu: cpu / sessions };
};

/** Bytes that a client gets who comes back with a cursor, and how many events; `behind` = how many it lacks. */
export const reconnect = async (
  server: WorkerServer,
  session: string,
  behind: number,
): Promise<{ readonly bytes: number; readonly events: number }> => {
  const { text } = await call(server.port, "GET", `/v1/sessions/${session}`);
  const { head_seq: head } = JSON.parse(text) as { head_seq: number };
  const line = await open(server, session, head - behind);
  const { bytes, frames } = line.seen;
  line.close();
  return { bytes, events: frames - 2 };
};

export interface Arrival {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly bytes: number;
  readonly results: number;
  readonly order: string;
}

/** Requests that the provider got since it was last asked to forget. */
export const arrivals = async (provider: number): Promise<readonly Arrival[]> =>
  JSON.parse((await call(provider, "GET", "/_calls")).text) as Arrival[];

export const forget = (provider: number): Promise<unknown> => call(provider, "GET", "/_clear");

/** Waits until something holds that the outside tells. */
export const until = async (holds: () => Promise<boolean>, ms: number, what: string): Promise<void> => {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${what} did not happen within ${ms} ms`);
};
