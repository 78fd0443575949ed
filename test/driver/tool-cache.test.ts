import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import { eventsOf, say } from "../engine/harness.ts";
import type { Bench } from "../support/bench.ts";
import { openBench } from "../support/bench.ts";
import { done, replies, said, scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";

/** How much the cache of results keeps in memory (SE-20). */

const params = z.strictObject({
  id: z.string().describe("What is given back."),
  kib: z.int().describe("Its length."),
});

const give = (name: string, workspace: "none" | "read") =>
  defineTool({
    name,
    description: "Gives back a text of some length.",
    params,
    safety: "read",
    workspace,
    cache: true,
    run: ({ id, kib }) => ({ content: id.padEnd(kib * 1_024, "x") }),
  });

const toolboxes = [
  { name: "texts", description: "Texts.", tools: [give("law", "none"), give("page", "read")] },
];

const open = async (...each: readonly string[]): Promise<Bench> => {
  const yaml = scripted(replies(...each), "options: { cache_tool_results: true }");
  const bench = openBench({ engine: await engineOf(yaml.replace("[probe]", "[texts]"), { toolboxes }) });
  bench.ok("create");
  return bench;
};

const page = (id: string, kib = 1_000): string => said(["page", { id, kib }]);

const hitsOf = (bench: Bench): readonly unknown[] =>
  eventsOf(bench, "tool_call_end").flatMap(({ cached, output }) =>
    cached === true ? [String(output).slice(0, 1)] : [],
  );

test("SE-20: the oldest results leave the cache when all together are longer than 4 MiB", async () => {
  const bench = await open(...[..."abcdeaeed"].map((id) => page(id)), done);
  await say(bench, "Go");
  expect(hitsOf(bench)).toEqual(["e", "e", "d"]);
});

test("SE-20: a result of more than 1 MiB is not cached", async () => {
  const bench = await open(page("a", 1_100), page("b", 900), page("a", 1_100), page("b", 900), done);
  await say(bench, "Go");
  expect(hitsOf(bench)).toEqual(["b"]);
});

test("SE-20: reads that a use of the session made void leave the cache before results that still hold", async () => {
  const law = said(["law", { id: "L", kib: 1_000 }]);
  const bench = await open(law, page("a"), page("b"), done, page("c"), page("d"), law, done);
  await say(bench, "Go");
  await bench.pass(1_000);
  await say(bench, "Go on");
  expect(hitsOf(bench)).toEqual(["L"]);
});
