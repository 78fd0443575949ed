import { expect, test } from "vitest";
import type { Draft } from "../../src/agent/transaction/draft.ts";
import { deletionDueAt } from "../../src/agent/loop/next.ts";
import { performFileChangeReport } from "../../src/session/operations/workspace.ts";
import { createWorkspaceFiles } from "../../src/sandbox/workspace-files.ts";
import { eventsOf, say } from "../engine/harness.ts";
import type { Bench } from "../support/bench.ts";
import { openBench, PowerCut } from "../support/bench.ts";
import { insist, settle } from "../support/power-cut.ts";
import { done, replies, said, scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import type { TestWorkspace } from "../support/workspace.ts";
import { workspaceWith } from "../support/workspace.ts";

/** Changes of files by persons, as the router makes them: begun with the session, made in the sandbox, reported (AP-45). */

const team = (...each: readonly string[]): string =>
  scripted(replies(...each)).replace("toolboxes: [probe]", "toolboxes: [filesystem]");

const open = async (workspace: TestWorkspace, ...each: readonly string[]): Promise<Bench> => {
  const bench = openBench({ engine: await engineOf(team(...each), { env: workspace.env }) });
  bench.ok("create");
  return bench;
};

const write = (workspace: TestWorkspace, key: string, path: string, text: string) =>
  createWorkspaceFiles(workspace.env.SANDBOX, "any").put(
    path,
    { content: new Blob([text]).stream(), size: text.length },
    { key },
  );

type Outcome = Awaited<ReturnType<typeof write>> | null;

/** Reports what became of a change; the power may go meanwhile, and then nobody reports it again. */
const report = (bench: Bench, change: string, path: string, outcome: Outcome): unknown => {
  const update = <T>(run: (draft: Draft) => T): T => {
    let result: T | undefined;
    bench.change((draft) => void (result = run(draft)));
    return result as T;
  };
  try {
    return performFileChangeReport({ update }, { change, path, outcome });
  } catch (error) {
    if (!(error instanceof PowerCut)) throw error;
    return null;
  }
};

const changesOf = (bench: Bench): unknown[] =>
  eventsOf(bench, "file_change").map(({ path, op, tool }) => [path, op, tool]);

test("AP-45: a change is told with its diff, and its key gives the same answer again", async () => {
  const workspace = await workspaceWith();
  const bench = await open(workspace, done);
  const { change } = bench.ok("write_file", { path: "./a//b", key: "k" });
  expect(bench.ok("write_file", { path: "a/b", key: "k" })).toEqual({ change, path: "a/b" });
  const outcome = await write(workspace, change ?? "", "a/b", "one\n");
  expect(report(bench, change ?? "", "a/b", outcome)).toMatchObject({ ok: true, status: 201 });
  expect(eventsOf(bench, "file_change")).toEqual([
    expect.objectContaining({ path: "a/b", op: "create", tool: null, diff: expect.stringContaining("+one") }),
  ]);
  expect(bench.ok("write_file", { path: "a/b", key: "k" })).toEqual({ digest: true });
  const sha256 = outcome.file?.sha256 ?? "";
  const replay = { status: 201, json: JSON.stringify({ path: "a/b", changed: 1, size: 4, sha256, seq: 2 }) };
  expect(bench.ok("write_file", { path: "a/b", key: "k", sha256 })).toEqual({ replay });
  expect(bench.perform("write_file", { path: "a/b", key: "k", sha256: "0" })).toMatchObject({
    problem: { code: "idempotency_key_reused" },
  });
  expect(bench.ok("write_file", { path: "a/c", key: "k" })).toHaveProperty("change");
});

test("★ AP-45 TB-12: a file that a person changed is a conflict for the agent that saw it before", async () => {
  const workspace = await workspaceWith({ a: "old" });
  const edit = (to: string) => said(["fs_write", { path: "a", content: to }]);
  const bench = await open(workspace, said(["fs_read", { path: "a" }]), done, edit("agent's"), done);
  await say(bench);
  const { change = "" } = bench.ok("write_file", { path: "a" });
  report(bench, change, "a", await write(workspace, change, "a", "person's"));
  await say(bench, "Again");
  const [, written] = eventsOf(bench, "tool_call_end");
  expect(written).toMatchObject({ outcome: "error" });
  expect(JSON.stringify(written)).toMatch(/changed by a person/);
  expect(await workspace.text("a")).toBe("person's");
});

test("★ AP-45: whoever dies, a change that was made is told once, and one that was not is never made", async () => {
  for (const dies of ["before it", "after it", "never"])
    for (let cut = 0; cut <= 8; cut++) {
      const workspace = await workspaceWith();
      const bench = await open(workspace, done);
      bench.cutAt(cut === 0 ? null : cut);
      const { change = "" } = insist(bench, "write_file", { path: "a", key: "k" }, "w1");
      const outcome = dies === "before it" ? null : await write(workspace, change, "a", "one");
      if (dies === "never") report(bench, change, "a", outcome);
      await settle(bench);
      bench.cutAt(null);
      const where = `${dies}, cut at ${cut}`;
      expect(bench.state().fileChanges, where).toEqual([]);
      expect(changesOf(bench), where).toEqual(dies === "before it" ? [] : [["a", "create", null]]);
      if (dies === "before it") {
        await expect(write(workspace, change, "a", "late"), where).rejects.toMatchObject({
          code: "capacity_exceeded",
        });
        expect(await workspace.text("a"), where).toBeNull();
      } else {
        expect(bench.ok("write_file", { path: "a", key: "k" }), where).toEqual({ digest: true });
      }
    }
});

test("AP-45 RE-P14: of a session that was deleted meanwhile nothing is told", () => {
  const outcome = { changes: [] };
  expect(performFileChangeReport(null, { change: "change:x", path: "a", outcome })).toMatchObject({
    ok: false,
    problem: { code: "not_found" },
  });
});

test("AP-45: what nobody knows is asked of the sandbox at once, again while it does not answer, and given up with an error", async () => {
  const workspace = await workspaceWith();
  const bench = await open(workspace, done);
  const { change = "" } = bench.ok("write_file", { path: "a" });
  await write(workspace, change, "a", "one");
  workspace.refuse = "fs";
  report(bench, change, "a", null);
  bench.crash();
  await settle(bench);
  expect(eventsOf(bench, "error")).toMatchObject([
    { code: "sandbox_error", message: /whether a was changed/ },
  ]);
  expect(bench.state().fileChanges).toEqual([]);
});

test.each([false, true])(
  "AP-45 SE-20: a read that a run cached is made again after a person's change: %o",
  async (isChanged) => {
    const workspace = await workspaceWith({ a: "old" });
    const read = said(["fs_read", { path: "a" }]);
    const yaml = team(read, said(["ask_user", { question: "Ready?" }]), read, done).replace(
      "toolboxes: [filesystem]",
      "toolboxes: [filesystem]\n    options: { cache_tool_results: true }",
    );
    const bench = openBench({ engine: await engineOf(yaml, { env: workspace.env }) });
    bench.ok("create");
    bench.send("Go");
    await bench.idle();
    await bench.pass(1_000);
    if (isChanged) {
      const { change = "" } = bench.ok("write_file", { path: "a" });
      report(bench, change, "a", await write(workspace, change, "a", "new"));
    }
    const [ask] = Object.keys(bench.state().asks);
    bench.ok("answer", { ask, decision: "answer", text: "Yes" });
    await bench.idle();
    const seen = JSON.stringify(bench.requests.at(-1)?.messages);
    expect(seen.includes("new")).toBe(isChanged);
    expect(bench.types().includes("tool_cache_hit")).toBe(!isChanged);
  },
);

test("AP-45: a change of a file is a use of its session, which retention counts from then", async () => {
  const workspace = await workspaceWith();
  const bench = await open(workspace, done);
  const before = bench.state().updatedAt;
  await bench.pass(86_400_000);
  const { change = "" } = bench.ok("write_file", { path: "a" });
  expect(deletionDueAt(bench.state(), 1)).toBeNull();
  report(bench, change, "a", await write(workspace, change, "a", "new"));
  expect(deletionDueAt(bench.state(), 1)).toBe(before + 2 * 86_400_000);
});
