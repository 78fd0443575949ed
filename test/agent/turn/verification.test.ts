import { expect, test } from "vitest";
import { coder, crew, delegate, lead, member } from "../../support/crew.ts";
import type { ToolOutput } from "../../../src/tools/define-tool.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, said } from "../../support/scripts.ts";
import { workspaceWith } from "../../support/workspace.ts";
import { dataOf, ends, lastResult, openAsks } from "../loop/play.ts";
import { check, checks, openVerify, playVerify, repairNotes, until, write } from "./verify-play.ts";

/** A command checks the edits of a turn, and what fails is repaired (SE-39). */

const purposes = (bench: Parameters<typeof checks>[0]): readonly string[] =>
  dataOf(bench, "llm_request_start").map(({ purpose }) => purpose);

const read = said(["fs_read", { path: "app.txt" }]);

test("SE-39: a failed check is told with command, code and output, and repaired; the model is told nothing of a pass", async () => {
  const { bench } = await playVerify([write("bad"), write("good"), done]);
  expect(checks(bench)).toEqual(["started 1", "failed 1", "started 2", "passed 2"]);
  expect(dataOf(bench, "verify")[1]).toEqual({
    state: "failed",
    attempt: 1,
    command: check,
    exit_code: 1,
    output_tail: "bad\n[exit 1]",
  });
  expect(repairNotes(bench)).toEqual([
    expect.stringMatching(/echo run.*exit code 1[\s\S]*\n\nbad\n\[exit 1\]$/),
  ]);
  const [, second, third] = bench.requests;
  expect(JSON.stringify(second?.messages.at(-1))).toContain("exit code 1");
  expect(JSON.stringify(third?.messages.at(-1)), "the result of the repair is the last word").toContain(
    "app.txt",
  );
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  checkInvariants(bench, []);
});

test("★ SE-39: always red with two retries is three runs and two repairs, the run completes, and repairs are no turns", async () => {
  const { bench, workspace } = await playVerify([write("bad"), write("worse"), write("worst"), done], {
    options: `max_iterations: 2, verify_after_edit: true, verify_command: ${JSON.stringify(check)}`,
  });
  expect(checks(bench)).toEqual([
    "started 1",
    "failed 1",
    "started 2",
    "failed 2",
    "started 3",
    "failed 3",
    "exhausted 3",
  ]);
  expect(await workspace.text("runs.log")).toBe("run\nrun\nrun\n");
  expect(purposes(bench)).toEqual(["turn", "repair", "repair", "turn"]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(lastResult(bench)).toMatchObject({ turns: 2, text: "Done.", breach_verify: "not_run" });
  expect(bench.types().filter((type) => type === "turn_start")).toHaveLength(2);
});

test("SE-39: each turn that edits has its own retries, and each repair an id of its own", async () => {
  const { bench } = await playVerify([write("bad"), write("good"), write("bad"), write("good"), done], {
    options: `max_verify_retries: 1, verify_after_edit: true, verify_command: ${JSON.stringify(check)}`,
  });
  const cycle = ["started 1", "failed 1", "started 2", "passed 2"];
  expect(checks(bench)).toEqual([...cycle, ...cycle]);
  const items = bench.events().flatMap(({ type, item }) => (type === "llm_tool_prepare" ? [item] : []));
  expect(new Set(items).size).toBe(items.length);
});

test("SE-39: with max_verify_retries: 0 a check is run and nothing is repaired", async () => {
  const { bench } = await playVerify([write("bad"), done], {
    options: `max_verify_retries: 0, verify_after_edit: true, verify_command: ${JSON.stringify(check)}`,
  });
  expect(checks(bench)).toEqual(["started 1", "failed 1", "exhausted 1"]);
  expect(repairNotes(bench)).toEqual([]);
});

test.each([
  ["a read", read],
  ["a failed write", said(["fs_write", { path: "../app.txt", content: "bad" }])],
  ["an edit that finds nothing", said(["fs_edit", { path: "app.txt", old_text: "none", new_text: "x" }])],
  ["a command", said(["exec_shell", { script: "echo bad > app.txt" }])],
])("SE-39: %s is no edit, and nothing is checked", async (_, reply) => {
  const { bench, workspace } = await playVerify([reply, done], { files: { "app.txt": "bad" } });
  expect(checks(bench)).toEqual([]);
  expect(workspace.asked.filter((route) => route.includes("exec")).length).toBeLessThanOrEqual(1);
});

test("SE-39: a turn in which one of several calls edits is checked once", async () => {
  const reply = said(
    ["fs_read", { path: "app.txt" }],
    ["fs_write", { path: "app.txt", content: "good" }],
    ["fs_write", { path: "other.txt", content: "x" }],
  );
  const { bench } = await playVerify([reply, done], { files: { "app.txt": "bad" } });
  expect(checks(bench)).toEqual(["started 1", "passed 1"]);
});

test("SE-39: a command that takes longer than the sandbox allows has failed", async () => {
  const { bench } = await playVerify([write("bad"), done], {
    options: 'max_verify_retries: 0, verify_after_edit: true, verify_command: "echo begun; sleep 60"',
    team: "sandbox: { limits: { wall: 1s } }",
  });
  expect(dataOf(bench, "verify")[1]).toMatchObject({
    state: "failed",
    exit_code: 124,
    output_tail: "timeout: the command was ended after 1 s.\nbegun\n[exit 124]",
  });
});

test("SE-39: without verify_after_edit nothing is checked, whatever else is set", async () => {
  const { bench } = await playVerify([write("bad"), done], { options: 'verify_command: "false"' });
  expect(checks(bench)).toEqual([]);
});

test("SE-39: a repair that only reads is checked like any other, and so is one without calls: it is the run's answer", async () => {
  const { bench } = await playVerify([write("bad"), read, said("I give up.")]);
  expect(checks(bench)).toEqual([
    "started 1",
    "failed 1",
    "started 2",
    "failed 2",
    "started 3",
    "failed 3",
    "exhausted 3",
  ]);
  expect(lastResult(bench)).toMatchObject({ text: "I give up.", turns: 1 });
  expect(bench.requests).toHaveLength(3);
});

test("SE-39: a repair without calls that passes ends the run with its text", async () => {
  const once = "echo run >> runs.log; [ $(wc -l < runs.log) -gt 1 ]";
  const { bench } = await playVerify([write("x"), said("Look again: it was the weather.")], {
    options: `verify_after_edit: true, verify_command: ${JSON.stringify(once)}`,
  });
  expect(checks(bench)).toEqual(["started 1", "failed 1", "started 2", "passed 2"]);
  expect(lastResult(bench)).toMatchObject({ text: "Look again: it was the weather.", turns: 1 });
});

test("SE-39 SE-14: an answer that a check holds up fits its schema before", async () => {
  const once = "echo run >> runs.log; [ $(wc -l < runs.log) -gt 1 ]";
  const schema = `response_format: json_schema, response_schema: { type: object, properties: { a: { type: number } }, required: [a], additionalProperties: false }`;
  const { bench } = await playVerify([write("x"), said("No JSON."), said('{"a": 1}')], {
    options: `${schema}, verify_after_edit: true, verify_command: ${JSON.stringify(once)}`,
  });
  expect(purposes(bench)).toEqual(["turn", "repair", "repair"]);
  expect(checks(bench)).toEqual(["started 1", "failed 1", "started 2", "passed 2"]);
  expect(lastResult(bench)).toMatchObject({ text: '{"a": 1}', turns: 1 });
  const items = bench.events().flatMap(({ type, item }) => (type === "llm_text" ? [item] : []));
  expect(new Set(items).size).toBe(2);
});

test("SE-39: the broad command follows only a first that passed, and shares its retries", async () => {
  const broad = "echo broad >> runs.log; grep -q better app.txt";
  const { bench, workspace } = await playVerify([write("bad"), write("good"), write("good, better"), done], {
    options: `verify_after_edit: true, verify_command: ${JSON.stringify(check)}, verify_broad_command: ${JSON.stringify(broad)}`,
  });
  expect(
    dataOf(bench, "verify").map(({ state, attempt, command }) => [state, attempt, command === broad]),
  ).toEqual([
    ["started", 1, false],
    ["failed", 1, false],
    ["started", 2, false],
    ["passed", 2, false],
    ["started", 2, true],
    ["failed", 2, true],
    ["started", 3, false],
    ["passed", 3, false],
    ["started", 3, true],
    ["passed", 3, true],
  ]);
  expect(await workspace.text("runs.log")).toBe("run\nrun\nbroad\nrun\nbroad\n");
});

test("★ SE-39 SE-13: a repair whose calls were cut off is asked for again, not checked, and none of it ran", async () => {
  const cut = '{ reply: [{ call: fs_write, args: { path: app.txt, content: "good" } }], finish: length }';
  const { bench, workspace } = await playVerify([write("bad"), cut, write("good"), done]);
  expect(checks(bench)).toEqual(["started 1", "failed 1", "started 2", "passed 2"]);
  expect(await workspace.text("runs.log")).toBe("run\nrun\n");
  expect(purposes(bench)).toEqual(["turn", "repair", "repair", "turn"]);
  const items = bench.events().flatMap(({ type, item }) => (type === "llm_tool_prepare" ? [item] : []));
  expect(new Set(items).size).toBe(items.length);
  expect(lastResult(bench).turns).toBe(2);
});

test("SE-39: a repair obeys the budget", async () => {
  const { bench } = await playVerify([write("bad"), write("worse"), done], {
    agent: "guards: { budget: { max_tokens: 500 } }",
  });
  expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
  expect(bench.requests.length).toBeLessThan(3);
});

test("SE-39: a long output is cut like a tool's, and recall has all of it", async () => {
  const long = "seq 1 20000; false";
  const recalled = said(["recall", { id: "b1", find: "10000" }]);
  const { bench } = await playVerify([write("bad"), recalled, done], {
    options: `max_verify_retries: 1, verify_after_edit: true, verify_command: ${JSON.stringify(long)}`,
  });
  const [note = ""] = repairNotes(bench);
  expect(note.length).toBeLessThan(33_000);
  expect(note).toContain('recall("b1") has the full text');
  const result = bench.chat().findLast(({ role }) => role === "tool");
  expect(JSON.stringify(result)).toContain("10000");
  const [, failed] = dataOf(bench, "verify");
  expect(failed?.output_tail?.length).toBeLessThanOrEqual(2_000);
  expect(failed?.output_tail).toMatch(/20000\n\[exit 1\]$/);
});

test("SE-39 RE-15: a secret that a check prints reaches neither the model nor the log", async () => {
  const { bench } = await playVerify([write("bad"), done], {
    options: 'max_verify_retries: 1, verify_after_edit: true, verify_command: "cat key; false"',
    files: { key: "The key is canary-secret-1234." },
    secret: "canary-secret-1234",
  });
  expect(repairNotes(bench)[0]).toContain("The key is [secret:TOKEN].");
  expect(dataOf(bench, "verify")[1]?.output_tail).toContain("[secret:TOKEN]");
  expect(JSON.stringify([bench.events(), bench.requests])).not.toContain("canary-secret");
});

test("SE-39: no permission rule and no tool ceiling asks about the command; writable_paths bind it", async () => {
  const { bench, workspace } = await playVerify([write("bad", "src/app.txt"), done], {
    options: `max_verify_retries: 0, writable_paths: ["src/**"], verify_after_edit: true, verify_command: "echo a > src/in; echo b > out"`,
    toolboxes: "[filesystem]",
    team: "permissions: { rules: [{ act: exec, action: deny }] }",
  });
  expect(checks(bench)).toEqual(["started 1", "failed 1", "exhausted 1"]);
  expect(await workspace.text("src/in")).toBe("a\n");
  expect(await workspace.text("out")).toBeNull();
  expect(openAsks(bench)).toEqual([]);
});

test("SE-39: the command runs in working_dir, and is found there by its files", async () => {
  const { bench } = await playVerify([write("bad", "lib/app.txt"), done], {
    options: "working_dir: lib, max_verify_retries: 0, verify_after_edit: true",
    files: {
      "lib/Makefile": "build:\n\ttrue\ntest: build\n\ttrue\n",
      "package.json": '{"scripts":{"test":"x"}}',
    },
  });
  expect(dataOf(bench, "verify")[0]).toMatchObject({ state: "started", command: "make test" });
  const given = await playVerify([write("bad", "lib/app.txt"), done], {
    options: 'working_dir: lib, max_verify_retries: 0, verify_after_edit: true, verify_command: "pwd; false"',
  });
  expect(dataOf(given.bench, "verify")[1]?.output_tail).toBe("/workspace/lib\n[exit 1]");
});

test.each<[string, string | null, Readonly<Record<string, string>>]>([
  [
    "go.mod before all others",
    "go test ./...",
    { "go.mod": "", "Cargo.toml": "", "package.json": '{"scripts":{"test":"x"}}' },
  ],
  [
    "a file, not a folder of its name",
    "npm test",
    { "go.mod/a": "", "package.json": '{"scripts":{"test":"x"}}' },
  ],
  ["Cargo.toml", "cargo test", { "Cargo.toml": "", "pytest.ini": "" }],
  ["a test script", "npm test", { "package.json": '{"scripts":{"test":"x"}}', Makefile: "test:\n" }],
  ["a package without tests", null, { "package.json": '{"scripts":{"build":"x"}}' }],
  ["a package that is no JSON", null, { "package.json": "{" }],
  ["a Makefile's target", "make test", { Makefile: "all: a\ntest:\n\ttrue\n", "pytest.ini": "" }],
  ["a Makefile's rule of several targets", "make test", { Makefile: "build: a\nlint test: b\n" }],
  ["a Makefile's prerequisite", null, { Makefile: ".PHONY: test\nall: test\n\ttest: a\n" }],
  ["a Makefile's variable", null, { Makefile: "test := 1\ntest ::= 1\ntests: a\n" }],
  ["pytest.ini", "pytest", { "pytest.ini": "" }],
  ["pyproject.toml", "pytest", { "pyproject.toml": "[project]\n[tool.pytest.ini_options]\n" }],
  ["another pyproject.toml", null, { "pyproject.toml": "[tool.ruff]\n" }],
  ["nothing", null, {}],
])("SE-39: the command is detected: %s", async (_, command, files) => {
  const { bench } = await playVerify([write("bad"), done], { options: "verify_after_edit: true", files });
  const [first] = dataOf(bench, "verify");
  if (command === null)
    expect(dataOf(bench, "verify")).toEqual([{ state: "skipped", attempt: 1, command: "" }]);
  else expect(first).toEqual({ state: "started", attempt: 1, command });
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("★ SE-39: what the sandbox cannot run is said once and not repaired, and later edits are not checked", async () => {
  const { bench } = await playVerify([write("bad"), write("worse"), done], {
    options: "verify_after_edit: true",
    files: { "package.json": '{"scripts":{"test":"vitest"}}' },
  });
  expect(dataOf(bench, "verify")).toEqual([
    { state: "started", attempt: 1, command: "npm test" },
    {
      state: "error",
      attempt: 1,
      command: "npm test",
      exit_code: 127,
      output_tail: expect.stringContaining("npm"),
    },
  ]);
  expect(repairNotes(bench)).toEqual([]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("SE-39: a command that meets a limit of the sandbox is an error, and nothing is repaired", async () => {
  const { bench } = await playVerify([write("bad"), write("worse"), done], {
    options: 'verify_after_edit: true, verify_command: "f() { f; }; f"',
  });
  expect(dataOf(bench, "verify")).toEqual([
    expect.objectContaining({ state: "started" }),
    expect.objectContaining({ state: "error", output_tail: expect.stringMatching(/^limit: /) }),
  ]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("SE-39: a sandbox that refuses commands is an error, and the next run checks again", async () => {
  const { bench, workspace } = await openVerify([write("good"), done, write("good 2"), done]);
  workspace.refuse = "exec";
  bench.send("Go");
  await bench.idle();
  expect(checks(bench)).toEqual(["started 1", "error 1"]);
  workspace.refuse = null;
  bench.send("Go");
  await bench.idle();
  expect(checks(bench)).toEqual(["started 1", "error 1", "started 1", "passed 1"]);
});

test("SE-39: what a child edits is checked by the child's own options, not by its caller's", async () => {
  const made = await crew(
    [
      member(
        "lead",
        [said(delegate("coder")), done],
        "options: { verify_after_edit: true, verify_command: 'false' }",
      ),
      member("coder", [said(["put", { name: "x" }]), said("Coded.")]),
    ],
    { instant: false },
  );
  made.bench.send("Go");
  await made.bench.steps();
  for (const call of made.probe.calls) call.finish({ content: "ok", changes: [{ path: "a", op: "create" }] });
  await made.bench.idle();
  expect(dataOf(made.bench, "verify")).toEqual([]);
  expect(lastResult(made.bench).files_created).toEqual(["a"]);
});

test("SE-39 SE-20: a check counts as a write: what was read before it is read again", async () => {
  const both = said(["fs_write", { path: "app.txt", content: "good" }], ["fs_read", { path: "app.txt" }]);
  const { bench } = await playVerify([both, read, read, done], {
    options: `cache_tool_results: true, verify_after_edit: true, verify_command: ${JSON.stringify(check)}`,
  });
  expect(lastResult(bench)).toMatchObject({ tool_cache_hits: 1, tool_cache_misses: 2 });
});

test("SE-39 SE-20: nor does another thread keep what it read while the command ran", async () => {
  const { env } = await workspaceWith({ "app.txt": "old" });
  const options = "cache_tool_results: true";
  const readApp = ["fs_read", { path: "app.txt" }] as const;
  const command = "sleep 1; echo new > app.txt";
  const made = await crew(
    [
      lead(
        [said(delegate("coder", { async: true }), ["put", {}]), done],
        `delegation: { async: true }\noptions: { ${options}, verify_after_edit: true, verify_command: "${command}" }`,
      ),
      coder(
        [said(["look", { name: "1" }]), said(readApp), said(["look", { name: "2" }]), said(readApp), done],
        `toolboxes: [probe, filesystem]\noptions: { ${options} }`,
      ),
    ],
    { instant: false, env },
  );
  const { bench, probe } = made;
  const reads = () =>
    dataOf(bench, "tool_call_end").flatMap(({ tool, output }) => (tool === "fs_read" ? [output] : []));
  const finish = async (name: string, output?: ToolOutput): Promise<void> => {
    await until(bench, () => probe.names().includes(name));
    probe.calls[probe.names().indexOf(name)]?.finish(output);
  };
  bench.send("Go");
  await finish("put()", { content: "ok", changes: [{ path: "a", op: "create" }] });
  await until(bench, () => checks(bench).length > 0);
  await finish("look(1)");
  await until(bench, () => probe.names().includes("look(2)"));
  expect(checks(bench), "it has read while the command runs").toEqual(["started 1"]);
  await until(bench, () => checks(bench).length > 1);
  await finish("look(2)");
  await until(bench, () => reads().length > 1);
  expect(reads()).toEqual(["old", "new\n"]);
});

test("SE-39 EF-42: the request of a repair is rebuilt with its note", async () => {
  const { bench } = await playVerify([write("bad"), write("good"), done]);
  const run = bench.state().threads["main"]?.lastRun;
  const view = bench.ok("context", { run, turn: 1, call: 2 }) as unknown as {
    messages: readonly { text: string }[];
  };
  const sent = bench.requests[1]?.messages ?? [];
  expect(view.messages).toHaveLength(sent.length);
  expect(view.messages.at(-1)?.text).toContain("exit code 1");
});
