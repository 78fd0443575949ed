import { expect, test } from "vitest";
import { api, create } from "../support/worker/session.ts";

/**
 * Answers and frames that other tests do not look at: all that passes `api` and a watch is checked against the documents
 * of the API (AP-50).
 */

test("AP-50: keys are listed and shown as the documents say", async () => {
  const made = await api("POST", "/keys", { body: { name: "backend", scopes: ["sessions:read"] } });
  expect(made.status).toBe(201);
  expect((await api("GET", "/keys")).body["data"]).not.toEqual([]);
  expect((await api("GET", `/keys/${String(made.body["id"])}`)).status).toBe(200);
});

test("AP-50 AP-18: a message that is waited for, and the seed's own way to answer", async () => {
  const session = await create("text");
  const ended = await session.call("POST", "", { body: { content: "Go" } });
  expect(ended).toMatchObject({ status: 200, body: { state: "completed" } });
  const sent = await session.call("POST", "/messages", { body: { content: "Again", wait: 30 } });
  expect(sent).toMatchObject({ status: 200, body: { state: "completed" } });
  const asking = await create("ask");
  const waiting = await asking.call("POST", "", { body: { content: "Ask me", wait: 30 } });
  expect(waiting).toMatchObject({ status: 202, body: { status: "applied" } });
  const { body } = await asking.call("GET", "/asks");
  const [ask] = body["data"] as unknown as readonly { readonly id: string }[];
  const answered = await asking.call("POST", "/respond", {
    body: { question_id: ask?.id, response: "Blue" },
  });
  expect(answered).toMatchObject({ status: 200, body: { status: "resolved" } });
  await asking.settled();
});

test("AP-50 AP-22: commands over the socket, a snapshot, and an open item", async () => {
  const session = await create("ask");
  const watch = await session.watch({});
  await watch.until(({ type }) => type === "snapshot");
  watch.send({ type: "send", id: "c1", input: { content: "Ask me" } });
  const asked = await watch.event("ask_user");
  watch.send({ type: "send", id: "c2", input: { content: "Later", on_busy: "queue" } });
  const queued = await watch.until(({ type, id }) => type === "result" && id === "c2");
  const { input } = queued["result"] as { readonly input: string };
  watch.send({ type: "withdraw", id: "c3", input });
  await watch.until(({ type, id }) => type === "result" && id === "c3");
  const { ask } = asked.data as unknown as { readonly ask: { readonly id: string } };
  watch.send({ type: "answer", id: "c4", ask: ask.id, answer: { decision: "answer", text: "Blue" } });
  await watch.until(({ type, id }) => type === "result" && id === "c4");
  watch.send({ type: "cancel", id: "c5", cancel: { mode: "now" } });
  await watch.until(({ type, id }) => type === "result" && id === "c5");
  await session.settled();
  expect(watch.faults).toEqual([]);
  watch.close();
});

test("AP-50 AP-20: who comes in the middle of an item gets it whole", async () => {
  const session = await create("slow");
  const first = await session.watch();
  await session.send("i1", "Go");
  await first.until(({ type }) => type === "delta");
  const second = await session.watch();
  await second.until(({ type }) => type === "item_state");
  second.send({ type: "set", deltas: "none" });
  expect([first.faults, second.faults]).toEqual([[], []]);
  await session.call("POST", "/cancel", { body: { mode: "now" } });
  await session.settled();
  first.close();
  second.close();
});

test.each([
  ["late", "provider_timeout", 504],
  ["garbled", "provider_error", 502],
])(
  "AP-50 AP-7: a run that fails with a model that is %s tells it as a problem: %s",
  async (text, code, status) => {
    const session = await create("failing");
    const watch = await session.watch();
    await session.send("i1", text);
    await session.settled();
    const { data } = await watch.event("run_end");
    expect(data).toMatchObject({ state: "failed", reason: code, error: { code, status } });
    expect(watch.faults).toEqual([]);
    watch.close();
  },
);

test("AP-50 SE-45: a fork under the same key is shown again", async () => {
  const session = await create("text");
  await session.send("i1", "Go");
  await session.settled();
  const fork = () =>
    session.call("POST", "/fork", { body: { at: 1 }, headers: { "Idempotency-Key": "once" } });
  expect([(await fork()).status, (await fork()).status]).toEqual([201, 201]);
  const cleared = await session.call("POST", "/clear", { body: { instructions: "Start over" } });
  expect(cleared.status).toBe(200);
});
