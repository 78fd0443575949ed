import { expect, test } from "vitest";
import { mayBeginRun, requestRunStart } from "../../durable-objects/run-start.ts";
import type { Session } from "../../src/agent/state/session.ts";
import type { Thread } from "../../src/agent/state/thread.ts";
import { newThread } from "../../src/agent/state/thread.ts";
import type { SessionCall } from "../../src/session/rpc.ts";

/** What a command asks of its tenant before it may begin a run, and what it gives back. */

const working = { run: {} } as unknown as Pick<Thread, "run">;

const sessionOf = (...threads: Thread[]): Session =>
  ({
    id: "s",
    tenant: "t",
    jurisdiction: null,
    metadata: {},
    grants: [],
    funds: { tenant: { next: 1 } },
    threads: Object.fromEntries(threads.map((thread) => [thread.id, thread])),
  }) as unknown as Session;

const main = newThread("main", "a");

const child = newThread("t_child", "b");

const call = {
  op: "send",
  params: { content: "Go" },
  principal: { tenant: "t", jurisdiction: null, scopes: ["sessions:write"] },
  session: "s",
} as unknown as SessionCall;

test("★ RE-3 RE-4: a session with a run below main has its place and its lease, and asks for no other", () => {
  expect(mayBeginRun(call, sessionOf(main, child))).toBe(true);
  expect(mayBeginRun(call, sessionOf(main, { ...child, ...working }))).toBe(false);
  expect(mayBeginRun(call, sessionOf({ ...main, ...working }))).toBe(false);
});

test("★ RE-3: what a command was given goes back unless a run began, whoever began it", async () => {
  const abandoned: unknown[] = [];
  const session = sessionOf(main);
  const start = await requestRunStart(
    {
      tenant: {
        begin: async () => ({
          admitted: true,
          admission: "a1",
          lease: null,
          grants: { agents: [], revoked: [] },
        }),
        abandon: async (given) => void abandoned.push(given),
      },
      grants: { learn: () => undefined },
      engine: { rules: { agentNames: [] } } as never,
      limit: 1,
      session,
    },
    call,
  );
  start.giveBack(sessionOf({ ...main, ...working }));
  start.giveBack(sessionOf(main, { ...child, ...working }));
  expect(abandoned).toEqual([]);
  start.giveBack(session);
  start.giveBack(null);
  expect(abandoned).toEqual([
    { session: "s", admission: "a1", lease: null },
    { session: "s", admission: "a1", lease: null },
  ]);
});

test("★ RE-4: a revoked grant stays to be learnt if the command that heard of it is refused", async () => {
  const learnt: unknown[] = [];
  const begin = async (revoked: readonly string[]): Promise<void> => {
    await requestRunStart(
      {
        tenant: {
          begin: async () => ({
            admitted: true,
            admission: "a1",
            lease: null,
            grants: { agents: [], revoked },
          }),
          abandon: async () => undefined,
        },
        grants: { learn: (_, { revoked: gone }) => void learnt.push(gone) },
        engine: { rules: { agentNames: [] } } as never,
        limit: 1,
        session: sessionOf(main),
      },
      call,
    );
  };
  await begin(["grant_1"]);
  expect(learnt).toEqual([]);
  await begin([]);
  expect(learnt).toEqual([[]]);
});
