import { expect, test } from "vitest";
import { eventsOf, refused, say } from "../engine/harness.ts";
import type { Bench } from "../support/bench.ts";
import { openBench } from "../support/bench.ts";
import { checkInvariants } from "../support/invariants.ts";
import { insist } from "../support/power-cut.ts";
import { done, replies, said, scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import type { TestWorkspace } from "../support/workspace.ts";
import { workspaceWith } from "../support/workspace.ts";

/** Files that come with the creation of a session, from YAML to the workspace (AP-45). */

const team = (...each: readonly string[]): string =>
  `${scripted(replies(...each)).replace("toolboxes: [probe]", "toolboxes: [filesystem]")}\ncontext: { external: true }\n`;

const open = async (workspace: TestWorkspace, ...each: readonly string[]): Promise<Bench> =>
  openBench({ engine: await engineOf(team(...each), { env: workspace.env }) });

const agents = { path: "AGENTS.md", content: "Tides first." };

test("★ AP-45: AGENTS.md of the creation is in the first request, also after a crash before the first run", async () => {
  for (const crashes of [false, true]) {
    const workspace = await workspaceWith();
    const bench = await open(workspace, done);
    bench.ok("create", { files: [agents] });
    if (crashes) bench.crash();
    expect(workspace.asked).toEqual([]);
    await say(bench);
    expect(bench.requests[0]?.system).toContain("Tides first.");
    expect(await workspace.text("AGENTS.md")).toBe("Tides first.");
    expect(eventsOf(bench, "file_change")).toEqual([
      { path: "AGENTS.md", op: "create", tool: null, message: null },
    ]);
    expect(bench.state().initialFiles).toEqual([]);
  }
});

test("AP-45, AP-16: files and input come in one creation, and bytes arrive as they were", async () => {
  const workspace = await workspaceWith();
  const bench = await open(workspace, done);
  const data = Buffer.from("a\u0000b é").toString("base64");
  const files = [
    agents,
    { path: "./in//b.bin", data: `data:text/plain;base64,${data}` },
    { path: "e", content: "" },
  ];
  bench.ok("create", { files, input: "Hi" });
  await bench.idle();
  expect(await workspace.text("in/b.bin")).toBe("a\u0000b é");
  expect(await workspace.text("e")).toBe("");
  expect(bench.requests[0]?.system).toContain("Tides first.");
});

test("AP-45: what the agent deletes of them stays deleted over a crash", async () => {
  const workspace = await workspaceWith();
  const gone = said(["fs_delete", { path: "AGENTS.md" }]);
  const bench = await open(workspace, gone, done, said(["fs_list", {}]), done);
  bench.ok("create", { files: [agents] });
  await say(bench);
  bench.crash();
  await say(bench);
  expect(await workspace.text("AGENTS.md")).toBeNull();
});

test("AP-45, TB-34: a file that the workspace refuses is an error, and the model is told before its next call", async () => {
  const workspace = await workspaceWith({ taken: "I am a file." });
  const bench = await open(workspace, done, done);
  bench.ok("create", { files: [{ path: "taken/x", content: "x" }, agents] });
  await say(bench);
  expect(eventsOf(bench, "error")).toMatchObject([{ code: "workspace_lost", retryable: false }]);
  expect(JSON.stringify(bench.requests[0]?.messages)).toContain(
    "could not be put into the workspace:\\n- taken/x: ",
  );
  expect(await workspace.text("AGENTS.md")).toBe("Tides first.");
  await say(bench, "Again");
  expect(JSON.stringify(bench.chat()).match(/could not be put/g)).toHaveLength(1);
});

test("AP-45: a workspace that cannot be reached keeps no file for good", async () => {
  const workspace = await workspaceWith();
  const bench = await open(workspace, done, said(["fs_read", { path: "AGENTS.md" }]), done);
  workspace.silent = true;
  bench.ok("create", { files: [agents] });
  bench.send("Hi");
  await bench.steps();
  await bench.pass(10_000);
  expect(bench.state().initialFiles).toHaveLength(1);
  workspace.silent = false;
  bench.crash();
  await say(bench, "Again");
  expect(eventsOf(bench, "tool_call_end")).toMatchObject([{ outcome: "ok" }]);
});

test("AP-45: paths that no file can have are refused by their field, and nothing is created", async () => {
  const bench = await open(await workspaceWith(), done);
  const problemOf = (...files: readonly object[]): unknown => {
    const { code, errors } = refused(bench, "create", { files });
    return [code, errors?.[0]?.pointer];
  };
  for (const path of ["../x", "/etc/x", ".", "a/..", "a\0", ".git/hooks/x", ".git/config", ".skills/x"])
    expect(problemOf({ path, content: "" }), path).toEqual(["invalid_request", "/files/0/path"]);
  expect(problemOf(agents, agents)).toEqual(["invalid_request", "/files/1/path"]);
  expect(problemOf({ path: "a/b", content: "" }, { path: "a", content: "" })).toEqual([
    "invalid_request",
    "/files/0/path",
  ]);
  expect(problemOf({ path: "a", data: "?" })).toEqual(["invalid_request", "/files/0/data"]);
  expect(problemOf({ path: "a" })).toEqual(["invalid_request", "/files/0"]);
  const many = Array.from({ length: 101 }, (_, n) => ({ path: `f${n}`, content: "" }));
  expect(problemOf(...many)).toEqual(["invalid_request", "/files"]);
  expect(refused(bench, "get").code).toBe("not_found");
});

test("AP-45: a deployment without a sandbox takes no files", async () => {
  const bench = openBench({ engine: await engineOf(team(done), { env: {} }) });
  expect(refused(bench, "create", { files: [agents] })).toMatchObject({ code: "not_configured" });
});

test("★ AP-45: the power cut at every write: each file is placed once and told once", async () => {
  const yaml = team(said(["fs_write", { path: "AGENTS.md", content: "Mine." }]), done);
  const play = async (cut: number | null): Promise<[Bench, number]> => {
    const workspace = await workspaceWith();
    const bench = openBench({ engine: await engineOf(yaml, { env: workspace.env }) });
    bench.cutAt(cut);
    insist(bench, "create", { files: [agents, { path: "b", content: "B" }] }, "c1");
    insist(bench, "send", { id: "i1", content: "Go" }, "i1");
    await bench.idle();
    await bench.pass(5_000);
    checkInvariants(bench, ["i1"]);
    expect(await workspace.text("AGENTS.md"), `cut at ${cut}`).toBe("Mine.");
    const told = eventsOf(bench, "file_change").map(({ path, tool }) => [path, tool]);
    expect(told, `cut at ${cut}`).toEqual([
      ["AGENTS.md", null],
      ["b", null],
      ["AGENTS.md", "fs_write"],
    ]);
    expect(eventsOf(bench, "error"), `cut at ${cut}`).toEqual([]);
    return [bench, bench.writes()];
  };
  const [, writes] = await play(null);
  for (let cut = 1; cut <= writes; cut++) await play(cut);
}, 60_000);
