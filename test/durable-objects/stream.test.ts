import { expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { letGo } from "../support/worker/probe.ts";
import { finalTexts } from "../support/worker/watch.ts";
import type { Watch } from "../support/worker/watch.ts";
import { api, create, request } from "../support/worker/session.ts";
import type { Session } from "../support/worker/session.ts";

/** The stream of a session as clients live through it (RE §5), over WebSocket, SSE and GET. */

const finished = async (agent: string): Promise<Session> => {
  const session = await create(agent, "Go");
  await session.settled();
  return session;
};

/** What an SSE reader gets until an event of this type. */
const sse = async (session: Session, query: string, last: string, headers = {}): Promise<StoredEvent[]> => {
  const answer = await request("GET", `/sessions/${session.id}/events?live=sse&${query}`, { headers });
  if (answer.body === null) throw new Error("no body");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes(`event: ${last}\n`) || !text.endsWith("\n\n")) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader.cancel();
  return text
    .split("\n\n")
    .filter((block) => block.includes("\nid: "))
    .map((block) => JSON.parse(block.slice(block.indexOf("\ndata: ") + 7)) as StoredEvent);
};

const seqs = (events: readonly { readonly seq: number }[]): number[] => events.map(({ seq }) => seq);
const upTo = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index + 1);

test("RE-V1: from every seq on, WebSocket, SSE and GET give the same rest of the log", async () => {
  const session = await finished("tools");
  const log = await session.events();
  for (let after = 0; after <= log.length; after++) {
    const watch = await session.watch({ after });
    await watch.until(({ type }) => type === "live");
    expect(watch.events).toEqual(log.slice(after));
    watch.close();
    const { body } = await session.call("GET", `/events?after=${after}&limit=1000`);
    expect(body["data"]).toEqual(log.slice(after));
    const read = await sse(session, `after=${after}`, "live");
    expect(read).toEqual(log.slice(after));
  }
});

test("RE-V1: a client cut after every message of a live run misses nothing, and shows whole texts", async () => {
  const session = await create("slow");
  const seen: StoredEvent[] = [];
  const faults: string[] = [];
  let texts = new Map<string, string>();
  await session.send("i1", "Go");
  while (!seen.some(({ type }) => type === "run_end")) {
    const watch: Watch = await session.watch({ after: seen.at(-1)?.seq ?? 0 });
    await watch.until(({ type }) => type === "live");
    const had = watch.messages;
    await new Promise<void>((resolve) => {
      watch.onMessage = (count) => {
        if (count > had) resolve();
      };
      if (watch.events.some(({ type }) => type === "run_end")) resolve();
    });
    watch.close();
    seen.push(...watch.events);
    faults.push(...watch.faults);
    texts = new Map([...texts, ...watch.texts]);
  }
  expect(seqs(seen)).toEqual(upTo(0, seen.length));
  expect(faults).toEqual([]);
  const whole = finalTexts(await session.events());
  expect(whole.size).toBeGreaterThan(0);
  for (const [item, text] of texts) expect(whole.get(item)?.startsWith(text), item).toBe(true);
});

test("RE-V3 AP-23: who joins mid-item gets the item so far, then goes on with it; two tabs show the same", async () => {
  const session = await create("slow");
  const first = await session.watch();
  await session.send("i1", "Go");
  await first.until(({ type }) => type === "delta");
  const second = await session.watch({ after: first.events.at(-1)?.seq ?? 0 });
  const state = await second.until(({ type }) => type === "item_state");
  expect(String(state["text"]).length).toBeGreaterThan(0);
  await Promise.all([first.event("run_end"), second.event("run_end")]);
  expect([first.faults, second.faults]).toEqual([[], []]);
  expect(second.texts).toEqual(first.texts);
  const [[, whole = ""] = []] = finalTexts(await session.events());
  expect(
    whole.startsWith([...first.texts.values()].join("")),
    "shown text is the beginning of the whole",
  ).toBe(true);
  first.close();
  second.close();
});

test("RE-V3 AP-22: a filter that widens mid-item shows the item whole; no delta is out of place", async () => {
  const session = await create("slow");
  const watch = await session.watch({ after: 0, deltas: "none" });
  await session.send("i1", "Go");
  await watch.event("llm_text");
  watch.send({ type: "set", deltas: "all" });
  await watch.until(({ type }) => type === "item_state");
  await watch.until(({ type }) => type === "delta");
  watch.send({ type: "set", deltas: "none" });
  await watch.event("run_end");
  expect(watch.faults).toEqual([]);
  watch.close();
});

test("AP-23: filters thin the stream, cursors stay valid", async () => {
  const session = await finished("tools");
  const log = await session.events();
  const types = ["run_start", "tool_call_end", "run_end"];
  const watch = await session.watch({ after: 0, types });
  await watch.until(({ type }) => type === "live");
  const wanted = log.filter(({ type }) => types.includes(type));
  expect(watch.events).toEqual(wanted);
  expect(await sse(session, `after=0&types=${types.join(",")}`, "live")).toEqual(wanted);
  const { body } = await session.call("GET", `/events?types=${types.join(",")}`);
  expect(body["data"]).toEqual(wanted);
  const later = await session.watch({ after: wanted[1]?.seq ?? 0, threads: ["nobody"] });
  await later.until(({ type }) => type === "live");
  expect(later.events).toEqual([]);
  watch.close();
  later.close();
});

test("AP-23: SSE resumes by Last-Event-ID, which beats after", async () => {
  const session = await finished("text");
  const log = await session.events();
  const read = await sse(session, "after=0", "live", { "Last-Event-ID": "5" });
  expect(seqs(read)).toEqual(upTo(5, log.length));
});

test("RE-V2: cursors that are none are refused; one ahead of the log is told the head", async () => {
  const session = await finished("text");
  const log = await session.events();
  for (const after of ["-1", "9007199254740992", "x", "1.5"]) {
    expect((await session.call("GET", `/events?after=${after}`)).status, after).toBe(400);
    expect((await request("GET", `/sessions/${session.id}/events?live=sse&after=${after}`)).status).toBe(400);
  }
  const ahead = await session.call("GET", `/events?after=${log.length + 1}`);
  expect(ahead).toMatchObject({
    status: 409,
    body: {
      code: "cursor_ahead",
      detail: `The newest event of this session is ${log.length}; a later number belongs to another session.`,
      meta: { head_seq: log.length },
    },
  });
  const watch = await session.watch({ after: log.length + 1 });
  const error = await watch.until(({ type }) => type === "error");
  expect(error["problem"]).toMatchObject({ code: "cursor_ahead", meta: { head_seq: log.length } });
  const bye = await watch.until(({ type }) => type === "bye");
  expect(bye).toMatchObject({ code: 4400, resume_after: log.length });
  expect(await watch.closed()).toBe(4400);
  for (const hello of [{ after: -1 }, { after: 2 ** 53 }, { after: "1" }, { after: 0, nonsense: 1 }]) {
    const bad = await session.watch(hello as never);
    expect(await bad.closed()).toBe(4400);
  }
});

test("★ RE-P6 AP-22: a socket that ends before its hello is not told to go on after events that it was not sent", async () => {
  const session = await create("text", "Go");
  await session.settled();
  const watch = await session.watch({ after: -1 });
  expect(await watch.closed()).toBe(4400);
  expect(watch.frames.at(-1)).toEqual({ type: "bye", code: 4400, retry_ms: 1_000 });
});

test("RE-V6: hibernating sockets survive evictions between runs and in the middle, and miss nothing", async () => {
  const session = await create("text");
  const watch = await session.watch();
  for (const [index, id] of ["i1", "i2", "i3", "i4"].entries()) {
    await watch.until(({ type }) => type === "live");
    await session.evict();
    await session.send(id, "Go");
    await session.evict();
    while (watch.events.filter(({ type }) => type === "run_end").length <= index) await scheduler.wait(2);
  }
  expect(watch.faults).toEqual([]);
  expect(seqs(watch.events)).toEqual(upTo(0, (await session.events()).length));
  watch.send({ type: "ping" });
  await watch.until(({ type }) => type === "pong");
  watch.close();
});

test("RE-V7: text of an attempt that was aborted while the client was away is gone after it resumed", async () => {
  const session = await create("slow");
  const watch = await session.watch();
  await session.send("i1", "Go");
  await watch.until(({ type }) => type === "delta");
  const after = watch.events.at(-1)?.seq ?? 0;
  expect(watch.texts.size).toBe(1);
  await session.crash();
  await watch.closed();
  await session.settled();
  const back = await session.watch({ after });
  const aborted = await back.event("attempt_aborted");
  expect(aborted).toMatchObject({ data: { code: "interrupted", items: [...watch.texts.keys()] } });
  await back.event("run_end");
  expect(seqs(back.events)).toEqual(upTo(after, (await session.events()).length));
  const { body } = await session.call("GET", "/messages");
  expect(body["data"]).toHaveLength(2);
  back.close();
});

test("RE-V8: a command frame that is sent again after a cut has one effect", async () => {
  const session = await create("text");
  const send = { type: "send", id: "c1", input: { id: "i1", content: "Go" } };
  for (const [index, crash] of [true, false, true].entries()) {
    const watch = await session.watch({ after: 0 });
    watch.send(send);
    const result = await watch.until(({ type }) => type === "result");
    expect(result).toMatchObject({ id: "c1", replayed: index > 0, result: { input: "i1" } });
    watch.close();
    if (crash) await session.crash();
  }
  await session.settled();
  const accepted = (await session.events()).filter(({ type }) => type === "input_accepted");
  expect(accepted).toHaveLength(1);
});

test("AP-24: a client without a cursor gets one consistent snapshot, then what follows it", async () => {
  const session = await finished("text");
  const head = (await session.events()).length;
  const watch = await session.watch({});
  const { snapshot } = await watch.until(({ type }) => type === "snapshot");
  expect(snapshot).toMatchObject({
    seq: head,
    session: { id: session.id, status: "idle" },
    items: [],
    asks: [],
  });
  const { body } = await session.call("GET", "/snapshot");
  expect(body).toEqual(snapshot);
  await session.send("i2", "More");
  await watch.event("run_end");
  expect(seqs(watch.events)[0]).toBe(head + 1);
  expect(watch.faults).toEqual([]);
  watch.close();
});

test("AP-24: a snapshot taken mid-item holds the item so far", async () => {
  const session = await create("slow");
  const watch = await session.watch();
  await session.send("i1", "Go");
  await watch.until(({ type }) => type === "delta");
  const { body } = await session.call("GET", "/snapshot");
  expect(body["items"]).toMatchObject([{ kind: "text", attempt: 1, text: expect.stringMatching(/^Slowly/) }]);
  await watch.event("run_end");
  watch.close();
});

test("AP-21: what an SSE client reads of a live run is the log", async () => {
  const session = await create("text");
  const reading = sse(session, "after=0", "run_end");
  await session.send("i1", "Go");
  const read = await reading;
  const log = await session.events();
  expect(read).toEqual(log.slice(0, read.length));
  expect(read.at(-1)?.type).toBe("run_end");
});

test("AP-4: HEAD of a stream answers as the stream without its events", async () => {
  const session = await create("text");
  const stream = { headers: { Accept: "text/event-stream" } };
  const answer = await request("HEAD", `/sessions/${session.id}/events?live=sse&deltas=none`, stream);
  expect([answer.status, answer.headers.get("Content-Type")]).toEqual([
    200,
    "text/event-stream; charset=utf-8",
  ]);
});

test("★ AP-22 AP-25: the end of a deleted session is told to sockets, streams and who waits for a run, each in its way", async () => {
  const session = await create("held", "Go");
  await (await session.watch()).event("llm_request_start");
  const { head } = await session.peek();
  const watch = await session.watch({ after: head });
  const stream = await request("GET", `/sessions/${session.id}/events?live=sse&after=0`);
  const queued = { body: { content: "More", on_busy: "queue", wait: 60 } };
  const waiting = session.call("POST", "/messages", queued);
  await watch.event("input_accepted");
  expect((await session.call("DELETE")).status).toBe(204);
  expect(await watch.closed()).toBe(4410);
  expect(watch.frames.at(-1)).toEqual({ type: "bye", code: 4410 });
  const text = await stream.text();
  expect(text.slice(text.lastIndexOf("event:"))).toMatch(/^event: bye\ndata: \{"type":"bye","code":4410\}/);
  expect((await waiting).status).toBe(404);
  letGo(session.id);
});

test("AP-22: sessions of no id, and of another tenant, are equally unknown to sockets and streams", async () => {
  const session = await create("text");
  const { body } = await api("POST", "/keys", { body: { scopes: ["sessions:read"], tenant: "other" } });
  const key = String(body["key"]);
  const unknown = `s_${"a".repeat(26)}`;
  for (const [id, credential] of [
    [session.id, key],
    [unknown, key],
    [unknown, undefined],
  ] as const) {
    const sent = credential === undefined ? {} : { key: credential };
    const socket = await request("GET", `/sessions/${id}/ws`, { ...sent, headers: { Upgrade: "websocket" } });
    expect(socket.status).toBe(404);
    expect(await socket.json()).toMatchObject({ code: "not_found" });
    expect((await request("GET", `/sessions/${id}/events?live=sse`, sent)).status).toBe(404);
    expect((await request("GET", `/sessions/${id}/events`, sent)).status).toBe(404);
  }
});
