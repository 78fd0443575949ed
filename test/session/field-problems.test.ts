import { expect, test } from "vitest";
import type { Problem } from "../../src/session/problems.ts";
import { problemBody } from "../../src/session/problems.ts";
import type { OperationName } from "../../src/session/operations.ts";
import { play } from "../agent/loop/play.ts";
import { openBench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";

/** What a refused command says of its fields (AP-2, AP-10). */

const once = "replies: [{ reply: [{ text: Done. }] }]";

test("AP-10: a field that takes several shapes is refused at the place that is wrong, with what it takes", async () => {
  const { bench } = await play(once);
  const head = bench.state().head;
  const errorsOf = (op: OperationName, params: object): Problem["errors"] => {
    const reply = bench.perform(op, params);
    return reply.ok ? [] : reply.problem.errors;
  };
  const shapes = "give a text, or a list of 1 to 64 parts of type text, image or document";
  const cases: readonly [OperationName, object, string, string][] = [
    ["send", {}, "/content", shapes],
    ["send", { content: 5 }, "/content", shapes],
    ["send", { content: [] }, "/content", "the number of entries must be at least 1"],
    ["send", { content: [{ type: "text" }] }, "/content/0/text", '"text" is required here'],
    [
      "send",
      { content: [{ type: "file", file: "f" }] },
      "/content/0/type",
      "there is no type file (known: text, image, document)",
    ],
    [
      "send",
      { content: "x", prior_episode_summaries: ["a", 5] },
      "/prior_episode_summaries/1",
      "expected a text, found the number 5",
    ],
    [
      "send",
      { content: "x", prior_episode_summaries: 5 },
      "/prior_episode_summaries",
      "expected a text or a list, found the number 5",
    ],
    ["create", { input: { content: " " } }, "/input/content", "must not be blank"],
    ["create", { input: { text: "x" } }, "/input/content", shapes],
    ["create", { input: 5 }, "/input", "expected a text or an object, found the number 5"],
    ["events", { after: "-2" }, "/after", "the value must be at least 0"],
    ["rewind", {}, "/at", '"at" is required here'],
    ["patch", { budget: { max_duration: "30 minutes" } }, "/budget/max_duration", '"10m"'],
    ["patch", { budget: { max_duration: -1 } }, "/budget/max_duration", "the value must be at least 0"],
    [
      "patch",
      { budget: { max_duration: true } },
      "/budget/max_duration",
      'expected a number or a duration with its unit, like "30s", "10m" or "1h30m", found true',
    ],
  ];
  for (const [op, params, pointer, message] of cases) {
    const errors = errorsOf(op, params);
    expect(errors, JSON.stringify(params)).toContainEqual(
      expect.objectContaining({ pointer, message: expect.stringContaining(message) }),
    );
  }
  expect(bench.state().head).toBe(head);
});

test("AP-2: an unknown field is refused with the nearest name and the known ones, at its depth", async () => {
  const { bench } = await play(once);
  const messageOf = (op: OperationName, params: object): string | undefined => {
    const reply = bench.perform(op, params);
    return reply.ok ? undefined : reply.problem.errors?.[0]?.message;
  };
  expect(messageOf("cancel", { moed: "now" })).toBe(
    "moed is not a field here; did you mean mode? (known: mode, run, thread, queued)",
  );
  expect(messageOf("patch", { titel: "x" })).toContain("did you mean title? (known: title, metadata,");
  expect(messageOf("patch", { budget: { max_tokns: 5 } })).toContain("did you mean max_tokens?");
  expect(messageOf("send", { content: [{ type: "text", text: "x", txt: "y" }] })).toContain(
    "txt is not a field here; did you mean text?",
  );
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`field_${at}`, at]));
  const refused = bench.perform("cancel", many);
  expect(refused.ok ? [] : refused.problem.errors).toHaveLength(20);
  expect(messageOf("cancel", { nothing_like_it: 1 })).toBe(
    "nothing_like_it is not a field here (known: mode, run, thread, queued)",
  );
});

test("AP-2: a number or a flag in a query is one as text, and what is none is refused", async () => {
  const { bench } = await play(once);
  for (const [op, params] of [
    ["events", { after: "0", limit: "1000" }],
    ["events", { after: 0, limit: 1 }],
    ["messages", { retired: "true", before: "4" }],
    ["messages", { retired: false, limit: "200" }],
  ] as const)
    expect(bench.perform(op, params), JSON.stringify(params)).toMatchObject({ ok: true });
  const cases: readonly [OperationName, string, readonly unknown[]][] = [
    ["events", "after", ["-1", "-1.5", "1.5", "9007199254740992", "99999999999999999", "x", "", " 1", "1e1"]],
    ["events", "limit", ["0", "1001", "", "0x10", null]],
    ["messages", "retired", ["maybe", "", "1", "yes", "TRUE"]],
    ["runs", "limit", ["201", 201, "2.5"]],
  ];
  for (const [op, name, values] of cases)
    for (const value of values)
      expect([value, bench.perform(op, { [name]: value })]).toEqual([
        value,
        expect.objectContaining({
          problem: expect.objectContaining({
            code: "invalid_request",
            errors: expect.arrayContaining([expect.objectContaining({ pointer: `/${name}` })]) as unknown,
          }),
        }),
      ]);
});

test("AP-2: creating a session that is there refuses an unknown field all the same", async () => {
  const { bench } = await play(once);
  expect(bench.perform("create", { title: "T" })).toMatchObject({ ok: true, status: 200 });
  expect(bench.perform("create", { titel: "T" })).toMatchObject({
    problem: { code: "invalid_request", errors: [{ pointer: "/titel", code: "unknown_field" }] },
  });
});

test("AP-10: every refusal of a field points at it, also what no schema finds", async () => {
  const { bench } = await play(once);
  const bodyOf = (op: OperationName, params: object): object => {
    const reply = bench.perform(op, params);
    return reply.ok ? {} : problemBody(reply.problem);
  };
  const image = { type: "image", media_type: "image/png", data: "%" };
  const cases: readonly [OperationName, object, string, string][] = [
    ["send", { content: "x", thread: "nobody" }, "not_found", "/thread"],
    ["cancel", { thread: "nobody" }, "not_found", "/thread"],
    ["cancel", { run: "run_9" }, "run_not_active", "/run"],
    ["messages", { thread: "nobody" }, "not_found", "/thread"],
    ["compact", { thread: "nobody" }, "not_found", "/thread"],
    ["pin", { message: "nothing", pinned: true }, "not_found", "/message"],
    ["send", { content: "x", output_schema: { type: 5 } }, "output_schema_invalid", "/output_schema"],
    ["send", { content: [image] }, "invalid_request", "/content/0/data"],
    [
      "send",
      { content: [{ type: "image", data: "data:image/x;base64,AAAA" }] },
      "unsupported_media_type",
      "/content/0/data",
    ],
    ["patch", { model: "nobody/none" }, "unknown_model", "/model"],
  ];
  for (const [op, params, code, pointer] of cases)
    expect([op, params, bodyOf(op, params)]).toEqual([
      op,
      params,
      expect.objectContaining({
        code,
        detail: expect.stringMatching(new RegExp(`^${pointer}: `)),
        errors: [expect.objectContaining({ pointer })],
      }),
    ]);
});

test("AP-10: what is wrong with the input of a create stands below its input", async () => {
  const toolboxes = [createProbe().toolbox];
  const bench = openBench({ engine: await engineOf(scripted(once), { toolboxes }) });
  const image = { type: "image", media_type: "image/png", data: "%" };
  const cases: readonly [unknown, string, string][] = [
    [" ", "/input", "must not be blank"],
    [{ content: [image] }, "/input/content/0/data", "not base64"],
    [{ content: "x", output_schema: { type: 5 } }, "/input/output_schema", ""],
  ];
  for (const [input, pointer, message] of cases)
    expect([input, bench.perform("create", { input })]).toEqual([
      input,
      expect.objectContaining({
        problem: expect.objectContaining({
          detail: expect.stringContaining(`${pointer}: ${message}`),
          errors: [expect.objectContaining({ pointer })],
        }),
      }),
    ]);
  expect(bench.perform("get")).toMatchObject({ ok: false });
});

test("AP-10: a session says which of its things an address names in vain", async () => {
  const { bench } = await play(once);
  const answer = { ask: "ask_9", decision: "cancel" };
  const cases: readonly [OperationName, object, string][] = [
    ["run", { run: "run_9" }, "This session has no such run."],
    ["input", { input: "in_9" }, "This session has no such input."],
    ["edit_input", { input: "in_9", place: 0 }, "This session has no such input."],
    ["answer", answer, "This session has no such ask."],
    ["read_upload", { file: "file_9" }, "This session keeps no such file."],
    ["state", {}, "No agent of this session has the toolbox state."],
  ];
  for (const [op, params, detail] of cases) {
    const reply = bench.perform(op, params);
    expect([op, reply.ok ? {} : problemBody(reply.problem)]).toEqual([
      op,
      expect.objectContaining({ status: 404, code: "not_found", detail }),
    ]);
  }
});

test("RE-T15: a name that would be lost on the way is refused, wherever it stands", async () => {
  const { bench } = await play(once);
  const cases: readonly [OperationName, string, string][] = [
    ["patch", '{"metadata":{"__proto__":"x","a":"b"}}', "/metadata/__proto__"],
    [
      "send",
      '{"content":"x","output_schema":{"properties":{"a/b":{"__proto__":{}}}}}',
      "/output_schema/properties/a~1b/__proto__",
    ],
    ["cancel", '{"__proto__":{"mode":"now"}}', "/__proto__"],
  ];
  for (const [op, params, pointer] of cases)
    expect(bench.perform(op, JSON.parse(params) as object)).toMatchObject({
      problem: { code: "invalid_request", errors: [{ pointer }] },
    });
  const metadata = { constructor: "x", toString: "y" };
  expect(bench.ok("patch", { metadata })["metadata"]).toEqual(metadata);
  const deep = "[".repeat(20_000) + "]".repeat(20_000);
  expect(bench.perform("patch", { metadata: JSON.parse(deep) as object })).toMatchObject({ ok: false });
});
