import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApi, watchSession } from "../support/api-client.ts";
import type { Api, Frame } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { until } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { playing, say } from "../support/plays.ts";
import { startRuntime } from "../support/runtime.ts";

/** The whole stack over HTTP: the deployed bundles under `wrangler dev`, a model server that speaks the wire. */

const adminKey = "an-admin-key-for-the-wire-tests-only";

let provider: FakeProvider;
let team: BuiltTeam;
let server: DevServer;
let admin: Api;
let shop: Api;
let other: Api;
let shopKey: string;

const keyFor = async (tenant: string): Promise<string> => {
  const scopes = [
    "sessions:read",
    "sessions:write",
    "sessions:manage",
    "asks:answer",
    "approvals:decide",
    "tokens:mint",
  ];
  const { status, body } = await admin.post("/v1/keys", { tenant, scopes });
  expect(status).toBe(201);
  return String(body["key"]);
};

beforeAll(async () => {
  provider = await startFakeProvider(
    playing({
      hello: () => [{ ...say({ text: "Hello from the wire, in several pieces of text." }), delay: 60 }],
      steps: () => [
        ...[1, 2, 3, 4].map((step) => ({
          ...say({ text: `Step ${step}.` }, { call: "fs_write", args: { path: `${step}.md`, content: "x" } }),
          delay: 20,
        })),
        say({ text: "Done." }),
      ],
      long: () => [{ ...say({ text: "The tide comes in. ".repeat(60) }), delay: 60 }],
      work: () => [
        say(
          { text: "First a file and a command." },
          { call: "fs_write", args: { path: "notes/a.md", content: "limpets hold on\n" } },
          { call: "exec_run", args: { command: "echo", args: ["from", "the", "sandbox"] } },
        ),
        say({ call: "search_content", args: { pattern: "limpets" } }),
        say({ text: "All done." }),
      ],
      reread: () => [
        say({ call: "fs_read", args: { path: "notes/a.md" } }),
        say({ text: "It is still there." }),
      ],
      write: ({ words }) => [
        say({ call: "fs_write", args: { path: "draft.md", content: words.join(" ") } }),
        say({ text: "Written, or not." }),
      ],
    }),
  );
  team = await buildTestTeam("wire");
  server = await startRuntime({
    team,
    vars: {
      LIMPET_ADMIN_KEY: adminKey,
      LIMPET_PRIVATE_EGRESS: `127.0.0.1:${provider.port}`,
      MODEL_KEY: "sk-wire",
      MESSAGES_URL: provider.url("anthropic"),
      COMPLETIONS_URL: provider.url("compatible"),
    },
  });
  admin = createApi(server.url, adminKey);
  shopKey = await keyFor("shop");
  shop = createApi(server.url, shopKey);
  other = createApi(server.url, await keyFor("other"));
});

afterAll(async () => {
  await server?.close();
  team?.remove();
  await provider?.close();
});

const run = (session: string, content: string): ReturnType<Api["post"]> =>
  shop.post(`/v1/sessions/${session}/messages`, { content, wait: 60 });

const token = async (session: string): Promise<string> => {
  const { body } = await shop.post(`/v1/sessions/${session}/tokens`, {
    scopes: ["sessions:read", "sessions:write"],
  });
  return String(body["token"]);
};

const watch = async (session: string, after = 0): Promise<ReturnType<typeof watchSession>> =>
  watchSession(server.url, session, { after, protocols: ["limpet.v1", `bearer.${await token(session)}`] });

/** The text of an item from the pieces that a client saw. */
const shownText = (frames: readonly Frame[], item: unknown): string => {
  let text = "";
  for (const frame of frames) {
    if (frame["item"] !== item) continue;
    if (frame.type === "item_state") text = String(frame["text"]);
    if (frame.type === "delta") {
      expect(frame["off"], "deltas continue where the last one ended").toBe(text.length);
      text += String(frame["data"]);
    }
  }
  return text;
};

describe.each(["messages", "completions"])("the agent %s", (agent) => {
  test("MO-10 AP-18: a text comes over the wire, as deltas and as the run's result", async () => {
    const session = await shop.create({ agent });
    const socket = await watch(session);
    await socket.frame("live");
    const { status, body } = await run(session, "play hello");
    expect([status, body["state"]]).toEqual([200, "completed"]);
    expect((body["result"] as { text: string }).text).toBe("Hello from the wire, in several pieces of text.");
    await socket.event("run_end");
    const { item } = await socket.event("llm_text");
    expect(shownText(socket.frames, item)).toBe("Hello from the wire, in several pieces of text.");
    socket.close();
  });

  test("TB-28 RE-P3: files, commands and search work in the sandbox", async () => {
    const session = await shop.create({ agent });
    const { body } = await run(session, "play work");
    expect(body["state"], JSON.stringify(body)).toBe("completed");
    const ends = (await shop.events(session)).filter(({ type }) => type === "tool_call_end");
    const outcomes = ends.map(({ data }) => data as { tool: string; outcome: string; output: unknown });
    expect(outcomes.map(({ tool, outcome }) => `${tool} ${outcome}`).toSorted()).toEqual([
      "exec_run ok",
      "fs_write ok",
      "search_content ok",
    ]);
    expect(JSON.stringify(outcomes)).toContain("from the sandbox");
    expect(JSON.stringify(outcomes)).toContain("limpets hold on");
  });
});

test("TB-28 RE-P3: files survive a restart of everything", async () => {
  const session = await shop.create();
  await run(session, "play work");
  await server.kill();
  await server.start();
  expect((await run(session, "play reread")).body["state"]).toBe("completed");
  const ends = (await shop.events(session)).filter(({ type }) => type === "tool_call_end");
  expect(JSON.stringify(ends.at(-1)?.data)).toContain("limpets hold on");
});

test("AP-23 RE-V1: a socket that is dropped anywhere and resumed by after has no gap and no repeat", async () => {
  const session = await shop.create({ agent: "messages", input: "play steps" });
  const seen: number[] = [];
  for (let drops = 0; ; drops += 1) {
    const socket = await watch(session, seen.length);
    const wanted = seen.length + 3;
    const enough = (): boolean =>
      seen.length + socket.events.length >= wanted || socket.events.some(({ type }) => type === "run_end");
    await until("more events", () => enough() || null);
    socket.close();
    await socket.closed;
    seen.push(...socket.events.map(({ seq }) => seq));
    if (socket.events.some(({ type }) => type === "run_end")) {
      expect(drops, "the stream was dropped in the middle").toBeGreaterThan(1);
      break;
    }
  }
  expect(seen).toEqual((await shop.events(session)).map(({ seq }) => seq));
});

test("AP-20 AP-23: whoever joins in the middle of a text gets the open item, then its rest", async () => {
  const session = await shop.create({ agent: "messages" });
  const early = await watch(session);
  await early.frame("live");
  await shop.post(`/v1/sessions/${session}/messages`, { content: "play long" });
  await until("some text", () => early.frames.filter(({ type }) => type === "delta").length > 3 || null);
  const late = await watch(session);
  const { item } = await late.frame("item_state");
  await Promise.all([early.event("run_end"), late.event("run_end")]);
  expect(shownText(late.frames, item)).toBe("The tide comes in. ".repeat(60));
  expect(shownText(early.frames, item)).toBe("The tide comes in. ".repeat(60));
  expect(late.events).toEqual(early.events);
  for (const socket of [early, late]) socket.close();
});

test("AP-23 RE-V4: SSE resumes after Last-Event-ID with exactly what was missed", async () => {
  const session = await shop.create({ agent: "completions" });
  await run(session, "play hello");
  const events = await shop.events(session);
  const stop = new AbortController();
  const response = await fetch(`${server.url}/v1/sessions/${session}/events?after=0`, {
    headers: { Authorization: `Bearer ${shopKey}`, Accept: "text/event-stream", "Last-Event-ID": "4" },
    signal: stop.signal,
  });
  expect(response.headers.get("Content-Type")).toContain("text/event-stream");
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.includes("event: live")) break;
  }
  stop.abort();
  expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))).toEqual(
    events.slice(4).map(({ seq }) => seq),
  );
  const sent = [...text.matchAll(/^id: \d+\ndata: (.*)$/gm)].map(([, data]): unknown =>
    JSON.parse(data ?? ""),
  );
  expect(sent).toEqual(events.slice(4));
});

test("★ MO-40 AP-13: who may debug sees the provider's frames live, without its key; nobody else, and no log has them", async () => {
  const { body: made } = await admin.post("/v1/keys", {
    tenant: "shop",
    scopes: ["sessions:read", "debug:read"],
  });
  const session = await shop.create({ agent: "messages" });
  const open = (key: string): Promise<Response> =>
    fetch(`${server.url}/v1/sessions/${session}/events?after=0`, {
      headers: { Authorization: `Bearer ${key}`, Accept: "text/event-stream" },
    });
  const textOf = async ({ body }: Response): Promise<string> => {
    let text = "";
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (/^event: run_end$/m.test(text)) break;
    }
    return text;
  };
  const streams = await Promise.all([open(String(made["key"])), open(shopKey)]);
  const texts = Promise.all(streams.map(textOf));
  await run(session, "play hello");
  const [debugging = "", plain = ""] = await texts;
  const frames = [...debugging.matchAll(/^event: llm_provider_raw\ndata: (.*)$/gm)].map(
    ([, json = ""]) => JSON.parse(json) as { provider: string; data: string },
  );
  expect(frames[0]?.provider).toBe("messages");
  expect(frames.map(({ data }) => (JSON.parse(data) as { type: string }).type)).toContain("message_start");
  expect(debugging).not.toContain("sk-wire");
  expect(plain).not.toContain("llm_provider_raw");
  expect(plain).toContain("event: delta");
  expect(JSON.stringify(await shop.events(session))).not.toContain("message_start");
}, 60_000);

test("SE-30 AP-19: a write waits for approval; an edited approval writes what the person wrote", async () => {
  const session = await shop.create({ agent: "careful" });
  const receipt = await run(session, "play write what the model wanted");
  expect(receipt.status, "only a person can go on").toBe(202);
  const open = await shop.get(`/v1/sessions/${session}/asks`);
  const [ask] = open.body["data"] as {
    id: string;
    kind: string;
    approval: { tool: string; input: unknown };
  }[];
  expect(ask).toMatchObject({
    kind: "approval",
    approval: { tool: "fs_write", input: { path: "draft.md", content: "what the model wanted" } },
  });
  const decision = { decision: "edit", input: { path: "draft.md", content: "what the person wrote" } };
  const answered = await shop.post(`/v1/sessions/${session}/asks/${ask?.id}`, decision);
  expect(answered.status).toBe(200);
  const again = await shop.post(`/v1/sessions/${session}/asks/${ask?.id}`, { decision: "deny" });
  expect([again.status, again.body["code"]]).toEqual([409, "ask_already_resolved"]);
  const socket = await watch(session);
  await socket.event("run_end");
  const change = await socket.event("file_change");
  expect(JSON.stringify(change.data)).toContain("what the person wrote");
  expect(JSON.stringify(change.data)).not.toContain("what the model wanted");
  socket.close();
});

test("SE-30: a denied write is not done", async () => {
  const session = await shop.create({ agent: "careful" });
  await run(session, "play write never");
  const open = await shop.get(`/v1/sessions/${session}/asks`);
  const [ask] = open.body["data"] as { id: string }[];
  await shop.post(`/v1/sessions/${session}/asks/${ask?.id}`, { decision: "deny", message: "not today" });
  const socket = await watch(session);
  await socket.event("run_end");
  const end = await socket.event("tool_call_end");
  expect(end.data).toMatchObject({ tool: "fs_write", outcome: "denied" });
  expect(socket.events.some(({ type }) => type === "file_change")).toBe(false);
  socket.close();
});

test("AP-13 RE-T3: a token opens its own session by subprotocol, and only limpet.v1 is echoed", async () => {
  const [session, second] = [await shop.create(), await shop.create()];
  const own = await watch(session);
  await own.frame("welcome");
  expect(own.socket.protocol).toBe("limpet.v1");
  own.close();
  const foreign = watchSession(server.url, second, {
    protocols: ["limpet.v1", `bearer.${await token(session)}`],
  });
  await foreign.closed;
  expect(foreign.events).toEqual([]);
  const forged = watchSession(server.url, session, {
    protocols: ["limpet.v1", `bearer.${await token(session)}x`],
  });
  await forged.closed;
  expect(forged.events).toEqual([]);
});

test("AP-13: a socket without a credential says who it is in its first frame", async () => {
  const session = await shop.create();
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/sessions/${session}/ws`, [
    "limpet.v1",
  ]);
  const frames: string[] = [];
  socket.addEventListener("message", ({ data }) => frames.push(String(data)));
  await new Promise((done) => {
    socket.addEventListener("open", done);
  });
  socket.send(JSON.stringify({ type: "auth", token: await token(session) }));
  socket.send(JSON.stringify({ type: "hello", after: 0 }));
  await until("the log", () => frames.join("").includes("session_created") || null);
  socket.close();
});

test("AP-10 RE-T5: another tenant's session is answered like one that never was", async () => {
  const session = await shop.create({ ref: "same-name" });
  const unknown = "s_aaaaaaaaaaaaaaaaaaaaaaaaaa";
  for (const path of ["", "/messages", "/events", "/asks", "/runs", "/snapshot", "/inputs"]) {
    const [foreign, never] = [
      await other.get(`/v1/sessions/${session}${path}`),
      await other.get(`/v1/sessions/${unknown}${path}`),
    ];
    expect([foreign.status, never.status], path).toEqual([404, 404]);
    expect({ ...foreign.body, request_id: "" }).toEqual({ ...never.body, request_id: "" });
  }
  expect((await other.post(`/v1/sessions/${session}/messages`, { content: "play hello" })).status).toBe(404);
  expect((await other.delete(`/v1/sessions/${session}`)).status).toBe(404);
  expect((await shop.get(`/v1/sessions/${session}`)).status).toBe(200);
  expect(await other.create({ ref: "same-name" })).not.toBe(session);
  expect((await createApi(server.url).get(`/v1/sessions/${session}`)).status, "without a key").toBe(401);
  expect((await createApi(server.url, `${shopKey}x`).get("/v1/sessions")).status, "with a wrong key").toBe(
    401,
  );
});

test("RE-P14: after an acknowledged DELETE nothing is readable and the sockets are closed", async () => {
  const session = await shop.create({ agent: "messages", input: "play long" });
  const socket = await watch(session);
  await socket.event("llm_request_start");
  expect((await shop.delete(`/v1/sessions/${session}`)).status).toBe(204);
  expect(await socket.closed).toBe(4410);
  for (const path of ["", "/messages", "/events"]) {
    expect((await shop.get(`/v1/sessions/${session}${path}`)).status).toBe(404);
  }
});

test("AP-6: a send that is repeated with its key has one effect", async () => {
  const session = await shop.create({ agent: "messages" });
  const path = `/v1/sessions/${session}/messages`;
  const send = (content: string) =>
    shop.post(path, { content, on_busy: "queue" }, { "Idempotency-Key": "k1" });
  const answers = await Promise.all([1, 2, 3].map(() => send("play hello")));
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
  expect(new Set(answers.map(({ body }) => body["input"])).size).toBe(1);
  const changed = await send("play other");
  expect([changed.status, changed.body["code"]]).toEqual([422, "idempotency_key_reused"]);
  const socket = await watch(session);
  await socket.event("run_end");
  expect(socket.events.filter(({ type }) => type === "input_accepted")).toHaveLength(1);
  socket.close();
});
