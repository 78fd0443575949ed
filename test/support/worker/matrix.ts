import { expect } from "vitest";
import { brokenInvariants } from "./invariants.ts";
import type { Session } from "./session.ts";
import { create } from "./session.ts";
import type { Watch } from "./watch.ts";

/** Crash points of the matrix (RE §2): a session, a moment seen from outside, a fault, and what must hold afterwards. */

export interface Scenario {
  readonly agent: string;
  /** In the report; the agent's by default. */
  readonly name?: string;
  readonly inputs: readonly string[];
  /** What a client does, over and over until it is done, with a key per command; faults strike meanwhile. */
  readonly play: (session: Session, watch: Watch) => Promise<void>;
  readonly end: { readonly state: string; readonly reason?: string };
  readonly check?: (session: Session) => Promise<void>;
}

export type Fault = "abort" | "storm" | "evict" | "evict and close";

/** After so many messages of the stream, or so many turns of the event loop. */
export interface Moment {
  readonly messages?: number;
  readonly turns?: number;
}

const turnsOfLoop = async (turns: number): Promise<void> => {
  for (let turn = 0; turn < turns; turn++) await scheduler.wait(0);
};

const inflict = async (session: Session, fault: Fault): Promise<void> => {
  if (fault === "evict") return session.evict();
  if (fault === "evict and close") return session.evict("close");
  await session.crash();
  if (fault === "abort") return;
  for (let again = 1; again < 4; again++) {
    session.rush();
    await turnsOfLoop(again * 2);
    await session.crash();
  }
};

/** Waits for the moment; false if the run was over before. */
const reached = (watch: Watch, { messages, turns }: Moment): Promise<boolean> => {
  if (turns !== undefined) return turnsOfLoop(turns).then(() => true);
  const due = Promise.withResolvers<boolean>();
  const look = (count: number): void => {
    if (count >= (messages ?? 0)) due.resolve(true);
  };
  watch.onMessage = look;
  look(watch.messages);
  const over = (): void => due.resolve(false);
  watch.event("run_end").then(over, over);
  return due.promise;
};

/** Repeats a keyed command until it is answered, as a client does after a lost answer. */
export const insist = async (session: Session, path: string, body: object, key: string): Promise<number> => {
  for (let attempt = 1; ; attempt++) {
    const { status } = await session.call("POST", path, { body, headers: { "Idempotency-Key": key } });
    if (status < 500 || attempt === 10) return status;
    await turnsOfLoop(1);
  }
};

const judge = async (scenario: Scenario, session: Session, watch: Watch): Promise<void> => {
  const back = await session.watch({ after: watch.events.at(-1)?.seq ?? 0 });
  await back.until(({ type }) => type === "live");
  expect(await brokenInvariants(session, scenario.inputs, [watch, back])).toEqual([]);
  const log = await session.events();
  const seen = new Set([...watch.events, ...back.events].map(({ seq }) => seq));
  expect([...seen], "both connections together saw every event").toEqual(log.map(({ seq }) => seq));
  expect(log.findLast(({ type }) => type === "run_end")).toMatchObject({ data: scenario.end });
  await scenario.check?.(session);
  back.close();
};

export interface Tally {
  readonly rows: Map<string, { ok: number; of: number }>;
  readonly failures: string[];
  readonly sessions: Session[];
}

export const newTally = (): Tally => ({ rows: new Map(), failures: [], sessions: [] });

/** One point; counts it if its moment came. */
const playPoint = async (tally: Tally, scenario: Scenario, fault: Fault, when: Moment): Promise<void> => {
  const name = `${scenario.name ?? scenario.agent} ${fault}`;
  const row = tally.rows.get(name) ?? { ok: 0, of: 0 };
  tally.rows.set(name, row);
  const session = await create(scenario.agent);
  tally.sessions.push(session);
  const watch = await session.watch();
  try {
    const struck = reached(watch, when).then(async (came) => {
      if (came) await inflict(session, fault);
      return came;
    });
    await insist(session, "/messages", { id: "i1", content: "Go" }, "i1");
    await scenario.play(session, watch);
    const came = await struck;
    await session.settled();
    if (!came) return;
    row.of += 1;
    await judge(scenario, session, watch);
    row.ok += 1;
  } catch (error) {
    tally.failures.push(`${name} ${JSON.stringify(when)} ${session.id}: ${String(error)}`);
  } finally {
    watch.close();
  }
};

/** A cut-off alarm is tried again after two seconds: many points wait at the same time. */
const lanes = 40;

/** Plays points side by side; each has its own session. */
export const playPoints = async (
  tally: Tally,
  scenario: Scenario,
  fault: Fault,
  moments: readonly Moment[],
): Promise<void> => {
  const waiting = [...moments];
  const lane = async (): Promise<void> => {
    for (let when = waiting.shift(); when !== undefined; when = waiting.shift())
      await playPoint(tally, scenario, fault, when);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
};

/** I10: once the index is told, nothing that would wake them is left in all sessions. */
export const notQuiet = async ({ sessions }: Tally): Promise<string[]> => {
  const found: string[] = [];
  for (const session of sessions) {
    await session.quiet().catch((error: unknown) => found.push(String(error)));
    const { items } = await session.peek();
    if (items > 0) found.push(`${session.id}: ${items} rows of open items are left`);
  }
  return found;
};

export const report = (tally: Tally): string => {
  const total = [...tally.rows.values()].reduce((sum, { of }) => sum + of, 0);
  const rows = [...tally.rows].map(([what, { ok, of }]) => `  ${what}: ${ok}/${of}`);
  return [`survived, by scenario and fault (${total} points):`, ...rows].join("\n");
};

export const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

/** Every message up to `messages` and every turn up to `turns`. */
export const moments = (messages: number, turns: number): readonly Moment[] => [
  ...range(messages).map((each) => ({ messages: each + 1 })),
  ...range(turns).map((each) => ({ turns: each })),
];
