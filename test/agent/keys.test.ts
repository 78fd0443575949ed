import { expect, test } from "vitest";
import { openAsks, play, refused, results } from "./play.ts";

/** Commands that come with a key (AP-6). */

const days = 86_400_000;
const two =
  "replies: [{ reply: [{ call: ask_user, args: { question: a } }, { call: ask_user, args: { question: b } }] }, { reply: [{ text: Done. }] }]";

test("AP-6: a create that is repeated after its key was forgotten finds the session", async () => {
  const { bench } = await play(two);
  const first = bench.perform("create", { title: "T" }, "k1");
  expect(first).toMatchObject({ ok: true, status: 200, replayed: false });
  const made = await play(two, { create: { title: "T" }, key: "k1" });
  expect(made.bench.perform("create", { title: "T" }, "k1")).toMatchObject({ status: 201, replayed: true });
  expect(refused(made.bench, "create", { title: "U" }, "k1")).toBe("idempotency_key_reused");
  await made.bench.pass(8 * days);
  const late = made.bench.perform("create", { title: "T" }, "k1");
  expect(late).toMatchObject({ ok: true, status: 200, replayed: false });
  expect(late.ok && JSON.parse(late.json)).toMatchObject({ id: made.bench.id, title: "T" });
});

test("AP-6: one key on two addresses is two commands; on one address it is one", async () => {
  const { bench } = await play(two);
  bench.send("Go");
  await bench.idle();
  const [a, b] = openAsks(bench);
  bench.ok("answer", { ask: a, decision: "answer", text: "A" }, "k1");
  bench.ok("answer", { ask: b, decision: "answer", text: "B" }, "k1");
  expect(bench.perform("answer", { ask: b, decision: "answer", text: "B" }, "k1")).toMatchObject({
    ok: true,
    replayed: true,
  });
  expect(refused(bench, "answer", { ask: a, decision: "answer", text: "C" }, "k1")).toBe(
    "idempotency_key_reused",
  );
  await bench.idle();
  expect(results(bench)).toEqual(["ok: A", "ok: B"]);
});

test("AP-6: inputs and keys with spaces and colons are told apart", async () => {
  const { bench } = await play(two);
  bench.send("Go");
  await bench.idle();
  for (const id of ["a", "a:b"]) bench.send("x", { id, on_busy: "queue" });
  bench.ok("withdraw", { input: "a" }, "b:c");
  bench.ok("withdraw", { input: "a:b" }, "c");
  expect(bench.ok("get")["queued_inputs"]).toEqual([]);
});
