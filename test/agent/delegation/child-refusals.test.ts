import { describe, expect, test } from "vitest";
import type { Member } from "../../support/crew.ts";
import {
  childIds,
  delegate,
  endings,
  itemsOf,
  member,
  mission,
  resultsOf,
  spawn,
  task,
} from "../../support/crew.ts";
import { dispatch, node, report } from "./graph-play.ts";
import { done, said } from "../../support/scripts.ts";

/** Why no child is started, as the code that the caller reads (AG-8). */

/** The same reply, claiming so many tokens. */
const claiming = (total: number, reply: string): string =>
  reply.replace(/ \}$/, `, usage: { input: ${total - 10}, output: 10 } }`);

const limit = (keys: string): string => `guards: { tool_loops: false, budget: { ${keys} } }`;

describe("AG-8: budget_exceeded", () => {
  test("AG-8: without budget for its first model call no child exists", async () => {
    const made = await mission([
      member("lead", [claiming(5_900, said(delegate("coder"))), done], limit("max_tokens: 6000")),
      member("coder", [said("Coded.")]),
    ]);
    expect(childIds(made)).toEqual([]);
    expect(resultsOf(made)[0]).toMatch(
      /^error: budget_exceeded: max_tokens: 5900 of 6000 tokens are spent; the next call needs at least \d+; finish/,
    );
  });

  test("AG-8 AG-11: what the session has left counts, too; a list has an item for each", async () => {
    const calling = said(spawn([task("coder"), task("writer")], { on_error: "collect" }));
    const made = await mission(
      [member("lead", [claiming(5_900, calling), done]), member("coder", [done]), member("writer", [done])],
      { create: { budget: { max_tokens: 6_000 } } },
    );
    expect(childIds(made)).toEqual([]);
    expect(itemsOf(made).map(({ agent, reason }) => [agent, reason])).toEqual([
      ["coder", "budget_exceeded"],
      ["writer", "budget_exceeded"],
    ]);
  });

  test("AG-8 AG-34: a task of a graph that has no budget left fails without a thread", async () => {
    const made = await mission([
      member("lead", [claiming(5_900, said(dispatch([node("a")]))), done], limit("max_tokens: 6000")),
      member("worker", [done]),
    ]);
    expect(childIds(made)).toEqual([]);
    expect(report(made)).toEqual(["a failed"]);
    expect(resultsOf(made)[0]).toContain("budget_exceeded: max_tokens: 5900 of 6000 tokens are spent");
  });

  test("AG-8 EF-37: where a person may be asked for more, the child starts", async () => {
    const made = await mission([
      member(
        "lead",
        [claiming(5_900, said(delegate("coder"))), done],
        limit("max_tokens: 6000, on_exceeded: ask"),
      ),
      member("coder", [said("Coded.")]),
    ]);
    expect(childIds(made)).toHaveLength(1);
    expect(endings(made)).toEqual([]);
  });
});

describe("AG-8: depth_exceeded", () => {
  const deep = "options: { max_delegation_depth: 1 }";

  test("AG-8 AG-20: an agent at its depth limit reads depth_exceeded, whichever way it calls others", async () => {
    const made = await mission([
      member("lead", [said(delegate("coder")), done], deep),
      member("coder", [
        said(delegate("lead"), spawn([task("lead")]), dispatch([node("a", [], { agent: "lead" })])),
        done,
      ]),
    ]);
    const sentence = "depth_exceeded: at depth 1 no further agent may be called; do it yourself";
    expect(resultsOf(made, childIds(made)[0])).toEqual([1, 2, 3].map(() => `denied: ${sentence}`));
  });

  test("AG-8 AG-19: what its toolboxes leave out is not a matter of depth", async () => {
    const made = await mission([
      member("lead", [said(delegate("coder")), done], deep),
      member(
        "coder",
        [said(delegate("lead"), ["list_agents", {}]), done],
        "toolboxes: [{ name: agents, tools: [list_agents] }]",
      ),
    ]);
    expect(resultsOf(made, childIds(made)[0])).toEqual([
      "denied: not_permitted: coder may not use delegate_to_agent",
      "denied: depth_exceeded: at depth 1 no further agent may be called; do it yourself",
    ]);
  });
});

describe("AG-8: self_delegation", () => {
  test("AG-8 AG-33: a graph with a task for the caller itself is refused whole by that code", async () => {
    const tasks = [node("a", [], { agent: "Lead" }), node("b")];
    const made = await mission([member("lead", [said(dispatch(tasks)), done]), member("worker", [done])]);
    expect(childIds(made)).toEqual([]);
    expect(resultsOf(made)[0]).toMatch(
      /^error: self_delegation: task a: agent: an agent cannot call itself; .*Nothing was started/,
    );
  });
});

describe("AG-11: invalid items", () => {
  const wrong = { agent: "writer", task: " ", context: "" };
  const odd = { agent: "coder", task: "Code", context: "", colour: 1, timeout_seconds: 0 };
  const lead = (call: readonly [string, object]): Member => member("lead", [said(call), done]);
  const others = [member("coder", [said("Coded.")]), member("writer", [said("Written.")])];

  test("AG-10 AG-11 collect: a task that cannot be read is an error item in its place, the rest run", async () => {
    const tasks = [wrong, task("coder"), ["nonsense"], odd];
    const made = await mission([lead(spawn(tasks, { on_error: "collect" })), ...others]);
    expect(resultsOf(made)[0]).toMatch(/^ok: /);
    expect(itemsOf(made)).toMatchObject([
      {
        agent: "writer",
        state: "failed",
        reason: "invalid_arguments",
        error: "invalid_arguments: task: task is blank; say what it should be",
      },
      { agent: "coder", state: "completed", result: "Coded." },
      { agent: "", state: "failed", reason: "invalid_arguments" },
      { agent: "coder", state: "failed", reason: "invalid_arguments" },
    ]);
    expect(itemsOf(made)[3]?.error).toMatch(/timeout_seconds: .*; .*colour/);
    expect(childIds(made)).toHaveLength(1);
  });

  test("AG-10: the item of a task that never began has the fields of one that has ended", async () => {
    const made = await mission([lead(spawn([wrong, task("ghost")], { on_error: "collect" })), ...others]);
    for (const item of itemsOf(made))
      expect(item).toMatchObject({ state: "failed", child: null, files_modified: [], usage: { total: 0 } });
  });

  test("AG-11 collect: only invalid items are an error, by the older name of the tool, too", async () => {
    const made = await mission([lead(["delegate", { tasks: [wrong] }]), ...others]);
    expect(resultsOf(made)[0]).toMatch(/^error: \[/);
    expect(itemsOf(made)).toMatchObject([{ agent: "writer", reason: "invalid_arguments" }]);
  });

  test("AG-11 cancel: an invalid item refuses the call and nothing starts; its place is named", async () => {
    const made = await mission([lead(spawn([task("coder"), wrong, odd])), ...others]);
    expect(resultsOf(made)[0]).toMatch(
      /^error: invalid_arguments: tasks\.1\.task: task is blank; say what it should be; tasks\.2\.timeout_seconds: /,
    );
    expect(childIds(made)).toEqual([]);
  });

  test("AG-11 TB-7: a rule about an agent does not stand in the way of a list's invalid items", async () => {
    const made = await mission([
      {
        ...lead(spawn([wrong, task("coder")], { on_error: "collect" })),
        yaml: "permissions: { preset: open, rules: [{ tool: spawn_agents, match: writer, action: deny }] }",
      },
      ...others,
    ]);
    expect(itemsOf(made).map(({ state }) => state)).toEqual(["failed", "completed"]);
  });
});
