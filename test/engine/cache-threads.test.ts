import { expect, test } from "vitest";
import { crewYaml, delegate, member } from "../support/crew.ts";
import { workspaceWith } from "../support/workspace.ts";
import { benchOf, eventsOf } from "./harness.ts";
import { said } from "../support/scripts.ts";

const box = "toolboxes: [filesystem]\noptions: { cache_tool_results: true }";
const read = said(["fs_read", { path: "a.txt" }]);
const edit = (from: string, to: string): string =>
  said(["fs_edit", { path: "a.txt", old_text: from, new_text: to }]);

test("TB-12 SE-20: what another thread read is no look of one's own: read again after its change, a file can be edited", async () => {
  const { env } = await workspaceWith({ "a.txt": "one" });
  const yaml = crewYaml([
    member(
      "lead",
      [read, said(delegate("coder")), read, edit("two", "three"), read, read, said("Done.")],
      box,
    ),
    member("coder", [edit("one", "two"), read, said("Done.")], box),
  ]);
  const bench = await benchOf(yaml, { env }, {});
  bench.send("Go");
  await bench.idle();
  const ended = eventsOf(bench, "tool_call_end").filter(({ tool }) => tool !== "delegate_to_agent");
  expect(ended.map(({ tool, output, cached }) => [tool, output, cached])).toEqual([
    ["fs_read", "one", false],
    ["fs_edit", expect.any(String), false],
    ["fs_read", "two", false],
    ["fs_read", "two", false],
    ["fs_edit", "Edited a.txt.", false],
    ["fs_read", "three", false],
    ["fs_read", "three", true],
  ]);
});
