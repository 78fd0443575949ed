import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool, type Toolbox } from "../../src/tools/define-tool.ts";
import { selectTools, unknownToolText } from "../../src/tools/toolbox.ts";
import { createCoreToolbox, toolboxes } from "../../src/toolboxes/index.ts";

const box = (name: string, ...tools: readonly string[]): Toolbox => ({
  name,
  description: name,
  tools: tools.map((tool) =>
    defineTool({ name: tool, description: "d", params: z.strictObject({}), run: () => ({ content: "" }) }),
  ),
});
const boxes = [
  box("ask", "ask_user"),
  box("core", "recall"),
  box("git", "git_status", "git_log"),
  box("other", "git_log", "x"),
];
const names = (entries: Parameters<typeof selectTools>[0]) =>
  selectTools(entries, boxes, ["ask", "core"]).tools.map(({ tool, toolbox }) => `${toolbox}/${tool.name}`);

test("TB-4: no tools means all, [] none; ask and core are always there, ask narrowed only if listed", () => {
  expect(names([])).toEqual(["ask/ask_user", "core/recall"]);
  expect(names([{ name: "git" }])).toEqual(["git/git_status", "git/git_log", "ask/ask_user", "core/recall"]);
  expect(names([{ name: "git", tools: [] }])).toEqual(["ask/ask_user", "core/recall"]);
  expect(names([{ name: "ask", tools: [] }])).toEqual(["core/recall"]);
  expect(names([{ name: "git", tools: ["git_log", "git_status"] }]).slice(0, 2)).toEqual([
    "git/git_status",
    "git/git_log",
  ]);
});

test("TB-4: ★ unknown toolboxes and tools, a toolbox twice and two tools of one name are errors with a suggestion", () => {
  const problems = (entries: Parameters<typeof selectTools>[0]) =>
    selectTools(entries, boxes, ["ask", "core"]).problems;
  expect(problems([{ name: "git", tools: ["git_staus"] }])).toEqual([
    {
      code: "unknown_tool",
      path: [0, "tools", 0],
      message: 'the toolbox git has no tool "git_staus"; did you mean "git_status"?',
    },
  ]);
  expect(problems([{ name: "gti" }])[0]?.message).toContain('did you mean "git"?');
  expect(problems([{ name: "git" }, { name: "git" }])[0]).toMatchObject({
    code: "duplicate_name",
    path: [1],
  });
  expect(problems([{ name: "git" }, { name: "other" }])[0]).toMatchObject({
    code: "name_conflict",
    path: [1],
  });
});

test("SE-15: an unknown tool is named with the nearest one", () => {
  expect(unknownToolText("git_staus", ["git_status", "fs_read"])).toBe(
    'there is no tool "git_staus"; did you mean "git_status"?',
  );
  expect(unknownToolText("zzzzzzzz", ["git_status"])).toContain("use one of the declared tools");
});

test("TB-1: definitions get their defaults; bad names and undescribed parameters are refused", () => {
  const tool = box("x", "plain").tools[0];
  expect(tool?.safety({})).toBe("unsafe");
  expect(tool?.timeout({}, { default: 1, max: 2 })).toBe(60_000);
  expect([tool?.limit, tool?.subject({})]).toEqual([32_000, ["plain"]]);
  const define = (name: string, params: z.ZodObject) =>
    defineTool({ name, description: "d", params, run: () => ({ content: "" }) });
  for (const name of ["1x", "tide at"])
    expect(() => define(name, z.strictObject({}))).toThrow(
      `"${name}" is not a tool name: up to 64 letters, digits, _ and -, beginning with a letter`,
    );
  expect(() => define("x", z.strictObject({ a: z.string() }))).toThrow(
    'parameter a has no description; add .describe("…") to it',
  );
});

test("toolboxes §3: every built-in schema is an object of JSON Schema 2020-12 with all fields described", () => {
  const all = [
    ...toolboxes,
    createCoreToolbox({ skills: [{ name: "s", body: "b", files: {} }], inWorkspace: false, remembers: true }),
  ].flatMap(({ tools }) => tools);
  const classes = all.map(
    (tool) => `${tool.name} ${tool.safety({})} ${tool.workspace}${tool.cache === true ? " cached" : ""}`,
  );
  expect(classes).toEqual([
    "ask_user read none",
    "fs_read read read cached",
    "fs_read_lines read read cached",
    "fs_list read read cached",
    "fs_stat read read cached",
    "fs_diff read read cached",
    "fs_write idempotent write",
    "fs_edit idempotent write",
    "fs_patch idempotent write",
    "apply_patch idempotent write",
    "fs_delete idempotent write",
    "fs_mkdir idempotent write",
    "fs_move idempotent write",
    "fs_copy idempotent write",
    "search_content read read cached",
    "search_files read read cached",
    "exec_run reattach write",
    "exec_shell reattach write",
    "exec_poll read none",
    "exec_kill idempotent none",
    "git_status read read",
    "git_diff read read",
    "git_log read read",
    "git_commit unsafe write",
    "http_fetch unsafe none",
    "browser_search read none",
    "browser_navigate read none",
    "browser_click unsafe none",
    "browser_type unsafe none",
    "browser_extract read none",
    "browser_screenshot read none",
    "shared_state_get read none",
    "shared_state_list read none",
    "shared_state_set idempotent none",
    "shared_state_delete idempotent none",
    "shared_tasks_create idempotent none",
    "shared_tasks_list read none",
    "shared_tasks_get read none",
    "shared_tasks_claim idempotent none",
    "shared_tasks_reassign idempotent none",
    "shared_tasks_update idempotent none",
    "shared_tasks_cancel idempotent none",
    "shared_tasks_watch idempotent none",
    "write_note idempotent none",
    "read_note read none",
    "list_notes read none",
    "recall read none",
    "report_status read none",
    "load_skill read none",
    "memory_search read none",
    "memory_append idempotent none",
  ]);
  for (const { schema, description } of all) {
    expect(schema).toMatchObject({ type: "object", additionalProperties: false });
    expect(JSON.stringify(schema)).not.toContain("$ref");
    expect(description.length).toBeLessThanOrEqual(1024);
  }
});
