import { expect, test } from "vitest";
import { createClient } from "../../src/client/index.ts";

/** Messages that are taken back while they are on their way, against a server that the test plays. */

interface Try {
  readonly method: string;
  readonly key: string | null;
  readonly answer: (response: Response | Error) => void;
}

const receipt = { input: "m1", status: "accepted", run: "run_1", seq: 3 };

const refusal = (status: number, code: string): Response =>
  Response.json({ type: "", title: "", status, detail: code, code, retryable: false }, { status });

const play = () => {
  const waiting: Try[] = [];
  let arrived = Promise.withResolvers<void>();
  const session = createClient({
    url: "http://limpet.test",
    fetch: (_, init) => {
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      waiting.push({
        method: init?.method ?? "",
        key: new Headers(init?.headers).get("Idempotency-Key"),
        answer: (response) => (response instanceof Error ? reject(response) : resolve(response)),
      });
      arrived.resolve();
      return promise;
    },
  }).sessions.get("s_1");
  /** Resolves to the next request of the client. */
  const next = async (): Promise<Try> => {
    for (;;) {
      const found = waiting.shift();
      if (found !== undefined) return found;
      await arrived.promise;
      arrived = Promise.withResolvers();
    }
  };
  return { session, next, waiting };
};

/** Lets everything happen that waits for nothing. */
const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("AP-52 SE-23: a message withdrawn between two tries is never sent again, and the sender is told", async () => {
  const { session, next, waiting } = play();
  const sent = session.send({ id: "m1", content: "hello" });
  const outcome = expect(sent).rejects.toMatchObject({ problem: { code: "withdrawn" } });
  (await next()).answer(new TypeError("no network"));
  await rest();
  const withdrawn = session.withdraw("m1");
  const request = await next();
  expect(request.method).toBe("DELETE");
  request.answer(Response.json({ input: "m1", status: "withdrawn", seq: 1 }));
  await withdrawn;
  await outcome;
  await rest();
  expect(waiting).toEqual([]);
});

test("AP-52 SE-23: a message withdrawn while a try is under way is taken back from the server once that is answered", async () => {
  const { session, next, waiting } = play();
  const sent = session.send({ id: "m1", content: "hello" });
  const post = await next();
  const withdrawn = session.withdraw("m1");
  await rest();
  expect(waiting, "nothing overtakes the message").toEqual([]);
  post.answer(Response.json(receipt, { status: 202 }));
  const request = await next();
  expect(request.method).toBe("DELETE");
  request.answer(Response.json({ input: "m1", status: "withdrawn", seq: 4 }));
  await withdrawn;
  expect(await sent).toEqual(receipt);
});

test("AP-52 SE-23: a message that a run had taken up is said to be sent, not withdrawn", async () => {
  const { session, next } = play();
  const sent = session.send({ id: "m1", content: "hello" });
  const post = await next();
  const withdrawn = session.withdraw("m1");
  post.answer(Response.json(receipt, { status: 202 }));
  (await next()).answer(refusal(409, "input_already_applied"));
  await expect(withdrawn).rejects.toMatchObject({ problem: { code: "input_already_applied" } });
  expect(await sent).toEqual(receipt);
});

test("AP-52 SE-23: a withdrawal that is made again, by another page too, is the same command", async () => {
  const { session, next } = play();
  const withdrawn = session.withdraw("m1");
  const first = await next();
  first.answer(new TypeError("no network"));
  const again = await next();
  expect([again.method, again.key]).toEqual(["DELETE", first.key]);
  again.answer(Response.json({ input: "m1", status: "withdrawn", seq: 4 }));
  await withdrawn;
  const other = play();
  const made = other.session.withdraw("m1");
  const request = await other.next();
  expect(request.key).toBe(first.key);
  request.answer(Response.json({ input: "m1", status: "withdrawn", seq: 4 }));
  await made;
});

test("AP-52: messages reach the session in the order in which they were written, whatever becomes of each", async () => {
  const { session, next, waiting } = play();
  const sent = ["m1", "m2", "m3"].map((id) => session.send({ id, content: id }));
  const outcome = expect(sent[1]).rejects.toMatchObject({ problem: { code: "thread_gone" } });
  (await next()).answer(new TypeError("no network"));
  await rest();
  expect(waiting).toEqual([]);
  for (const [id, answer] of [
    ["m1", Response.json(receipt, { status: 202 })],
    ["m2", refusal(404, "thread_gone")],
    ["m3", Response.json(receipt, { status: 202 })],
  ] as const) {
    const request = await next();
    expect([request.key, waiting]).toEqual([id, []]);
    request.answer(answer);
  }
  await Promise.all([sent[0], outcome, sent[2]]);
});

test("AP-52 SE-23: a message that waits for the one before it is withdrawn at once, and those behind it do not notice", async () => {
  const { session, next } = play();
  const [first, second, third] = ["m1", "m2", "m3"].map((id) => session.send({ id, content: id }));
  const outcome = expect(second).rejects.toMatchObject({ problem: { code: "withdrawn" } });
  const post = await next();
  const withdrawn = session.withdraw("m2");
  await outcome;
  const request = await next();
  expect([request.method, request.key]).toEqual(["DELETE", "m2"]);
  request.answer(Response.json({ input: "m2", status: "withdrawn", seq: 1 }));
  await withdrawn;
  post.answer(Response.json(receipt, { status: 202 }));
  (await next()).answer(Response.json(receipt, { status: 202 }));
  await Promise.all([first, third]);
});

test("AP-52: a message whose caller gives it up while it waits behind another is never sent", async () => {
  const { session, next, waiting } = play();
  const first = session.send({ id: "m1", content: "one" });
  const caller = new AbortController();
  const second = session.send({ id: "m2", content: "two" }, { signal: caller.signal });
  const third = session.send({ id: "m3", content: "three" });
  const outcome = expect(second).rejects.toMatchObject({ name: "AbortError" });
  const post = await next();
  caller.abort();
  await outcome;
  expect(waiting, "the third waits for the first").toEqual([]);
  post.answer(Response.json(receipt, { status: 202 }));
  await first;
  const other = await next();
  expect(other.key).toBe("m3");
  other.answer(Response.json({ ...receipt, input: "m3" }, { status: 202 }));
  await third;
  expect(waiting).toEqual([]);
});

test("AP-51: a message that was answered while nothing was open is kept by nobody", async () => {
  const { session, next } = play();
  const sent = session.send({ id: "m1", content: "hello" });
  (await next()).answer(Response.json(receipt));
  await sent;
  const open = session.open();
  await new Promise<void>((resolve) => void open.subscribe(resolve));
  expect(open.getSnapshot().inputs).toEqual([]);
  open.close();
});
