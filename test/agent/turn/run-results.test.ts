import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { FinishResult } from "../../../src/agent/definition/guard.ts";
import { defineMiddleware } from "../../../src/agent/definition/guard.ts";
import { crew, coder, delegate, endings, lead, resultsOf, writer } from "../../support/crew.ts";
import { settle } from "../../support/power-cut.ts";
import { done, look, replies, said } from "../../support/scripts.ts";
import { workspaceWith } from "../../support/workspace.ts";
import { dataOf, ends, lastResult, play, run } from "../loop/play.ts";
import { playVerify, write } from "./verify-play.ts";

/** What a run tells at its end: its answer, its files, its episodes, its last turn. */

const cut = (text: string): string => `{ reply: [{ text: ${JSON.stringify(text)} }], finish: length }`;
const files = "toolboxes: [filesystem]";
const breach = 'max_iterations: 1, verify_on_breach: true, verify_command: "true"';
const noKey = (more = ""): string =>
  `middleware: [{ kind: output_guardrail, params: { must_not_contain: [sk-key]${more} } }]`;

describe("a cut text is no piece of an answer that does not go on with it", () => {
  const steered = async (script: string, agent = "") => {
    const { bench } = await play(script, { agent });
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.send("Forget A, tell me of B", { on_busy: "steer" });
    bench.release();
    await bench.idle();
    return bench;
  };
  test("SE-44 SE-25: the answer to a steer", async () => {
    const bench = await steered(replies(cut("Essay on A"), said("B: yes.")));
    expect(lastResult(bench).text).toBe("B: yes.");
  });
  test("SE-14: the JSON after a steer is checked by itself", async () => {
    const json = said('{"b": 1}');
    const bench = await steered(
      replies(cut('{"a": "long'), json, json, json),
      "options: { response_format: json_object }",
    );
    expect(bench.requests).toHaveLength(2);
  });
  test("AG-37: the answer to a guardrail's retry is judged by itself", async () => {
    const { bench } = await run(replies(cut("aaaaa"), cut("bbbbb"), cut("ccccc"), said("short")), {
      agent:
        "middleware: [{ kind: output_guardrail, params: { max_length: 10, on_fail: retry, max_retries: 1 } }]",
    });
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });
  test("SE-39: after exhaustion the repair reply is the run's answer, and whole", async () => {
    const script = [write("bad"), cut("aaa"), cut("bbb"), cut("ccc"), said("end")];
    const { bench } = await playVerify(script);
    expect(lastResult(bench)).toMatchObject({ text: "end", truncated: false });
  });
});

describe("D2: files of children", () => {
  const filesOf = (bench: Parameters<typeof lastResult>[0]) => {
    const { files_created, files_modified, files_deleted } = lastResult(bench);
    return { files_created, files_modified, files_deleted };
  };
  test("SE-44: one child creates, another changes and deletes", async () => {
    const { env } = await workspaceWith();
    const made = await crew(
      [
        lead([said(delegate("coder")), said(delegate("writer")), done]),
        coder(
          [said(["fs_write", { path: "a", content: "1" }], ["fs_write", { path: "b", content: "1" }]), done],
          files,
        ),
        writer([said(["fs_write", { path: "a", content: "2" }], ["fs_delete", { path: "b" }]), done], files),
      ],
      { env },
    );
    made.bench.send("Go");
    await made.bench.idle();
    expect(filesOf(made.bench)).toEqual({ files_created: ["a"], files_modified: [], files_deleted: [] });
  });
  test("SE-44: a child deletes and changes what its caller made", async () => {
    const { env } = await workspaceWith();
    const made = await crew(
      [
        lead(
          [
            said(["fs_write", { path: "a", content: "1" }], ["fs_write", { path: "b", content: "1" }]),
            said(delegate("coder")),
            done,
          ],
          files,
        ),
        coder([said(["fs_write", { path: "a", content: "2" }], ["fs_delete", { path: "b" }]), done], files),
      ],
      { env },
    );
    made.bench.send("Go");
    await made.bench.idle();
    expect(filesOf(made.bench)).toEqual({ files_created: ["a"], files_modified: [], files_deleted: [] });
  });
});

describe("a run whose work passes after its last turn tells no text that its guardrails refuse", () => {
  test("AG-37 SE-40: a called agent", async () => {
    const { env } = await workspaceWith();
    const guarded = `options: { ${breach} }\n${noKey(', text: "Not shown."')}`;
    const made = await crew(
      [lead([said(delegate("coder")), done]), coder([said("I found sk-key", ["look", {}]), done], guarded)],
      { env },
    );
    made.bench.send("Go");
    await made.bench.idle();
    expect(endings(made)[0]).toBe("coder completed:max_iterations");
    expect(resultsOf(made)[0]).not.toContain("sk-key");
  });
  test("AG-37 SE-40: main", async () => {
    const { bench } = await playVerify([said("I found sk-key", ["fs_list", {}])], {
      options: breach,
      agent: noKey(),
    });
    expect(dataOf(bench, "run_end")[0]?.state).toBe("completed");
    expect(lastResult(bench).text).not.toContain("sk-key");
  });
  test("SE-14 SE-40: main, whose format asks for JSON", async () => {
    const { bench } = await playVerify([said("half", ["fs_list", {}])], {
      options: `${breach}, response_format: json_object`,
    });
    expect(dataOf(bench, "run_end")[0]?.state).toBe("completed");
    expect(lastResult(bench).text).toBe("");
  });
  test("AG-37 SE-40: main, whose own middleware throws or refuses", async () => {
    const playWith = (finish: () => FinishResult) =>
      playVerify([said("I found it", ["fs_list", {}])], {
        options: breach,
        agent: "middleware: [{ kind: own }]",
        middleware: [defineMiddleware({ kind: "own", params: z.strictObject({}), finish })],
      });
    const refused = await playWith(() => ({ fail: "no" }));
    expect(ends(refused.bench)).toEqual(["completed:max_iterations"]);
    expect(lastResult(refused.bench).text).toBe("");
    const broken = await playWith(() => {
      throw new Error("boom");
    });
    expect(ends(broken.bench)).toEqual(["failed:effect_failed"]);
    expect(lastResult(broken.bench)).toMatchObject({ text: "", error: "own: boom", breach_verify: "passed" });
  });
  test("SE-40: a text that nothing refuses is told", async () => {
    const { bench } = await playVerify([said("I found it", ["fs_list", {}])], {
      options: breach,
      agent: noKey(),
    });
    expect(dataOf(bench, "run_end")[0]?.state).toBe("completed");
    expect(lastResult(bench).text).toBe("I found it");
  });
});

test("SE-42: a compaction after a failed run does not hide that run's summary", async () => {
  const script = `replies: [${look}, { fail: [{ status: 401 }], reply: [{ text: x }] }, ${done}, ${done}, ${done}]`;
  const { bench } = await run(script);
  bench.ok("compact");
  await settle(bench);
  bench.send("Again", { prior_episode_summaries: [] });
  await bench.idle();
  expect(JSON.stringify(bench.requests.at(-1)?.messages)).toContain("Results of earlier attempts");
});

test("AP-27: the turn that a terminal call ends tells its calls and cache hits like any other", async () => {
  const one = ["look", { name: "a" }] as const;
  const { bench } = await run(replies(said(one), said(one, ["submit", {}])), {
    agent: "options: { cache_tool_results: true }",
  });
  expect(ends(bench)).toEqual(["completed:terminal_tool"]);
  expect(dataOf(bench, "turn_metrics").map(({ cache_hits }) => cache_hits)).toEqual([0, 1]);
  expect(dataOf(bench, "turn_end").map(({ calls }) => calls)).toEqual([1, 2]);
});
