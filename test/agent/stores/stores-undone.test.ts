import { expect, test } from "vitest";
import * as z from "zod";
import type { Ask } from "../../../src/agent/state/ask.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";
import type { StoreChange } from "../../../src/tools/stores.ts";
import { crew, delegate, endings, resultsOf } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { replies, said } from "../../support/scripts.ts";
import { onlyAsk } from "../loop/play.ts";

/** A list of changes of which one is refused leaves nothing behind, nor what followed from the others (TB-37). */

test("TB-37: a refused list that would have stopped a called agent leaves its open question as it was", async () => {
  const changes: readonly StoreChange[] = [
    { store: "tasks", op: "update", id: "task_1", status: "cancelled" },
    { store: "tasks", op: "claim", id: "task_9" },
  ];
  const gate = Promise.withResolvers<void>();
  const change = defineTool({
    name: "change",
    description: "Changes the board.",
    params: z.strictObject({}),
    safety: "read",
    workspace: "none",
    run: async () => {
      await gate.promise;
      return { content: "Never said.", stores: changes };
    },
  });
  const made = await crew(
    [
      {
        name: "lead",
        script: replies(
          said(["shared_tasks_create", { title: "Dig" }]),
          said(delegate("digger", { task_id: "task_1" }), ["change", {}]),
          said("Done."),
        ),
        yaml: "toolboxes: [probe, tasks]",
      },
      {
        name: "digger",
        script: replies(said(["ask_user", { question: "Where?" }]), said("Dug.")),
        yaml: "toolboxes: [ask, tasks]",
      },
    ],
    { tools: [change] },
  );
  const { bench } = made;
  bench.send("Go");
  await bench.steps();
  const ask = onlyAsk(bench);
  const before = bench.state();
  gate.resolve();
  await bench.idle();
  expect(bench.state().threads).not.toBe(before.threads);
  const { data } = bench.ok("asks", { status: "open" }) as unknown as { data: readonly Ask[] };
  expect(data.map(({ id }) => id)).toEqual([ask]);
  bench.crash();
  bench.ok("answer", { ask, decision: "answer", text: "Here" });
  await bench.idle();
  expect(resultsOf(made).slice(1)).toEqual([
    "ok: Dug.",
    "error: not_found: there is no task task_9; list the tasks to see them",
  ]);
  expect(endings(made)).toEqual(["digger completed:end_turn", "lead completed:end_turn"]);
  checkInvariants(bench, ["in_1"]);
});

test("TB-37 AG-39: ★ a refused list that would have remembered something leaves nothing to deliver", async () => {
  const change = defineTool({
    name: "change",
    description: "Remembers and claims.",
    params: z.strictObject({}),
    safety: "read",
    workspace: "none",
    run: () => ({
      content: "Never said.",
      stores: [
        { store: "memory", op: "append", text: "It was here.", tags: [] },
        { store: "tasks", op: "claim", id: "task_9" },
      ],
    }),
  });
  const made = await crew(
    [
      {
        name: "lead",
        script: replies(said(["change", {}]), said("Done.")),
        yaml: "toolboxes: [probe, tasks]",
      },
    ],
    { tools: [change] },
  );
  made.bench.send("Go");
  await made.bench.idle();
  expect(endings(made)).toEqual(["lead completed:end_turn"]);
  expect(made.bench.state().outbox).toBeNull();
  expect(made.bench.alarm()).toBeNull();
});
