import { afterAll, beforeAll, expect, test } from "vitest";
import type { DataOf, EventType, StoredEvent } from "../../src/agent/state/events.ts";
import type { Usage } from "../../src/model/completer.ts";
import { createApi, watchSession } from "../support/api-client.ts";
import type { Api, Watcher } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { until } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";

/** The shipped team `dev-team` on the bash sandbox: one request, from exploring over a person's approval to a review. */

const request = "Write a program that tells the tides of a day.";

interface Listed {
  readonly id: string;
  readonly agent: string;
  readonly parent: { readonly thread: string; readonly call: string } | null;
  readonly status: string;
  readonly state?: string;
  readonly usage?: Usage;
}

let team: BuiltTeam;
let server: DevServer;
let api: Api;

beforeAll(async () => {
  team = await buildTestTeam("dev-team", "shipped");
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  api = createApi(server.url);
});
afterAll(async () => {
  await server?.close();
  team?.remove();
});

const listOf = async <T>(path: string): Promise<readonly T[]> =>
  (await api.get(path)).body["data"] as readonly T[];

type Of<T extends EventType> = StoredEvent & { readonly data: DataOf<T> };
const only = <T extends EventType>(events: readonly StoredEvent[], type: T): readonly Of<T>[] =>
  events.filter((event) => event.type === type) as never;

interface Played {
  readonly session: string;
  readonly socket: Watcher;
}

/** Sends the request; resolves when the call of the coders waits for a person. */
const toTheCoders = async (): Promise<Played & { readonly ask: string }> => {
  const session = await api.create();
  const socket = watchSession(server.url, session);
  await socket.frame("live");
  const receipt = await api.post(`/v1/sessions/${session}/messages`, { content: request, wait: 60 });
  expect(receipt.status, "only a person can go on").toBe(202);
  const asks = await listOf<{ id: string }>(`/v1/sessions/${session}/asks`);
  expect(asks).toMatchObject([{ kind: "approval", approval: { tool: "spawn_agents" } }]);
  return { session, socket, ask: asks[0]?.id ?? "" };
};

const decided = async ({ session, socket }: Played, ask: string, decision: object): Promise<void> => {
  const { status } = await api.post(`/v1/sessions/${session}/asks/${ask}`, decision);
  expect(status).toBe(200);
  await socket.event("run_end", ({ thread }) => thread === "main");
};

/** The whole run of the team, approved; played once for all tests that look at it. */
let approved: Promise<Played> | null = null;
const approvedRun = (): Promise<Played> =>
  (approved ??= (async () => {
    const { ask, ...played } = await toTheCoders();
    await decided(played, ask, { decision: "approve" });
    return played;
  })());

test("CF-40 TB-6: no coder begins before a person agrees, and the session rests meanwhile", async () => {
  const { session, socket, ask } = await toTheCoders();
  expect(only(socket.events, "file_change")).toEqual([]);
  const threads = await listOf<Listed>(`/v1/sessions/${session}/threads`);
  expect(threads.map(({ agent, status }) => `${agent} ${status}`)).toEqual([
    "lead waiting",
    "explorer ended",
    "planner ended",
  ]);
  const notes = await listOf<{ name: string; content: string }>(`/v1/sessions/${session}/notes`);
  const plan = notes.find(({ name }) => name === "plan");
  expect(plan?.content, "what the person is to agree to").toContain("bin/tides.sh");
  await decided({ session, socket }, ask, { decision: "deny", message: "Not before the spring tide." });
  const [answer] = only(socket.events, "message_added")
    .filter(({ data }) => data.final)
    .slice(-1);
  expect(JSON.stringify(answer?.data.message.parts)).toMatch(
    /nothing was built: .*Not before the spring tide/,
  );
  expect(only(socket.events, "file_change"), "nothing was built").toEqual([]);
  expect(only(socket.events, "agent_start").map(({ agent }) => agent.name)).toEqual([
    "lead",
    "explorer",
    "planner",
  ]);
  socket.close();
});

test("AG-18: a person cancels one called agent, and the lead says what came of it", async () => {
  const { session, socket, ask } = await toTheCoders();
  await api.post(`/v1/sessions/${session}/asks/${ask}`, { decision: "approve" });
  const { thread } = await socket.event("agent_start", ({ agent }) => agent.name === "coder");
  const { status } = await api.post(`/v1/sessions/${session}/cancel`, { thread });
  expect(status).toBe(200);
  await socket.event("run_end", (event) => event.thread === "main");
  const end = only(socket.events, "agent_end").find((event) => event.thread === thread);
  expect(end?.data.state).toBe("cancelled");
  expect(only(socket.events, "agent_start").map(({ agent }) => agent.name)).not.toContain("reviewer");
  const [answer] = only(socket.events, "message_added")
    .filter(({ data }) => data.final)
    .slice(-1);
  expect(JSON.stringify(answer?.data.message.parts)).toContain("I could not have this finished");
  socket.close();
});

test("AG-17: agent_start and agent_end come in pairs, children inside their caller, coders beside each other", async () => {
  const { session, socket } = await approvedRun();
  const events = await api.events(session);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  await until("the socket has them all", () => socket.events.length >= events.length || null);
  expect(socket.events).toEqual(events);

  const starts = only(events, "agent_start");
  const ends = only(events, "agent_end");
  expect(starts.map(({ agent, data }) => `${agent.name} ${data.depth}`)).toEqual([
    "lead 0",
    "explorer 1",
    "planner 1",
    "coder 1",
    "coder 1",
    "reviewer 1",
  ]);
  for (const { thread, seq, data } of starts) {
    const end = ends.filter((event) => event.thread === thread);
    expect(end).toHaveLength(1);
    expect(end[0]?.data).toMatchObject({ parent: data.parent, state: "completed" });
    expect(end[0]?.seq).toBeGreaterThan(seq);
  }
  const called = only(events, "tool_call_start").filter(({ thread }) => thread === "main");
  const toolOf = new Map(called.map(({ call, data }) => [call, data.tool]));
  const parents = starts.slice(1).map(({ data }) => data.parent);
  expect(parents.map((parent) => [parent?.thread, toolOf.get(parent?.call)])).toEqual([
    ["main", "delegate_to_agent"],
    ["main", "delegate_to_agent"],
    ["main", "spawn_agents"],
    ["main", "spawn_agents"],
    ["main", "delegate_to_agent"],
  ]);
  const seqsOf = (of: string): { start: number; end: number }[] =>
    starts
      .filter(({ agent }) => agent.name === of)
      .map(({ thread, seq }) => ({
        start: seq,
        end: ends.find((event) => event.thread === thread)?.seq ?? 0,
      }));
  const [one, other] = seqsOf("coder");
  expect(Math.max(one?.start ?? 0, other?.start ?? 0)).toBeLessThan(Math.min(one?.end ?? 0, other?.end ?? 0));
  expect(seqsOf("reviewer")[0]?.start).toBeGreaterThan(Math.max(one?.end ?? 0, other?.end ?? 0));
  const asked = only(events, "llm_request_start").filter(
    ({ agent, turn }) => agent.name === "coder" && turn === 1,
  );
  const heard = only(events, "llm_finish").filter(({ agent, turn }) => agent.name === "coder" && turn === 1);
  expect(asked.length, "both coders' first calls were open at once").toBe(2);
  expect(asked.every(({ seq }) => seq < (heard[0]?.seq ?? 0))).toBe(true);
});

test("EF-38 AG-22: what the called agents used is in the run's usage, and threads show each one's own", async () => {
  const { session } = await approvedRun();
  const threads = await listOf<Listed>(`/v1/sessions/${session}/threads`);
  const starts = only(await api.events(session), "agent_start");
  const shown = new Map(threads.map(({ id, agent, parent, status }) => [id, { agent, parent, status }]));
  expect(shown).toEqual(
    new Map(
      starts.map(({ thread, agent, data }) => [
        thread,
        { agent: agent.name, parent: data.parent, status: thread === "main" ? "idle" : "ended" },
      ]),
    ),
  );
  const runs = await listOf<{ id: string; result: { usage: Usage } }>(`/v1/sessions/${session}/runs`);
  const lead = runs.at(-1);
  const { body } = await api.get(`/v1/sessions/${session}/usage`);
  const by = body["by"] as readonly { agent: string; calls: number; usage: Usage }[];
  expect(lead).toMatchObject({ id: "run_1", result: { usage: { total: expect.any(Number) as number } } });
  const total = (usages: readonly (Usage | undefined)[]): number =>
    usages.reduce((sum, usage) => sum + (usage?.total ?? 0), 0);
  expect(lead?.result.usage.total).toBe(total(by.map(({ usage }) => usage)));
  const ofChildren = total(threads.filter(({ parent }) => parent !== null).map(({ usage }) => usage));
  const ofLead = total(by.filter(({ agent }) => agent === "lead").map(({ usage }) => usage));
  expect(ofChildren + ofLead).toBe(lead?.result.usage.total);
});

test("AG-12 AG-45 AG-47: the board and the hand-over notes tell who did what", async () => {
  const { session } = await approvedRun();
  const tasks = await listOf<{ id: string; status: string; blocked: boolean; assignee: string }>(
    `/v1/sessions/${session}/tasks`,
  );
  expect(tasks.map(({ id, status, blocked }) => [id, status, blocked])).toEqual([
    ["task_1", "completed", false],
    ["task_2", "completed", false],
    ["task_3", "completed", false],
  ]);
  expect(new Set(tasks.map(({ assignee }) => assignee)).size, "three threads").toBe(3);
  const notes = await listOf<{ name: string; content: string }>(`/v1/sessions/${session}/notes`);
  expect(notes.map(({ name }) => name)).toEqual([
    "brief",
    "findings",
    "handover-program",
    "handover-test",
    "plan",
    "review",
  ]);
  expect(notes[0]?.content).toBe(request);
  expect(notes[5]?.content).toContain("2 passed\nempty table: refused");
});

test("AG-13 TB-28: the files are in the workspace, each written by who may write it", async () => {
  const { session, socket } = await approvedRun();
  const changes = only(socket.events, "file_change").map(({ agent, data }) => `${agent.name} ${data.path}`);
  expect(changes.toSorted()).toEqual(["coder bin/tides.sh", "coder test/run.sh", "coder test/table.txt"]);
  const { body } = await api.post(`/v1/sessions/${session}/messages`, { content: "the program", wait: 60 });
  const { text = "" } = body["result"] as { text?: string };
  for (const path of ["bin/tides.sh", "test/run.sh", "test/table.txt"]) expect(text).toContain(`"${path}"`);
  expect(text).toContain("times=$(awk -v day=");
});

test("EF-42: the lead's context view shows the explorer's report shortened by its effect", async () => {
  const { session } = await approvedRun();
  const path = `/v1/sessions/${session}/runs/run_1/turns/6/context?format=text`;
  const text = await (await fetch(`${server.url}${path}`)).text();
  expect(text).toMatch(/^run_1, turn 6: lead on lead\/dev-1\n.*these are the bytes that were sent\n/);
  expect(text).toMatch(/tool, \w+ by trim_tool_results, \d+ of \d+ tokens\n +\[ok\] The workspace is empty/);
});
