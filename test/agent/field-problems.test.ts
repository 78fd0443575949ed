import { expect, test } from "vitest";
import type { Problem } from "../../src/agent/problem.ts";
import type { Operation } from "../../src/agent/rpc.ts";
import { play } from "./play.ts";

/** What a refused command says of its fields (AP-2, AP-10). */

const once = "replies: [{ reply: [{ text: Done. }] }]";

test("AP-10: a field that takes several shapes is refused at the place that is wrong, with what it takes", async () => {
  const { bench } = await play(once);
  const head = bench.state().head;
  const errorsOf = (op: Operation, params: object): Problem["errors"] => {
    const reply = bench.perform(op, params);
    return reply.ok ? [] : reply.problem.errors;
  };
  const shapes = "give a text, or a list of 1 to 64 parts of type text, image or document";
  const cases: readonly [Operation, object, string, string][] = [
    ["send", {}, "/content", shapes],
    ["send", { content: 5 }, "/content", shapes],
    ["send", { content: [] }, "/content", "Too small: expected array to have >=1 items"],
    ["send", { content: [{ type: "text" }] }, "/content/0/text", "expected string"],
    ["send", { content: [{ type: "file", file: "f" }] }, "/content/0/type", "Expected 'text' | 'image'"],
    ["send", { content: "x", prior_episode_summaries: ["a", 5] }, "/prior_episode_summaries/1", "string"],
    ["send", { content: "x", prior_episode_summaries: 5 }, "/prior_episode_summaries", "array"],
    ["create", { input: { content: " " } }, "/input/content", "must not be blank"],
    ["create", { input: { text: "x" } }, "/input/content", shapes],
    ["create", { input: 5 }, "/input", "object"],
    ["patch", { budget: { max_duration: "30 minutes" } }, "/budget/max_duration", '"10m"'],
    ["patch", { budget: { max_duration: -1 } }, "/budget/max_duration", ">=0"],
    ["patch", { budget: { max_duration: true } }, "/budget/max_duration", "number"],
  ];
  for (const [op, params, pointer, message] of cases) {
    const errors = errorsOf(op, params);
    expect(errors, JSON.stringify(params)).toContainEqual(
      expect.objectContaining({ pointer, message: expect.stringContaining(message) }),
    );
  }
  expect(bench.state().head).toBe(head);
});

test("AP-2: creating a session that is there refuses an unknown field all the same", async () => {
  const { bench } = await play(once);
  expect(bench.perform("create", { title: "T" })).toMatchObject({ ok: true, status: 200 });
  expect(bench.perform("create", { titel: "T" })).toMatchObject({
    problem: { code: "invalid_request", errors: [{ pointer: "/titel", code: "unknown_field" }] },
  });
});
