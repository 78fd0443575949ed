import { expect, test } from "vitest";
import { createFlow } from "../../durable-objects/sockets/connections.ts";

test("AP-26: what was sent counts until the frames it holds are acknowledged", () => {
  const flow = createFlow();
  flow.recordSent(100, 2);
  flow.recordSent(50, 1);
  expect(flow.unacknowledged()).toBe(150);
  flow.acknowledge(1);
  expect(flow.unacknowledged(), "a message counts until its last frame").toBe(150);
  flow.acknowledge(2);
  expect(flow.unacknowledged()).toBe(50);
  flow.acknowledge(3);
  expect(flow.unacknowledged()).toBe(0);
});

test("AP-26: the count goes on after a hibernation, and what was sent since is not received with what was before", () => {
  const flow = createFlow(1_000);
  flow.recordSent(100, 1);
  flow.acknowledge(1_000);
  expect(flow.unacknowledged()).toBe(100);
  flow.acknowledge(1_001);
  expect(flow.unacknowledged()).toBe(0);
});

test("AP-26: pongs that the platform sent shift the count for good", () => {
  const flow = createFlow();
  flow.recordSent(10, 1);
  flow.acknowledge(4);
  expect(flow.unacknowledged()).toBe(0);
  flow.recordSent(10, 1);
  flow.acknowledge(4);
  expect(flow.unacknowledged()).toBe(10);
});

test("AP-26: what a silent reader is taken to have received are its oldest messages, whole", () => {
  const flow = createFlow();
  for (const size of [60, 60, 60]) flow.recordSent(size, 1);
  flow.credit(100);
  expect([flow.unacknowledged(), flow.sent(), flow.frames()]).toEqual([60, 180, 3]);
  flow.acknowledge(3);
  expect(flow.unacknowledged()).toBe(0);
  flow.credit(100);
  expect(flow.unacknowledged()).toBe(0);
});

test("AP-26: a reader has its time once, and anew after each acknowledgement", async () => {
  const flow = createFlow();
  let over = 0;
  const end = Promise.withResolvers<void>();
  expect(flow.wait(5, () => (over += 1))).toBe(true);
  expect(flow.wait(5, () => (over += 10))).toBe(false);
  flow.acknowledge(0);
  expect(flow.wait(8, end.resolve)).toBe(true);
  await end.promise;
  expect(over).toBe(0);
  expect(flow.wait(5, () => (over += 100))).toBe(false);
  flow.forget();
  expect(flow.wait(60_000, () => undefined)).toBe(true);
  flow.forget();
});
