import { expect, test } from "vitest";
import { toolBench } from "./bench.ts";

test("toolboxes §3: ask_user parks the call with its question; camelCase is accepted; a blank question is an error", async () => {
  const { call, text } = toolBench();
  expect(
    await call("ask_user", {
      question: "Which?",
      options: ["a", "b"],
      multiSelect: true,
      maxSelections: 2,
      header: "Pick",
    }),
  ).toEqual({
    parked: {
      on: "ask",
      question: {
        text: "Which?",
        options: ["a", "b"],
        header: "Pick",
        multi_select: true,
        max_selections: 2,
        strict: false,
      },
    },
  });
  expect(await call("ask_user", { question: "Why?" })).toEqual({
    parked: { on: "ask", question: { text: "Why?", options: [], multi_select: false, strict: false } },
  });
  expect(await text("ask_user", { question: "  " })).toMatch(/^ERROR invalid_arguments: question is blank/);
  expect(await text("ask_user", { question: "x", strict: true })).toMatch(
    /^ERROR invalid_arguments: options/,
  );
});

test("toolboxes §3: ★ report_status emits a status; blank is an error", async () => {
  const { call, text } = toolBench();
  expect(await call("report_status", { status: "testing" })).toEqual({
    content: "Reported.",
    statusText: "testing",
  });
  expect(await text("report_status", { status: " " })).toMatch(/^ERROR invalid_arguments: status is blank/);
  expect(await text("report_status", { status: "x".repeat(501) })).toMatch(
    /^ERROR invalid_arguments: status/,
  );
});

test("SE-19: recall returns parts by character and finds literal text with offsets", async () => {
  const { text, stored } = toolBench();
  stored.set("b7", `${"😀".repeat(10)}needle.*${"y".repeat(100)}needle.*end`);
  expect(await text("recall", { id: "b7", offset: 9, limit: 3 })).toBe("[Characters 9-12 of 129]\n😀ne");
  const hits = (await text("recall", { id: "b7", find: "needle.*" })).split("\n");
  expect(hits.map((hit) => hit.split(":")[0])).toEqual(["offset 10", "offset 118"]);
  expect(await text("recall", { id: "b7", find: "absent" })).toBe("b7 does not contain this text.");
  stored.set("many", "ab".repeat(100));
  expect((await text("recall", { id: "many", find: "ab" })).split("\n")).toHaveLength(20);
  expect(await text("recall", { id: "b8" })).toMatch(/^ERROR not_found: .*b8/);
  expect(await text("recall", { id: "b7", offset: 500 })).toMatch(/^ERROR invalid_arguments: offset/);
});

test("AG-38: load_skill gives a skill with the names of its files, and each file", async () => {
  const { text } = toolBench();
  expect(await text("load_skill", { name: "deploy" })).toBe("Steps to deploy.\n\nFiles: notes.md");
  expect(await text("load_skill", { name: "deploy", file: "notes.md" })).toBe("Mind the tide.");
  expect(await text("load_skill", { name: "deploi" })).toMatch(/^ERROR not_found: .*did you mean "deploy"\?/);
  expect(await text("load_skill", { name: "deploy", file: "__proto__" })).toMatch(/^ERROR not_found: /);
});
