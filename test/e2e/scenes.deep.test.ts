import { afterAll, beforeAll, expect, test } from "vitest";
import type { DataOf, EventType, StoredEvent } from "../../src/agent/state/events.ts";
import type { RunResult } from "../../src/agent/state/run.ts";
import { createApi, watchSession } from "../support/api-client.ts";
import type { Api, Watcher } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { until } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";

/** The scenes of the shipped team `default`: what each says is shown, read where it says it stands; and a kill in its middle. */

let team: BuiltTeam;
let server: DevServer;
let api: Api;

beforeAll(async () => {
  team = await buildTestTeam("default", "shipped");
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  api = createApi(server.url);
});
afterAll(async () => {
  await server?.close();
  team?.remove();
});

type Of<T extends EventType> = StoredEvent & { readonly data: DataOf<T> };
const only = <T extends EventType>(events: readonly StoredEvent[], type: T): readonly Of<T>[] =>
  events.filter((event) => event.type === type) as never;

const listOf = async <T>(path: string): Promise<readonly T[]> =>
  (await api.get(path)).body["data"] as readonly T[];

const answers: Readonly<Record<string, object>> = {
  question: { decision: "answer", selections: ["It stays where it is"] },
  approval: { decision: "approve" },
};

const answer = async (session: string, answered: Readonly<Record<string, object>>): Promise<void> => {
  const asks = await listOf<{ id: string; kind: string; status: string }>(`/v1/sessions/${session}/asks`);
  for (const { id, kind } of asks.filter((ask) => ask.status === "open")) {
    const { status } = await api.post(`/v1/sessions/${session}/asks/${id}`, answered[kind]);
    expect(status).toBe(200);
  }
};

const isOver = ({ type, thread }: StoredEvent): boolean => type === "run_end" && thread === "main";

interface Played {
  readonly session: string;
  readonly events: readonly StoredEvent[];
  readonly result: RunResult;
}

/** Waits for the run's end, answering what it asks. */
const ended = async (session: string, answered = answers): Promise<Played> => {
  const events = await until("the run ends", async () => {
    const all = await api.events(session);
    if (all.some(isOver)) return all;
    await answer(session, answered);
    return null;
  });
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const [end, ...others] = only(events, "run_end").filter(isOver);
  expect(others).toEqual([]);
  return { session, events, result: end?.data.result as RunResult };
};

const play = async (word: string, { more = {}, answered = answers } = {}): Promise<Played> => {
  const session = await api.create();
  const { status } = await api.post(`/v1/sessions/${session}/messages`, { content: word, ...more });
  expect(status).toBe(202);
  return ended(session, answered);
};

const outcomes = (events: readonly StoredEvent[]): readonly string[] =>
  only(events, "tool_call_end").map(({ data }) => `${data.tool} ${data.outcome}`);

test("CF-39: hello streams reasoning and text in pieces, and stores each once", async () => {
  const session = await api.create();
  const socket = watchSession(server.url, session);
  await socket.frame("live");
  await api.post(`/v1/sessions/${session}/messages`, { content: "hello" });
  await socket.event("run_end");
  const pieces = socket.frames.filter(({ type }) => type === "delta");
  const items = new Map(
    [...only(socket.events, "llm_reasoning"), ...only(socket.events, "llm_text")].map(({ item, type }) => [
      item,
      type,
    ]),
  );
  const kinds = pieces.map(({ item }) => items.get(String(item)));
  expect(kinds).toContain("llm_reasoning");
  expect(kinds.filter((kind) => kind === "llm_text").length).toBeGreaterThan(2);
  const [stored, ...others] = only(socket.events, "message_added").filter(({ data }) => data.final);
  expect(others).toEqual([]);
  expect(stored?.data.message.parts.map(({ type }) => type)).toEqual(["reasoning", "text"]);
  socket.close();
});

test("CF-39: files writes, edits, reads and searches; each change is a file_change with a diff", async () => {
  const { events, result } = await play("files");
  expect(outcomes(events).toSorted()).toEqual([
    "fs_edit ok",
    "fs_read ok",
    "fs_write ok",
    "search_content ok",
  ]);
  const changes = only(events, "file_change").map(({ data }) => [data.path, data.tool, data.diff]);
  expect(changes).toEqual([
    ["tour.md", "fs_write", expect.stringContaining("+Its shell is grey")],
    ["tour.md", "fs_edit", expect.stringContaining("+Its shell is green")],
  ]);
  expect(result.text).toContain("Its shell is green");
  expect(result.text).toContain('Lines with "limpet" in them: 1.');
});

test("CF-39: run shows output and exit code of a command that works and of one that fails", async () => {
  const { events, result } = await play("run");
  expect(outcomes(events)).toEqual(["exec_run ok", "exec_shell error"]);
  expect(JSON.stringify(only(events, "tool_call_end")[1]?.data)).toMatch(
    /exit 3.*the tide is too high|the tide is too high.*exit 3/,
  );
  expect(result.text).toContain("hello from the sandbox");
});

test("CF-39: ask puts a question that stands under asks, and goes on with its answer", async () => {
  const { session, events, result } = await play("ask");
  expect(only(events, "ask_user").map(({ data }) => data.ask.question?.options)).toHaveLength(1);
  expect(only(events, "ask_resolved").map(({ data }) => data.decision)).toEqual(["answer"]);
  expect(await listOf(`/v1/sessions/${session}/asks`)).toMatchObject([
    { kind: "question", status: "resolved" },
  ]);
  expect(result.text).toContain("Your answer: It stays where it is");
});

test.each([
  [{ decision: "approve" }, "Dear sea, please be gentle.", "you agreed, and"],
  [
    { decision: "edit", input: { key: "letter", value: "Dear sea." } },
    "Dear sea.",
    "you changed what I write",
  ],
  [{ decision: "deny", message: "Not today." }, null, "was not written"],
])("CF-39: approve takes %j", async (approval, written, said) => {
  const { session, events, result } = await play("approve", { answered: { approval } });
  const changes = only(events, "store_changed").map(({ data }) => data.key);
  expect(changes).toEqual(written === null ? [] : ["letter"]);
  const shared = await listOf<{ key: string; value: unknown }>(`/v1/sessions/${session}/state`);
  expect(shared.map(({ value }) => value)).toEqual(written === null ? [] : [written]);
  expect(only(events, "ask_resolved").map(({ data }) => data.edited)).toEqual([approval.decision === "edit"]);
  expect(result.text).toContain(said);
});

test("CF-39: team has two agents at once, with threads, a board, notes and a value to read", async () => {
  const { session, events } = await play("team");
  const path = `/v1/sessions/${session}`;
  const starts = only(events, "agent_start");
  expect(starts.map(({ agent, data }) => `${agent.name} ${data.depth}`)).toEqual([
    "guide 0",
    "scout 1",
    "builder 1",
  ]);
  const firstEnd = only(events, "agent_end")[0]?.seq ?? 0;
  expect(
    starts.every(({ seq }) => seq < firstEnd),
    "both had begun before one ended",
  ).toBe(true);
  const threads = await listOf<{ id: string; agent: string; status: string }>(`${path}/threads`);
  expect(threads.map(({ agent, status }) => `${agent} ${status}`).toSorted()).toEqual([
    "builder ended",
    "guide idle",
    "scout ended",
  ]);
  const tasks = await listOf<{ status: string; assignee: string }>(`${path}/tasks`);
  expect(
    tasks.map(({ status, assignee }) => [status, threads.find(({ id }) => id === assignee)?.agent]),
  ).toEqual([
    ["completed", "scout"],
    ["completed", "builder"],
  ]);
  const notes = await listOf<{ name: string }>(`${path}/notes`);
  expect(notes.map(({ name }) => name)).toEqual(["brief", "tide"]);
  expect((await api.get(`${path}/state`)).body).toMatchObject({
    data: [{ key: "tide", value: { step: 3 } }],
  });
  expect(only(events, "task_changed").length).toBeGreaterThan(3);
  expect(only(events, "file_change").map(({ agent, data }) => `${agent.name} ${data.path}`)).toEqual([
    "builder sign.txt",
  ]);
});

test("CF-39: graph fails one task, cancels what depends on it, and finishes the rest", async () => {
  const { session, events } = await play("graph");
  const progress = only(events, "dispatch_progress").map(({ data }) => data.task);
  expect(Object.fromEntries(progress.map(({ id, state }) => [id, state]))).toEqual({
    survey: "success",
    wall: "failed",
    railing: "success",
    paint: "cancelled",
  });
  expect(progress).toHaveLength(4);
  const [told] = only(events, "agent_start").filter(({ data }) => data.task?.includes("railing") === true);
  expect(told?.data.task).toBe("Build a railing. There are seven steps.");
  expect(outcomes(events)).toContain("dispatch_tasks error");
  const runs = await listOf<{ agent: string; state: string }>(`/v1/sessions/${session}/runs`);
  expect(runs.map(({ state }) => state).toSorted()).toEqual([
    "completed",
    "completed",
    "completed",
    "failed",
  ]);
});

test("CF-39: compact trims, masks and summarises, and every original can be read", async () => {
  const { session, events } = await play("compact");
  const applied = only(events, "effect_applied").map(({ data }) => data.kind);
  expect(applied.slice(0, 2)).toEqual(["trim_tool_results", "trim_tool_results"]);
  const stages = only(events, "compaction").map(({ data }) => `${data.effect} ${data.stage}`);
  expect(stages).toEqual(["observation_mask mask", "compact full"]);
  const path = `/v1/sessions/${session}`;
  const originals = JSON.stringify(await listOf(`${path}/messages?retired=true&limit=100`));
  for (const day of [1, 71, 141, 211, 450]) expect(originals).toContain(`day ${day}: high tide`);
  const views = await Promise.all(
    [5, 6].map(async (turn) => (await api.get(`${path}/runs/run_1/turns/${turn}/context`)).body),
  );
  const shown = views.map(({ messages, verified }) => [
    (messages as readonly { state: string }[]).map(({ state }) => state),
    verified,
  ]);
  expect(shown).toEqual([
    [["full", "full", "full", "full", "overlaid", "full", "full", "full", "full"], true],
    [["summary", "full", "full"], true],
  ]);
});

test("CF-39: loop is warned, then refused, and ends by itself", async () => {
  const { events, result } = await play("loop");
  expect(only(events, "loop_detected").map(({ data }) => `${data.level} ${data.count}`)).toEqual([
    "warning 3",
    "critical 5",
  ]);
  expect(outcomes(events)).toEqual([...Array<string>(4).fill("search_files ok"), "search_files denied"]);
  expect(only(events, "tool_call_start")).toHaveLength(4);
  expect(result.text).toContain("> denied: search_files was called 5 times");
});

test("CF-39: retry is overloaded twice, breaks off once, and then answers", async () => {
  const { events } = await play("retry");
  expect(only(events, "attempt_aborted").map(({ data }) => data.code)).toEqual([
    "overloaded",
    "overloaded",
    "truncated_stream",
  ]);
});

test("CF-39: fallback goes on with the spare model", async () => {
  const { events, result } = await play("fallback");
  expect(only(events, "provider_failover").map(({ data }) => data.to)).toEqual(["spare/spare-1"]);
  expect(result.model).toBe("spare-1");
});

test("CF-39: budget ends the run before its next turn", async () => {
  const { events, result } = await play("budget");
  expect(result).toMatchObject({ reason: "budget_exceeded", cost_exceeded: true, turns: 1 });
  expect(only(events, "llm_finish")[0]?.data.cost_usd).toBeGreaterThan(1);
});

test("CF-39: json answers a program that sends a schema", async () => {
  const schema = { type: "object", properties: { limpets: { type: "integer" } }, required: ["limpets"] };
  const { result } = await play("json", { more: { output_schema: schema } });
  expect(JSON.parse(result.text)).toMatchObject({ scene: "json", limpets: 42 });
});

test("CF-39 SE-39: verify runs a check that fails, repairs it in a turn that does not count, and runs it again", async () => {
  const { events, result } = await play("verify");
  const checks = only(events, "verify").map(({ data: { state, exit_code: code } }) => [state, code]);
  expect(checks).toEqual([
    ["started", undefined],
    ["failed", 1],
    ["started", undefined],
    ["passed", 0],
  ]);
  const notes = only(events, "message_added").filter(({ data }) => data.message.sender === "verify");
  expect(JSON.stringify(notes)).toContain("tide.sh says 13 hours");
  expect(result).toMatchObject({ turns: 2, reason: "end_turn" });
});

test("CF-39: slow can be steered and cancelled on its way", async () => {
  const session = await api.create();
  const path = `/v1/sessions/${session}`;
  await api.post(`${path}/messages`, { content: "slow" });
  const steered = await api.post(`${path}/messages`, { content: "hello", on_busy: "steer" });
  expect(steered.status).toBe(202);
  const cancelled = await api.post(`${path}/cancel`, { mode: "now" });
  expect(cancelled.status).toBe(200);
  const { result } = await ended(session);
  expect(result.reason).toBe("cancelled");
});

/** A moment in the middle of each scene. */
const middles: Readonly<Record<string, (event: StoredEvent) => boolean>> = {
  hello: ({ type }) => type === "llm_text",
  files: ({ type }) => type === "file_change",
  run: ({ type, turn }) => type === "turn_start" && turn === 2,
  ask: ({ type }) => type === "ask_user",
  approve: ({ type }) => type === "ask_user",
  team: ({ type, agent }) => type === "tool_call_start" && agent.name !== "guide",
  graph: ({ type }) => type === "dispatch_progress",
  compact: ({ type }) => type === "effect_applied",
  loop: ({ type }) => type === "loop_detected",
  retry: ({ type }) => type === "attempt_aborted",
  fallback: ({ type }) => type === "provider_failover",
  budget: ({ type }) => type === "llm_text",
  json: ({ type }) => type === "llm_request_start",
  verify: (event) => event.type === "verify" && event.data.state === "failed",
  git: ({ type, turn }) => type === "turn_start" && turn === 3,
  slow: ({ type }) => type === "llm_text",
};

/** Scenes that one kill can find in their middles: four of them stand still there, or take long. */
const together = ["ask", "approve", "retry", "slow"];
const alone = Object.keys(middles).filter((word) => !together.includes(word));
const kills = [...alone.map((word) => [word]), together];

const toTheMiddle = async (
  word: string,
): Promise<{ readonly word: string; readonly session: string; readonly socket: Watcher }> => {
  const session = await api.create();
  const socket = watchSession(server.url, session);
  await socket.frame("live");
  const middle = new Promise<void>((reached) => {
    socket.onEvent = (event) => void (middles[word]?.(event) === true && reached());
  });
  await api.post(`/v1/sessions/${session}/messages`, { content: word });
  await middle;
  return { word, session, socket };
};

test.each(kills.map((words) => [words.join(", "), words] as const))(
  "CF-39, RE-P2: killed in the middle of %s, each ends as scripted",
  async (_, words) => {
    const begun = await Promise.all(words.map(toTheMiddle));
    await server.kill();
    for (const { word, socket } of begun) expect([word, socket.events.some(isOver)]).toEqual([word, false]);
    await server.start();
    for (const { word, session, socket } of begun) {
      const { result, events } = await ended(session);
      expect(result.text).toContain(word === "json" ? '"scene": "json"' : `That was **${word}**`);
      expect(socket.events).toEqual(events.slice(0, socket.events.length));
    }
  },
);
