import { expect, test, vi } from "vitest";
import { createWire, leaveBody } from "../../src/sandbox/wire.ts";

/** A sandbox that answers late, or never to the end: no request outlives its time. */

const endless = (): { readonly body: ReadableStream; readonly wasCancelled: () => boolean } => {
  let cancelled = false;
  const body = new ReadableStream({ cancel: () => void (cancelled = true) });
  return { body, wasCancelled: () => cancelled };
};

const wireTo = (answer: (request: Request) => Promise<Response>) =>
  createWire({ fetch: answer }, "s1", {}, { instance: null });

const get = { method: "GET", path: "/fs/stat", timeoutMs: 30 } as const;

const timedOut = { code: "exec_transport_error", message: expect.stringContaining("no answer in time") };

test("a request that is not answered in time is aborted, and an answer that comes all the same is not kept open", async () => {
  const late = Promise.withResolvers<Response>();
  let signal: AbortSignal | null = null;
  const wire = wireTo((request) => {
    ({ signal } = request);
    return late.promise;
  });
  await expect(wire.send(get, leaveBody)).rejects.toMatchObject(timedOut);
  expect(signal).toMatchObject({ aborted: true });
  const { body, wasCancelled } = endless();
  late.resolve(new Response(body));
  await expect.poll(wasCancelled).toBe(true);
});

test("a refusal whose text never ends takes no longer than the request may", async () => {
  const wire = wireTo(async () => new Response(endless().body, { status: 500 }));
  await expect(wire.send(get, leaveBody)).rejects.toMatchObject(timedOut);
});

test("a body that is left to the caller may come for as long as the caller wants", async () => {
  const abort = new AbortController();
  let signal: AbortSignal | null = null;
  const wire = wireTo(async (request) => {
    ({ signal } = request);
    return new Response(endless().body);
  });
  vi.useFakeTimers();
  await wire.send({ ...get, signal: abort.signal }, leaveBody);
  vi.advanceTimersByTime(600_000);
  vi.useRealTimers();
  expect(signal).toMatchObject({ aborted: false });
  abort.abort();
  expect(signal).toMatchObject({ aborted: true });
});
