import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { executionsOf, letGo } from "../support/worker/probe.ts";
import { create, request } from "../support/worker/session.ts";

/** Requests that the router keeps open: what they do to the session, and what becomes of them without it. */

test("AP-18: a request that waits for a run outlives crashes of the object, and answers with the run", async () => {
  const session = await create("held");
  const answer = session.call("POST", "/messages", { body: { content: "Go", wait: 60 } });
  while (executionsOf(session.id).length === 0) await scheduler.wait(2);
  await session.crash();
  await session.crash();
  session.rush();
  letGo(session.id);
  expect(await answer).toMatchObject({ status: 200, body: { state: "completed", turns: 2 } });
});

test("AP-18: a request that waits is answered as soon as only a person can go on, also if an agent worked on beside the question", async () => {
  const session = await create("elder");
  const answer = session.call("POST", "/messages", { body: { content: "Ask beside", wait: 20 } });
  while (executionsOf(session.id).length === 0) await scheduler.wait(2);
  letGo(session.id);
  expect(await answer).toMatchObject({ status: 202, body: { asks: [{ kind: "question" }] } });
});

test("AP-21 AP-26 RE-V10: a stream of server-sent events that nobody reads is not paced like a reader that knows no acknowledgements", async () => {
  const session = await create("big");
  for (const input of ["i1", "i2"]) {
    await session.send(input, "Go");
    await session.settled();
  }
  const path = `/sessions/${session.id}/events?after=0&live=sse`;
  const answer = await request("GET", path);
  const lagging = (): Promise<unknown> =>
    runInDurableObject(session.stub(), (_, state) => {
      const [socket] = state.getWebSockets();
      const seen = (socket?.deserializeAttachment() ?? {}) as { after?: number | null; reader?: string };
      return typeof seen.after === "number" ? seen.reader : null;
    });
  // A reader that is paced stays silent until it is closed.
  while ((await lagging()) !== "acknowledging") await scheduler.wait(5);
  expect(answer.status).toBe(200);
  await answer.body?.cancel();
});
