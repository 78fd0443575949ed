import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import type { ProviderGate } from "../../durable-objects/provider-gate.ts";
import { letGo } from "../support/worker/probe.ts";
import { create } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** The platform lets each event of an object send so many requests. The runtime here has no such limit, so fetch refuses. */

const refusal =
  "Too many subrequests by single Worker invocation. To configure this limit, refer to the documentation.";

const network = globalThis.fetch;

afterEach(() => {
  vi.restoreAllMocks();
});

/** Counts the alarms of a new session's object from now on. */
const countAlarms = async (session: Session) => {
  // No alarm is under way in an object that has left memory.
  await session.evict();
  return runInDurableObject(session.stub(), (object: DurableObject) => vi.spyOn(object, "alarm"));
};

/** Refuses all requests of a new session to the model until a second alarm comes, and so another than the run's first. */
const useUpRequests = async (session: Session): Promise<void> => {
  const alarms = await countAlarms(session);
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    const address = input instanceof Request ? input.url : String(input);
    const isRefused = address.startsWith("https://model.example.com/") && alarms.mock.calls.length < 2;
    return isRefused ? Promise.reject(new Error(refusal)) : network(input, init);
  });
};

const gate = (): DurableObjectStub<ProviderGate> =>
  (
    exports as unknown as { readonly ProviderGate: DurableObjectNamespace<ProviderGate> }
  ).ProviderGate.getByName("wire");

test("MO-25 MO-28: ★ a session that may send no more requests tries again, and no model cools down for it", async () => {
  const session = await create("speaker");
  await useUpRequests(session);
  await session.send("i1", "Go on");
  await session.quiet();
  const log = await session.events();
  const failures = log.flatMap((event) => (event.type === "attempt_aborted" ? [event.data.code] : []));
  expect(new Set(failures)).toEqual(new Set(["platform_limit"]));
  expect(log.findLast(({ type }) => type === "run_end")?.data).toMatchObject({ state: "completed" });
  expect(await gate().health(null)).toEqual([]);
});

test("SE-34: ★ an agent whose requests the platform refuses goes on at the next alarm, though another one works", async () => {
  const session = await create("pair");
  await useUpRequests(session);
  const watch = await session.watch();
  await session.send("i1", "Go on");
  await watch.event("agent_end");
  const ends = (await session.events()).filter(({ type }) => type === "agent_end");
  expect(ends).toMatchObject([{ agent: { name: "speaker" }, data: { state: "completed" } }]);
  letGo(session.id);
  await session.quiet();
  watch.close();
});

test("SE-34: ★ a run of many calls of a server sends no more requests between two alarms than the platform permits", async () => {
  const session = await create("borrower");
  const alarms = await countAlarms(session);
  const sent: number[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    const alarm = alarms.mock.calls.length;
    sent[alarm] = (sent[alarm] ?? 0) + 1;
    return (sent[alarm] ?? 0) > 50 ? Promise.reject(new Error(refusal)) : network(input, init);
  });
  await session.send("i1", "Take the whole shelf");
  await session.quiet();
  const log = await session.events();
  const outcomes = log.flatMap((event) => (event.type === "tool_call_end" ? [event.data.outcome] : []));
  expect(outcomes).toEqual(Array.from({ length: 60 }, () => "ok"));
});
