import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi, watchSession } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { checkSession, checkTale } from "../support/crash-checks.ts";
import type { Case } from "../support/crash-checks.ts";
import { until } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";
import { createStage } from "../support/stage.ts";
import type { Hold, Stage } from "../support/stage.ts";

/**
 * SIGKILL of the runtime at moments that are seen from outside, and a restart to which no request is sent: every run
 * ends by itself (RE-P2), and the invariants of RE §2 hold. Many sessions stand at their own moment at each kill.
 */

let stage: Stage;
let team: BuiltTeam;
let server: DevServer;
let api: Api;

/** Moments at which a kill found a session, and the milliseconds from each restart to the next model call. */
let moments = 0;
let kills = 0;
const recoveries: number[] = [];

beforeAll(async () => {
  stage = await createStage();
  team = await buildTestTeam("crash");
  server = await startRuntime({
    team,
    vars: {
      LIMPET_DEV: "1",
      LIMPET_PRIVATE_EGRESS: `127.0.0.1:${stage.provider.port}`,
      MODEL_KEY: "sk-crash",
      MESSAGES_URL: stage.provider.url("anthropic"),
      COMPLETIONS_URL: stage.provider.url("compatible"),
    },
  });
  api = createApi(server.url);
});

afterAll(async () => {
  const sorted = recoveries.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  console.log(
    `kill -9: ${kills} kills, ${moments} moments; server ready to next model call:`,
    `median ${at(0.5)} ms, longest ${at(1)} ms`,
  );
  await server?.close();
  team?.remove();
  await stage?.close();
});

const agents = ["messages", "completions"] as const;
let made = 0;

/** A session that is watched before it gets its input. */
const begin = async (
  play: string,
  agent: (typeof agents)[number],
  holds: readonly Hold[] = [],
): Promise<Case> => {
  const id = `case${(made += 1)}`;
  for (const hold of holds) stage.hold(id, hold);
  const session = await api.create({ agent });
  const watcher = watchSession(server.url, session);
  await watcher.frame("live");
  return { id, session, watcher, input: `play ${play} ${id}`, kills: 0 };
};

const send = async ({ session, input }: Case): Promise<void> => {
  const { status } = await api.post(`/v1/sessions/${session}/messages`, { content: input });
  expect(status).toBe(202);
};

/** Kills and restarts; gives the moment of the kill. */
const crash = async (cases: readonly Case[]): Promise<number> => {
  const killedAt = Date.now();
  await server.kill();
  kills += 1;
  for (const each of cases) each.kills += 1;
  await server.start();
  return killedAt;
};

const noteRecovery = (killedAt: number): void => {
  const calls = stage.arrivals.filter(({ turn, at }) => turn !== undefined && at > killedAt);
  if (calls.length > 0)
    recoveries.push(Math.max(0, Math.min(...calls.map(({ at }) => at)) - server.readyAt()));
};

/** Waits, without a request, until the model gave every last answer; then reads the logs until the runs have ended. */
const settle = async (cases: readonly Case[], killedAt: number): Promise<void> => {
  await until(
    "every session got its last answer",
    () => cases.every(({ id }) => stage.finished.has(id)) || null,
  );
  noteRecovery(killedAt);
  for (const each of cases) {
    const events = await until(`the end of ${each.id}`, async () => {
      const all = await api.events(each.session);
      return all.some(({ type }) => type === "run_end") ? all : null;
    });
    checkTale(each, events, stage.arrivals, killedAt);
  }
};

/** Moments at which a session can be held still. */
const holdable: readonly Hold[] = [
  { turn: 1, at: 0 },
  { turn: 1, at: 0.1 },
  { turn: 1, at: 0.3 },
  { turn: 1, at: 0.5 },
  { turn: 1, at: 0.7 },
  { turn: 1, at: 0.9 },
  { turn: 1, at: 1 },
  { tool: "look" },
  { tool: "put" },
  { tool: "fire" },
  { turn: 2, at: 0 },
  { turn: 3, at: 0.6 },
  { turn: 4, at: 0 },
  { turn: 4, at: 0.5 },
  { turn: 4, at: 0.98 },
];
const nameOf = (hold: Hold): string =>
  "tool" in hold ? `in ${hold.tool}` : `turn ${hold.turn} at ${hold.at}`;
const batches = [0, 5, 10].map((from) => holdable.slice(from, from + 5));

test.each(batches.map((batch) => [batch.map(nameOf).join(", "), batch] as const))(
  "RE-C4 RE-C5 RE-C6 RE-C7 RE-C8 RE-C11 RE-C14: killed while sessions stand %s",
  async (_, batch) => {
    const cases = await Promise.all(
      batch.flatMap((hold) => agents.map((agent) => begin("tale", agent, [hold]))),
    );
    await Promise.all(cases.map(send));
    await until("all are held", () => cases.every(({ id }) => stage.held(id) === 1) || null);
    moments += cases.length;
    await settle(cases, await crash(cases));
  },
);

test("RE-C39 RE-C40: killed again and again at the same moment, twice and four times in a row", async () => {
  const times = [2, 4];
  const cases = await Promise.all(
    times.flatMap((count) =>
      [{ turn: 1, at: 0.5 }, { turn: 1, at: 0 }, { tool: "put" }, { turn: 4, at: 0.5 }].map((hold, index) =>
        begin("tale", agents[index % 2] ?? "messages", [{ ...hold, times: count }]),
      ),
    ),
  );
  await Promise.all(cases.map(send));
  let killedAt = 0;
  for (let round = 1; round <= 4; round += 1) {
    const standing = cases.filter((_, index) => round <= (times[Math.floor(index / 4)] ?? 0));
    await until(`held ${round} times`, () => standing.every(({ id }) => stage.held(id) === round) || null);
    moments += standing.length;
    killedAt = await crash(cases);
  }
  await settle(cases, killedAt);
});

/**
 * The nth events of a tale on which the server is killed, while other tales run. That a run survives at each of its events
 * is held by the objects' own matrices, which kill within the process.
 */
const nth = Array.from({ length: 8 }, (_, index) => 2 + index * 8);

test.each(nth)(
  "RE-P2 RE-C3 RE-C9 RE-C13 RE-C27: killed on event %i of a tale, others at work",
  async (count) => {
    const cases = await Promise.all(agents.flatMap((agent) => [begin("tale", agent), begin("tale", agent)]));
    const [first, ...others] = cases;
    if (first === undefined) throw new Error("no case");
    const seen = new Promise<void>((done) => {
      first.watcher.onEvent = ({ seq, type }) => (seq >= count || type === "run_end") && done();
    });
    await Promise.all(cases.map(send));
    await seen;
    moments +=
      1 + others.filter(({ watcher }) => watcher.events.every(({ type }) => type !== "run_end")).length;
    await settle(cases, await crash(cases));
  },
);

test("RE-P1 RE-C3 RE-C15 RE-C16 RE-C25 RE-C28: what was acknowledged before the kill is there after it", async () => {
  const stalled: Hold = { turn: 1, at: 0.3 };
  const created = await begin("tale", "messages");
  const sent = await begin("tale", "completions");
  const steered = await begin("tale", "messages", [stalled]);
  const queued = await begin("tale", "completions", [stalled]);
  const cancelled = await begin("tale", "messages", [{ ...stalled, times: 9 }]);
  const parked = await begin("question", "messages");
  const answered = await begin("question", "completions");
  const cases = [created, sent, steered, queued, cancelled, parked, answered];
  await Promise.all([steered, queued, cancelled, parked, answered].map(send));
  await until(
    "three are held",
    () => [steered, queued, cancelled].every(({ id }) => stage.held(id) === 1) || null,
  );
  const asks = await Promise.all([parked, answered].map(({ watcher }) => watcher.event("ask_user")));
  const [parkedAsk, answeredAsk] = asks.map(({ data }) => (data as { ask: { id: string } }).ask.id);
  const post = async (given: Case, path: string, body: unknown): Promise<void> => {
    const { status, body: problem } = await api.post(`/v1/sessions/${given.session}/${path}`, body);
    expect([200, 202], JSON.stringify(problem)).toContain(status);
  };
  await Promise.all([
    post(cancelled, "cancel", { mode: "now" }),
    post(steered, "messages", { content: "steered words", on_busy: "steer" }),
    post(queued, "messages", { content: `play question ${queued.id}`, on_busy: "queue" }),
    post(answered, `asks/${answeredAsk}`, { decision: "answer", text: "go on" }),
    send(created),
    send(sent),
  ]);
  moments += cases.length;
  const killedAt = await crash(cases);
  await until(
    "those that can go on have",
    () => [created, sent, steered, queued, answered].every(({ id }) => stage.finished.has(id)) || null,
  );
  noteRecovery(killedAt);

  const logOf = (given: Case, ends: number): ReturnType<Api["events"]> =>
    until(`the end of ${given.id}`, async () => {
      const all = await api.events(given.session);
      return all.filter(({ type }) => type === "run_end").length === ends ? all : null;
    });
  for (const each of [created, sent]) checkTale(each, await logOf(each, 1), stage.arrivals, killedAt);
  const steeredLog = await logOf(steered, 1);
  checkSession(steered, steeredLog);
  expect(steeredLog.filter(({ type }) => type === "steering_injected")).toHaveLength(1);
  expect(steeredLog.at(-1)?.data).toMatchObject({ state: "completed" });

  await until(
    "the queued question is asked",
    async () => (await api.events(queued.session)).some(({ type }) => type === "ask_user") || null,
  );
  const askedAgain = (await api.get(`/v1/sessions/${queued.session}/asks`)).body["data"] as { id: string }[];
  await post(queued, `asks/${askedAgain[0]?.id}`, { decision: "answer", text: "yes" });
  checkSession(queued, await logOf(queued, 2));

  const cancelledLog = await logOf(cancelled, 1);
  checkSession(cancelled, cancelledLog);
  expect(cancelledLog.at(-1)?.data).toMatchObject({ state: "cancelled" });
  expect(
    stage.arrivals.filter(({ id, at }) => id === cancelled.id && at > killedAt),
    "no further call",
  ).toEqual([]);

  const open = (await api.get(`/v1/sessions/${parked.session}/asks`)).body["data"] as { id: string }[];
  expect(open.map(({ id }) => id)).toEqual([parkedAsk]);
  await post(parked, `asks/${parkedAsk}`, { decision: "answer", text: "go on" });
  checkSession(parked, await logOf(parked, 1));
  checkSession(answered, await logOf(answered, 1));
});

test("RE-C31: a wait for the model server goes on over a kill: never early, and not from the beginning", async () => {
  const cases = await Promise.all(agents.map((agent) => begin("later", agent)));
  await Promise.all(cases.map(send));
  await Promise.all(cases.map(({ watcher }) => watcher.event("attempt_aborted")));
  moments += cases.length;
  const killedAt = await crash(cases);
  await until("both are answered", () => cases.every(({ id }) => stage.finished.has(id)) || null);
  for (const each of cases) {
    const [first, second, ...more] = stage.arrivals.filter(({ id }) => id === each.id).map(({ at }) => at);
    expect(more).toEqual([]);
    expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(4000);
    expect(Number(second)).toBeGreaterThan(killedAt);
    expect(Number(second) - server.readyAt(), "the rest of the wait, not all of it again").toBeLessThan(4000);
    const events = await until(`the end of ${each.id}`, async () => {
      const all = await api.events(each.session);
      return all.some(({ type }) => type === "run_end") ? all : null;
    });
    checkSession(each, events);
    expect(events.at(-1)?.data).toMatchObject({ state: "completed" });
  }
});

test("RE-L11: at least forty moments were hit, and the next model call follows a restart within three seconds", () => {
  expect(moments).toBeGreaterThanOrEqual(40);
  expect(recoveries.toSorted((a, b) => a - b)[Math.floor(recoveries.length / 2)]).toBeLessThanOrEqual(3000);
});
