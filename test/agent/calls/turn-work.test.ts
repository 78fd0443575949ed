import { expect, test } from "vitest";
import * as z from "zod";
import { noTurnWork } from "../../../src/agent/state/run.ts";
import type { TurnWork } from "../../../src/agent/state/run.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";
import type { ToolOutput } from "../../../src/tools/define-tool.ts";
import { coder, crew, delegate, lead } from "../../support/crew.ts";
import { done, look, replies, said } from "../../support/scripts.ts";
import type { PlayOptions } from "../loop/play.ts";
import { play } from "../loop/play.ts";

/** What a turn remembers of its calls, which verification and the end without progress ask (SE-39, SE-43). */

/** A tool `act` with this outcome. */
const acting = (output: ToolOutput, more: object = {}) =>
  defineTool({
    name: "act",
    description: "Acts.",
    params: z.strictObject({}),
    run: () => output,
    ...more,
  });

const edit: ToolOutput = { content: "ok", changes: [{ path: "a.txt", op: "create" }] };

/** The work of a turn whose first calls have ended while `put` still runs. */
const workAfter = async (first: string, options: PlayOptions = {}): Promise<TurnWork | undefined> => {
  const { bench } = await play(replies(`{ reply: [${first}, { call: put }] }`, done), {
    instant: false,
    ...options,
  });
  bench.send("Go");
  await bench.steps();
  return bench.state().threads["main"]?.run?.turnWork;
};

const act = "{ call: act }";

test.each<[string, Partial<TurnWork>, ToolOutput, object]>([
  ["a call", { ran: true }, { content: "ok" }, {}],
  ["a call that failed", { ran: true }, { content: "no", isError: true }, {}],
  ["a call whose tool makes no progress", {}, { content: "ok" }, { progress: false }],
  ["a call that changed a file", { ran: true, edited: true, changed: true }, edit, {}],
  ["a call that failed behind a change", { ran: true }, { ...edit, isError: true }, {}],
  [
    "a command of which is known that it changed nothing",
    { ran: true },
    { content: "ok", changes: [] },
    { does: ["exec"], acts: () => [] },
  ],
  ["a command", { ran: true, changed: true }, { content: "ok" }, { does: ["exec"], acts: () => [] }],
])("SE-39 SE-43: a turn knows of %s", async (_, work, output, more) => {
  expect(await workAfter(act, { tools: [acting(output, more)] })).toEqual({ ...noTurnWork, ...work });
});

test("SE-43: a call that is denied was not executed", async () => {
  const team = "permissions: { rules: [{ tool: act, action: deny }] }";
  expect(await workAfter(act, { team, tools: [acting(edit)] })).toEqual(noTurnWork);
});

test("SE-39 SE-43: the next turn keeps only that its edits are unchecked, and the run knows that it edited", async () => {
  const { bench, probe } = await play(replies(said(["put", {}]), look, done), { instant: false });
  bench.send("Go");
  await bench.steps();
  probe.calls[0]?.finish(edit);
  await bench.steps();
  expect(bench.state().threads["main"]?.run).toMatchObject({
    turnWork: { ...noTurnWork, edited: true },
    counters: { hasEdited: true },
  });
});

test("SE-39 SE-43: a child's edit is a change of its caller's turn, and no edit of its own", async () => {
  const { bench, probe } = await crew(
    [
      lead([said(delegate("coder"), ["put", { name: "own" }]), done], "delegation: {}"),
      coder([said(["put", { name: "child" }]), done]),
    ],
    { instant: false },
  );
  bench.send("Go");
  await bench.steps();
  probe.calls.find(({ name }) => name === "child")?.finish(edit);
  await bench.steps();
  expect(bench.state().threads["main"]?.run?.turnWork).toEqual({ ran: true, edited: false, changed: true });
});
