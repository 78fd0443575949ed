import { describe, expect, test } from "vitest";
import { pngOf } from "../../support/images.ts";
import type { SnapshotBody } from "../../../src/client/fold/start.ts";
import { foldSince } from "../../support/transcripts.ts";
import type { Play, PlayOptions } from "../loop/play.ts";
import {
  dataOf,
  ends,
  headOf,
  openAsks,
  play,
  refused,
  results,
  roles,
  textsOf,
  typesAfter,
} from "../loop/play.ts";

const say = (text: string): string => `{ reply: [{ text: '${text}' }] }`;

const puts =
  "{ reply: [{ call: put, args: { name: a } }, { call: put, args: { name: b } }, { call: put, args: { name: c } }] }";

/** A session whose first run is inside its first call. */
const busy = async (replies: string, options: PlayOptions = {}): Promise<Play> => {
  const played = await play(`replies: [${replies}]`, { instant: false, ...options });
  played.bench.send("Go", { id: "first" });
  await played.bench.steps();
  return played;
};

const finishAll = async ({ bench, probe }: Play): Promise<void> => {
  probe.instant = true;
  for (const call of probe.calls) call.finish();
  await bench.idle();
};

describe("SE-23: accepted, then applied, withdrawn or returned", () => {
  test.each(["reject", "queue", "steer", "interrupt", "rollback"])(
    "SE-23: %s on an idle session starts a run in the accepting commit",
    async (on_busy) => {
      const { bench } = await play(`replies: [${say("Hi.")}]`);
      const receipt = bench.send("Go", { on_busy });
      expect(receipt).toMatchObject({ status: "applied", run: "run_1" });
      await bench.idle();
      expect(ends(bench)).toEqual(["completed:end_turn"]);
    },
  );

  test("SE-23: the same key and body get the same answer and have one effect, another body is refused", async () => {
    const { bench } = await play(`replies: [${say("Hi.")}, ${say("Ho.")}]`);
    const first = bench.perform("send", { content: "Go" }, "k1");
    await bench.idle();
    const again = bench.perform("send", { content: "Go" }, "k1");
    expect(again).toMatchObject({ ok: true, replayed: true });
    expect(again.ok && first.ok ? again.json === first.json : false).toBe(true);
    expect(refused(bench, "send", { content: "Other" }, "k1")).toBe("idempotency_key_reused");
    await bench.idle();
    expect(ends(bench)).toHaveLength(1);
  });

  test("AP-18: an id of an earlier input is refused, waiting or applied", async () => {
    const { bench } = await busy(puts);
    bench.send("Later", { id: "q", on_busy: "queue" });
    expect(refused(bench, "send", { content: "x", id: "q", on_busy: "queue" })).toBe(
      "idempotency_key_reused",
    );
    expect(refused(bench, "send", { content: "x", id: "first", on_busy: "queue" })).toBe(
      "idempotency_key_reused",
    );
    expect(refused(bench, "send", { content: "x", id: "first", on_busy: "reject" })).toBe(
      "idempotency_key_reused",
    );
  });

  test("SE-23 RE-P1: an id that a caller chose is no other input's: both are applied", async () => {
    const played = await busy(`${puts}, ${say("Two.")}, ${say("Three.")}`);
    const { bench } = played;
    bench.send("chosen", { id: "in_3", on_busy: "queue" });
    const receipt = bench.send("not chosen", { on_busy: "queue" });
    expect(receipt).toMatchObject({ input: "in_4", status: "accepted" });
    await finishAll(played);
    expect(dataOf(bench, "run_start").map(({ inputs }) => inputs)).toEqual([["first"], ["in_3"], ["in_4"]]);
    expect(bench.ok("input", { input: "in_3" })).toMatchObject({ content: [{ text: "chosen" }] });
    expect(bench.send("more")).toMatchObject({ input: "in_5" });
    await bench.idle();
  });

  test.each([
    [{ content: "" }, "invalid_request"],
    [{ content: "  " }, "invalid_request"],
    [{ content: [] }, "invalid_request"],
    [{ content: [{ type: "text", text: " " }] }, "invalid_request"],
    [{ content: "x", extra: 1 }, "invalid_request"],
    [{ content: "x", thread: "child" }, "not_found"],
    [{ content: [{ type: "image", media_type: "image/tiff", data: "AAAA" }] }, "invalid_request"],
    [{ content: [{ type: "image", data: "AAAA" }] }, "unsupported_media_type"],
    [{ content: [{ type: "image", media_type: "image/png", data: "!!" }] }, "invalid_request"],
    [{ content: [{ type: "image", media_type: "image/png", url: "http://x.example/a" }] }, "invalid_request"],
    [
      { content: [{ type: "image", media_type: "image/png", data: "AAAA", url: "https://x.example/a" }] },
      "invalid_request",
    ],
  ])("AP-18: %j is refused and nothing is stored", async (params, code) => {
    const { bench } = await play(`replies: [${say("Hi.")}]`);
    expect(refused(bench, "send", params)).toBe(code);
    expect(headOf(bench)).toBe(1);
  });

  test("AP-18: an image given as a data URL is stored apart and read for the request", async () => {
    const { bench } = await play(`replies: [${say("Nice.")}]`);
    bench.ok("send", {
      content: [
        { type: "text", text: "See" },
        { type: "image", data: `data:image/png;base64,${pngOf(1, 1)}`, name: "a.png" },
      ],
    });
    await bench.idle();
    expect(bench.chat()[0]?.parts[1]).toEqual({
      type: "image",
      media_type: "image/png",
      name: "a.png",
      blob: "m1",
    });
    expect(bench.requests[0]?.media("m1")).toBe(pngOf(1, 1));
  });

  test("AP-18: the parameters of a data URL are no part of its media type or its bytes", async () => {
    const { bench } = await play(`replies: [${say("Nice.")}]`);
    const data = "data:text/plain;charset=utf-8;name=a.txt;base64,aGk=";
    bench.ok("send", { content: [{ type: "document", data }] });
    await bench.idle();
    expect(bench.chat()[0]?.parts).toEqual([{ type: "document", media_type: "text/plain", blob: "m1" }]);
    expect(bench.requests[0]?.media("m1")).toBe("aGk=");
  });
});

describe("SE-24: on_busy", () => {
  test("SE-24: reject is the default, names the run and stores nothing", async () => {
    const { bench } = await busy(puts);
    const before = bench.state();
    const reply = bench.perform("send", { content: "More" });
    expect(reply).toMatchObject({
      ok: false,
      problem: { code: "session_busy", meta: { run: { id: "run_1" } } },
    });
    expect(bench.state()).toBe(before);
  });

  test("SE-24: while the run waits for people, reject names the asks, and says when to try again", async () => {
    const { bench } = await busy("{ reply: [{ call: ask_user, args: { question: Which? } }] }");
    const reply = bench.perform("send", { content: "More" });
    expect(reply).toEqual({
      ok: false,
      problem: {
        code: "session_busy",
        detail:
          "the run waits for an answer; give it under /asks, or send with on_busy queue, steer, interrupt or rollback",
        retryAfterMs: 2_000,
        meta: { run: expect.objectContaining({ id: "run_1" }) as unknown, asks: openAsks(bench) },
      },
    });
  });

  test("SE-24: of many at once reject admits one", async () => {
    const { bench } = await play(`replies: [${say("Hi.")}]`);
    const replies = Array.from({ length: 10 }, () => bench.perform("send", { content: "Go" }));
    expect(replies.filter(({ ok }) => ok)).toHaveLength(1);
    await bench.idle();
    expect(ends(bench)).toHaveLength(1);
  });

  test("SE-24: queued inputs have a run each, in order; the next starts in the commit that ends the one before, however it ended", async () => {
    const played = await busy(`${puts}, { reply: [{ refusal: No. }] }, ${say("Two.")}, ${say("Three.")}`);
    const { bench } = played;
    for (const id of ["q1", "q2", "q3"]) bench.send(id, { id, on_busy: "queue" });
    expect(bench.ok("get")).toMatchObject({ queued_inputs: ["q1", "q2", "q3"] });
    await finishAll(played);
    expect(ends(bench)).toEqual([
      "failed:refusal",
      "completed:end_turn",
      "completed:end_turn",
      "failed:provider_error",
    ]);
    expect(dataOf(bench, "run_start").map(({ inputs }) => inputs)).toEqual([
      ["first"],
      ["q1"],
      ["q2"],
      ["q3"],
    ]);
    const types = bench.types();
    types.forEach((type, at) => {
      if (type === "run_end" && at < types.length - 1) expect(types[at + 1]).toBe("run_start");
    });
  });

  test("SE-24 ★: steer lets the running call finish and skips the rest: ok, skipped, skipped, then the message", async () => {
    const { bench, probe } = await busy(`${puts}, ${say("Ok.")}`);
    bench.send("Stop", { on_busy: "steer" });
    probe.calls[0]?.finish();
    await bench.idle();
    expect(results(bench)).toEqual([
      "ok: put(a) done",
      "skipped: skipped: Not started: a new message arrived first.",
      "skipped: skipped: Not started: a new message arrived first.",
    ]);
    expect(roles(bench).slice(-3)).toEqual(["tool", "user", "assistant"]);
    expect(textsOf(bench.requests[1]?.messages.at(-1) ?? { parts: [] })).toBe("[STEERING] Stop");
    expect(probe.names()).toEqual(["put(a)"]);
    expect(ends(bench)).toHaveLength(1);
    expect(bench.ok("run", { run: "run_1" })).toMatchObject({ inputs: ["first", "in_2"] });
  });

  test("SE-24: a steer during the model call lets it finish and skips the calls it asks for", async () => {
    const { bench, probe } = await play(`replies: [${puts}, ${say("Ok.")}]`);
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.send("Wait", { on_busy: "steer" });
    bench.release();
    await bench.idle();
    expect(probe.calls).toEqual([]);
    expect(results(bench).every((text) => text.startsWith("skipped: "))).toBe(true);
    expect(results(bench)).toHaveLength(3);
  });

  test("SE-24: interrupt ends the run as by cancel now; its input comes first, queued ones stay behind", async () => {
    const played = await busy(`${puts}, ${say("New.")}, ${say("Queued.")}`);
    const { bench, probe } = played;
    bench.send("Queued", { id: "q", on_busy: "queue" });
    bench.send("New", { id: "n", on_busy: "interrupt" });
    probe.calls[0]?.fail("aborted");
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:interrupted", "completed:end_turn", "completed:end_turn"]);
    expect(dataOf(bench, "run_start").map(({ inputs }) => inputs)).toEqual([["first"], ["n"], ["q"]]);
    expect(dataOf(bench, "input_returned")).toEqual([]);
  });

  test.each(["interrupt", "rollback"])(
    "SE-24 SE-31: %s during a model call: what comes of the old call does not touch the new run",
    async (on_busy) => {
      const { bench } = await play(`replies: [${say("Answer.")}, ${say("Never.")}]`);
      bench.hold = true;
      bench.send("Go");
      await bench.steps();
      bench.send("New", { on_busy });
      await bench.steps();
      bench.release();
      await bench.idle();
      expect(ends(bench).slice(1)).toEqual(["completed:end_turn"]);
      expect(bench.chat().at(-1)).toMatchObject({ role: "assistant", run: "run_2" });
      expect(bench.ledger().map(({ outcome }) => outcome)).toEqual(["cancelled", "ok"]);
    },
  );

  test("SE-24 AP-30: rollback retires what the run wrote and its input; it stays readable", async () => {
    const { bench, probe } = await busy(`${puts}, ${say("New.")}`);
    bench.send("New", { on_busy: "rollback" });
    probe.calls[0]?.finish();
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:rolled_back", "completed:end_turn"]);
    const own = bench.events().filter(({ run }) => run === "run_1");
    expect(own.slice(-3).map(({ type }) => type)).toEqual(["messages_retired", "agent_end", "run_end"]);
    expect(bench.chat().map(textsOf)).toEqual(["New", "New."]);
    const [retired] = dataOf(bench, "messages_retired");
    expect(retired).toMatchObject({ by: "rollback" });
    expect(retired?.messages).toHaveLength(5);
    const shown = bench.ok("messages", { retired: true })["data"] as unknown as readonly unknown[];
    expect(shown).toHaveLength(7);
    expect(bench.requests.at(-1)?.messages.map(textsOf)).toEqual(["New"]);
  });

  test("SE-24 AP-28: a run that is rolled back still names the message that its result quotes", async () => {
    const { bench, probe } = await busy(
      `{ reply: [{ text: 'Half.' }, { call: put, args: { name: a } }] }, ${say("New.")}`,
    );
    const half = bench.chat().find(({ role }) => role === "assistant")?.id;
    bench.send("New", { on_busy: "rollback" });
    probe.calls[0]?.finish();
    await bench.idle();
    expect(dataOf(bench, "run_end")[0]).toMatchObject({ message: half, result: { text: "Half." } });
  });

  test.each([
    ["an interrupt", "cancelled:rolled_back", ["Newer", "1", "New", "2"]],
    ["a cancel that keeps inputs", "cancelled:rolled_back", ["New", "1"]],
    ["a cancel", "cancelled:cancelled", ["Go", "", "put(a) done", "cancelled", "cancelled"]],
  ])(
    "SE-24 SE-27: a rollback holds though %s follows, unless its input goes back",
    async (what, end, chat) => {
      const { bench, probe } = await busy(`${puts}, ${say("1")}, ${say("2")}`);
      bench.send("New", { on_busy: "rollback" });
      if (what === "an interrupt") bench.send("Newer", { on_busy: "interrupt" });
      else bench.ok("cancel", { queued: what === "a cancel" ? "return" : "keep" });
      probe.calls[0]?.finish();
      await bench.idle();
      expect(ends(bench)[0]).toBe(end);
      expect(bench.chat().map((message) => textsOf(message).split(":")[0])).toEqual(chat);
      expect(dataOf(bench, "input_returned")).toHaveLength(what === "a cancel" ? 1 : 0);
    },
  );

  test("SE-24: more than 20 waiting inputs are refused in every mode", async () => {
    const { bench } = await busy(puts);
    for (let index = 0; index < 20; index++)
      bench.send("x", { on_busy: index % 2 === 0 ? "queue" : "steer" });
    for (const on_busy of ["queue", "steer", "interrupt", "rollback"])
      expect(refused(bench, "send", { content: "x", on_busy })).toBe("too_many_inputs");
  });

  test("SE-24: the team's on_busy is the default", async () => {
    const { bench } = await busy(puts, { team: "sessions: { on_busy: queue }" });
    expect(bench.send("Later")).toMatchObject({ status: "accepted" });
  });
});

const both = "{ reply: [{ call: ask_user, args: { question: Which? } }, { call: fire }] }";

describe("SE-25: a steer and what is open", () => {
  test("SE-25: it settles open questions and approvals as skipped; nothing unapproved runs", async () => {
    const { bench, probe } = await busy(`${both}, ${say("Ok.")}`, {
      team: "permissions: { rules: [{ tool: fire, action: ask }] }",
    });
    const asks = openAsks(bench);
    expect(asks).toHaveLength(2);
    bench.send("Never mind", { on_busy: "steer" });
    await bench.idle();
    expect(results(bench).map((text) => text.split(":")[0])).toEqual(["skipped", "skipped"]);
    expect(probe.calls).toEqual([]);
    expect(
      dataOf(bench, "ask_cancelled")
        .map(({ ask }) => ask)
        .sort(),
    ).toEqual([...asks].sort());
    for (const ask of asks)
      expect(refused(bench, "answer", { ask, decision: "cancel" })).toBe("ask_already_resolved");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("SE-25: a retry wait goes on, the steer joins at the next turn", async () => {
    const { bench } = await busy(`{ fail: [{ status: 529 }], reply: [{ text: One. }] }, ${say("Two.")}`);
    const at = bench.alarm();
    bench.send("And?", { on_busy: "steer" });
    await bench.idle();
    expect(bench.alarm()).toBe(at);
    await bench.pass(120_000);
    expect(bench.requests.map(({ messages }) => textsOf(messages.at(-1) ?? { parts: [] }))).toEqual([
      "Go",
      "Go",
      "[STEERING] And?",
    ]);
  });
});

describe("SE-26 ★: steered in the tick of the final text", () => {
  test("SE-26: the commit that would end the run takes it: applied once, in the same run", async () => {
    const { bench } = await play(`replies: [${say("One.")}, ${say("Two.")}]`);
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.release();
    bench.send("More", { on_busy: "steer" });
    await bench.idle();
    expect(ends(bench)).toHaveLength(1);
    expect(dataOf(bench, "turn_start")).toHaveLength(2);
    expect(dataOf(bench, "input_applied")).toHaveLength(2);
    expect(bench.chat().map(textsOf)).toEqual(["Go", "One.", "More", "Two."]);
  });

  test("SE-14 SE-26: the output_schema that a steer brings holds for what the run says from then on", async () => {
    const { bench, probe } = await busy(`${puts}, ${say("No JSON")}, ${say("{}")}`);
    bench.send("As JSON", { on_busy: "steer", output_schema: { type: "object" } });
    bench.send("Soon", { on_busy: "steer" });
    probe.calls[0]?.finish();
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(bench.chat().map(textsOf).at(-1)).toBe("{}");
    expect(bench.requests).toHaveLength(3);
  });

  test("SE-26: several steers join together in their order", async () => {
    const { bench, probe } = await busy(`${puts}, ${say("Ok.")}`);
    for (const text of ["1", "2", "3"]) bench.send(text, { on_busy: "steer" });
    probe.calls[0]?.finish();
    await bench.idle();
    expect(
      bench
        .chat()
        .filter(({ marks }) => marks?.includes("steering"))
        .map(textsOf),
    ).toEqual(["1", "2", "3"]);
    expect(dataOf(bench, "turn_start")).toHaveLength(2);
  });
});

describe("SE-27: while an input is accepted", () => {
  const queued = async (): Promise<Play> => {
    const played = await busy(`${puts}, ${say("0")}, ${say("1")}, ${say("2")}, ${say("3")}`);
    for (const id of ["q1", "q2", "q3"]) played.bench.send(id, { id, on_busy: "queue" });
    return played;
  };

  test("SE-27: it can be withdrawn once, and is never applied", async () => {
    const played = await queued();
    const { bench } = played;
    const before = headOf(bench);
    bench.ok("withdraw", { input: "q2" });
    expect(typesAfter(bench, before)).toEqual(["input_withdrawn"]);
    expect(refused(bench, "withdraw", { input: "q2" })).toBe("input_already_applied");
    const again = { id: "q2", content: "q2", on_busy: "queue" };
    expect(refused(bench, "send", again, "another key")).toBe("input_already_applied");
    await finishAll(played);
    expect(dataOf(bench, "run_start").map(({ inputs }) => inputs[0])).toEqual(["first", "q1", "q3"]);
    expect(bench.ok("input", { input: "q2" })).toMatchObject({ status: "withdrawn" });
  });

  test("SE-27: an applied input can be neither withdrawn nor edited; an unknown one cannot be edited", async () => {
    const { bench } = await queued();
    expect(refused(bench, "withdraw", { input: "first" })).toBe("input_already_applied");
    expect(refused(bench, "edit_input", { input: "first", content: "x" })).toBe("input_already_applied");
    expect(refused(bench, "edit_input", { input: "nope", content: "x" })).toBe("not_found");
  });

  test("SE-23 SE-27: a withdrawal that overtakes its input closes the id: what comes under it later is refused, after a crash, too", async () => {
    const played = await queued();
    const { bench } = played;
    const before = headOf(bench);
    expect(bench.ok("withdraw", { input: "late" }, "k")).toMatchObject({ status: "withdrawn" });
    expect(typesAfter(bench, before)).toEqual(["input_withdrawn"]);
    bench.ok("withdraw", { input: "late" }, "k");
    expect(headOf(bench)).toBe(before + 1);
    bench.crash();
    const late = { id: "late", content: "Too late", on_busy: "queue" };
    expect(refused(bench, "send", late)).toBe("input_already_applied");
    expect(bench.ok("input", { input: "late" })).toMatchObject({ status: "withdrawn", content: [] });
    expect(bench.ok("get")).toMatchObject({ queued_inputs: ["q1", "q2", "q3"] });
    expect(refused(bench, "withdraw", { input: "no id" })).toBe("invalid_request");
  });

  test("SE-23: an id that was withdrawn in advance is never given to an input without one", async () => {
    const { bench } = await queued();
    bench.ok("withdraw", { input: "in_5" });
    bench.send("More", { on_busy: "queue" });
    expect(bench.ok("get")).toMatchObject({ queued_inputs: ["q1", "q2", "q3", "in_6"] });
  });

  test("SE-27: it can be edited and moved", async () => {
    const played = await queued();
    const { bench } = played;
    const before = bench.ok("snapshot") as unknown as SnapshotBody;
    bench.ok("edit_input", { input: "q3", content: "changed", place: 0 });
    bench.ok("edit_input", { input: "q1", place: 2 });
    bench.ok("edit_input", { input: "q1", place: 1 });
    const content = (text: string) => [{ type: "text", text }];
    expect(dataOf(bench, "input_edited")).toEqual([
      { input: "q3", content: content("changed"), on_busy: "queue", before: "q1" },
      { input: "q1", content: content("q1"), on_busy: "queue", before: null },
      { input: "q1", content: content("q1"), on_busy: "queue", before: "q2" },
    ]);
    const now = bench.ok("snapshot") as unknown as SnapshotBody;
    const shown = [null, before, now].map((snapshot) => foldSince(snapshot, bench.events()).inputs);
    expect(shown[0]?.map(({ id }) => id)).toEqual(["q3", "q1", "q2"]);
    expect(shown).toEqual([shown[0], shown[0], shown[0]]);
    expect(bench.ok("get")).toMatchObject({ queued_inputs: ["q3", "q1", "q2"] });
    expect(bench.ok("input", { input: "q3" })).toMatchObject({ version: 2 });
    await finishAll(played);
    expect(dataOf(bench, "run_start").map(({ inputs }) => inputs[0])).toEqual(["first", "q3", "q1", "q2"]);
    expect(
      bench
        .chat()
        .filter(({ role }) => role === "user")
        .map(textsOf),
    ).toEqual(["Go", "changed", "q1", "q2"]);
  });

  test("SE-25 SE-27: it can be let join the run: then it is a steer under its id, once however often that is asked", async () => {
    const { bench, probe } = await busy(`${both}, ${say("Ok.")}`, {
      team: "permissions: { rules: [{ tool: fire, action: ask }] }",
    });
    bench.send("Never mind", { id: "q", on_busy: "queue" });
    expect(openAsks(bench)).toHaveLength(2);
    bench.ok("edit_input", { input: "q", on_busy: "steer" }, "k");
    bench.ok("edit_input", { input: "q", on_busy: "steer" }, "k");
    await bench.idle();
    expect(openAsks(bench)).toEqual([]);
    expect(probe.calls).toEqual([]);
    expect(dataOf(bench, "steering_injected").map(({ input }) => input)).toEqual(["q"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(refused(bench, "edit_input", { input: "q", on_busy: "steer" })).toBe("input_already_applied");
  });

  test("SE-27: an edit with If-Match holds only for the version it was read with", async () => {
    const { bench } = await queued();
    bench.ok("edit_input", { input: "q1", content: "two" });
    const stale = bench.performAs({ ifMatch: "1" }, "edit_input", { input: "q1", content: "three" });
    expect(stale).toMatchObject({ ok: false, problem: { code: "precondition_failed" } });
    const fresh = bench.performAs({ ifMatch: "2" }, "edit_input", { input: "q1", content: "three" });
    expect(fresh).toMatchObject({ ok: true });
  });

  test("SE-27: a withdrawal in the tick in which the input is applied: one of them wins", async () => {
    for (const first of ["withdraw", "apply"]) {
      const played = await busy(`${puts}, ${say("Ok.")}, ${say("Ok.")}`);
      const { bench, probe } = played;
      bench.send("S", { id: "s", on_busy: "steer" });
      if (first === "withdraw") bench.ok("withdraw", { input: "s" });
      probe.calls[0]?.finish();
      await bench.idle();
      if (first === "apply") expect(refused(bench, "withdraw", { input: "s" })).toBe("input_already_applied");
      const fates = bench
        .types()
        .filter((type) => type === "input_withdrawn" || type === "steering_injected");
      expect(fates).toEqual([first === "withdraw" ? "input_withdrawn" : "steering_injected"]);
    }
  });

  test("AP-2: another tenant is answered as if the session did not exist", async () => {
    const { bench } = await queued();
    const before = headOf(bench);
    for (const op of ["get", "send", "cancel", "messages", "events", "clear"] as const)
      expect(bench.performAs({ tenant: "t2" }, op, op === "send" ? { content: "x" } : {})).toMatchObject({
        ok: false,
        problem: { code: "not_found" },
      });
    expect(headOf(bench)).toBe(before);
  });

  test("SE-27: cancel returns steered and queued inputs with their content", async () => {
    const { bench, probe } = await queued();
    bench.send("steered", { id: "s", on_busy: "steer" });
    bench.ok("cancel");
    probe.calls[0]?.finish();
    await bench.idle();
    expect(dataOf(bench, "input_returned").map(({ input, reason }) => [input, reason])).toEqual(
      ["q1", "q2", "q3", "s"].map((id) => [id, "cancelled"]),
    );
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(bench.ok("get")).toMatchObject({ status: "idle", queued_inputs: [] });
    expect(bench.ok("input", { input: "q1" })).toMatchObject({ status: "returned" });
  });

  test("SE-27: cancel with queued: keep starts the next", async () => {
    const played = await queued();
    played.bench.ok("cancel", { queued: "keep" });
    await finishAll(played);
    expect(ends(played.bench)).toHaveLength(4);
    expect(dataOf(played.bench, "input_returned")).toEqual([]);
  });

  test("SE-27: what a cancel gives back stays given back though an interrupt follows", async () => {
    const played = await queued();
    played.bench.ok("cancel");
    played.bench.send("New", { id: "n", on_busy: "interrupt" });
    await finishAll(played);
    expect(dataOf(played.bench, "input_returned").map(({ input }) => input)).toEqual(["q1", "q2", "q3"]);
    expect(dataOf(played.bench, "run_start").map(({ inputs }) => inputs[0])).toEqual(["first", "n"]);
  });

  test("AP-24: clear gives waiting inputs back and retires the chat; not while a run is active", async () => {
    const { bench, probe } = await busy(`${puts}, ${say("Ok.")}`);
    expect(refused(bench, "clear", {})).toBe("session_busy");
    probe.instant = true;
    for (const call of probe.calls) call.finish();
    await bench.idle();
    expect(bench.ok("get")).toMatchObject({ last_end: { state: "completed" } });
    bench.ok("clear", {});
    expect(bench.chat()).toEqual([]);
    expect(dataOf(bench, "messages_retired")).toMatchObject([{ by: "clear" }]);
    expect(bench.ok("get")).toMatchObject({ usage: { calls: 0, total: 0 }, last_end: null });
  });
});

test("AP-16: a create with an input starts the run in the same commit; a second create changes nothing", async () => {
  const { bench } = await play(`replies: [${say("Hi.")}]`, {
    create: { input: "Go", title: "T", metadata: { a: "b" } },
  });
  expect(bench.types().slice(0, 3)).toEqual(["session_created", "input_accepted", "run_start"]);
  await bench.idle();
  const head = headOf(bench);
  expect(bench.perform("create", { title: "Other" })).toMatchObject({ ok: true, status: 200 });
  expect(headOf(bench)).toBe(head);
  expect(bench.ok("get")).toMatchObject({
    title: "T",
    metadata: { a: "b" },
    status: "idle",
    last_run: "run_1",
    active_run: null,
  });
});
