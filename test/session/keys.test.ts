import { expect, test } from "vitest";
import { openAsks, play, refused, results } from "../agent/loop/play.ts";

/** What commands answer (AP-5), and those that come with a key (AP-6). */

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

test("AP-6: a create that finds its session changes nothing, and its key holds like any other", async () => {
  const { bench } = await play(two);
  const { head } = bench.state();
  expect(bench.perform("create", { title: "T" })).toMatchObject({ status: 200, seq: head });
  expect(bench.perform("create", { title: "T" }, "k1")).toMatchObject({ status: 200, replayed: false });
  expect(bench.perform("create", { title: "T" }, "k1")).toMatchObject({ status: 200, replayed: true });
  expect(refused(bench, "create", { title: "U" }, "k1")).toBe("idempotency_key_reused");
  expect(bench.ok("get")).toMatchObject({ title: null, head_seq: head });
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

test("AP-5: an accepted command answers with the seq of its last event", async () => {
  const { bench } = await play(two);
  const seqOf = (op: Parameters<typeof bench.ok>[0], params: object): readonly [unknown, number] => {
    const reply = bench.perform(op, params);
    if (!reply.ok) throw new Error(reply.problem.detail);
    return [(JSON.parse(reply.json) as { seq?: number }).seq, reply.seq];
  };
  const told: (readonly [unknown, number])[] = [seqOf("send", { content: "Go" })];
  await bench.idle();
  const [a, b] = openAsks(bench);
  const answer = { ask: a, decision: "answer", text: "A" };
  told.push(seqOf("answer", answer), seqOf("answer", answer));
  for (const id of ["x", "y"]) bench.send("more", { id, on_busy: "queue" });
  told.push(seqOf("edit_input", { input: "x", content: "other" }));
  told.push(seqOf("withdraw", { input: "x" }));
  bench.ok("answer", { ask: b, decision: "answer", text: "B" });
  bench.hold = true;
  await bench.steps();
  told.push(seqOf("compact", {}), seqOf("cancel", {}));
  await bench.steps();
  told.push(seqOf("cancel", {}), seqOf("cancel", { run: undefined }));
  for (const [seq, head] of told) expect(seq).toBe(head);
  expect(told[1]?.[0]).toBeGreaterThan(Number(told[0]?.[0]));
});

test("AP-6 RE-P12: keys that are over are deleted with their answers, at most once a day; those that count stay", async () => {
  const { bench } = await play(two, { create: { title: "T" }, key: "k1" });
  const keys = (): readonly unknown[] => bench.rows("idempotency").map(({ key }) => key);
  const pieces = () => bench.rows("blobs").filter(({ id }) => String(id).startsWith("answer:"));
  bench.send("Go");
  await bench.idle();
  bench.send("x", { id: "a", on_busy: "queue" });
  bench.ok("edit_input", { input: "a", content: "x".repeat(600_000) }, "k2");
  expect(keys()).toEqual(["create:k1", "edit_input a k2"]);
  expect(pieces()).not.toEqual([]);
  await bench.pass(8 * days);
  bench.ok("patch", { title: "U" }, "k3");
  expect(keys()).toEqual(["patch:k3"]);
  expect(pieces()).toEqual([]);
  bench.sql("INSERT INTO idempotency VALUES ('patch:old', '', 200, '', 0)");
  bench.crash();
  await bench.pass(days / 24);
  bench.ok("patch", { title: "V" }, "k4");
  expect(keys()).toEqual(["patch:k3", "patch:k4", "patch:old"]);
  await bench.pass(1.5 * days);
  bench.ok("patch", { title: "W" }, "k5");
  expect(keys()).toEqual(["patch:k3", "patch:k4", "patch:k5"]);
  expect(bench.perform("patch", { title: "U" }, "k3")).toMatchObject({ replayed: true });
});

test("★ AP-6 RE-P12: a key that is used again after its time leaves nothing of its earlier answer behind", async () => {
  const { bench } = await play(two, { create: { title: "T" } });
  bench.ok("patch", { title: "U" }, "k1");
  const at = bench.now() - 6.9 * days;
  bench.sql(`INSERT INTO idempotency VALUES ('patch:k2', '', 200, '{"apart":true}', ${at})`);
  bench.sql("INSERT INTO blobs VALUES ('answer:patch:k2', 0, 'long')");
  bench.crash();
  await bench.pass(0.5 * days);
  bench.ok("patch", { title: "V" }, "k2");
  expect(bench.rows("blobs")).toEqual([]);
  expect(bench.perform("patch", { title: "V" }, "k2")).toMatchObject({ replayed: true });
});
