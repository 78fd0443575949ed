import { expect, test } from "vitest";
import { delegate, spawnAgents } from "../../src/toolboxes/agents/spawn-agents.ts";
import { dispatchTasks } from "../../src/toolboxes/agents/dispatch-tasks.ts";
import { toolboxes } from "../../src/toolboxes/index.ts";
import { withFields } from "../../src/tools/define-tool.ts";

test("fields are put over a value whose getters are not asked", () => {
  let asked = 0;
  const value = {
    name: "a",
    get costly() {
      return (asked += 1);
    },
  };
  const changed = withFields(value, { name: "b" });
  expect([changed.name, value.name, asked]).toEqual(["b", "a", 0]);
  expect(changed.costly).toBe(1);
});

test("no tool computes its schema when it is loaded, which would be a part of every start", () => {
  const tools = [...toolboxes.flatMap((box) => box.tools), spawnAgents, delegate, dispatchTasks];
  const computed = tools
    .filter((tool) => Object.getOwnPropertyDescriptor(tool, "schema")?.get === undefined)
    .map(({ name }) => name);
  expect(computed).toEqual([]);
});
