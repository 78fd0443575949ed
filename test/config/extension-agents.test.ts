import { expect, test } from "vitest";
import { explainAgent } from "../../src/config/explain/explain.ts";
import { compile, team } from "./support.ts";

/** Agents of extensions.ts join those of the team file (AG-1). */

const extended = (agents: unknown) => ({ extensions: { exports: { agents } } });

test("AG-1: an agent of the extensions is one like any other, with the team's defaults", async () => {
  const yaml = team({ top: "defaults: { prefix: '🦾', delegation: { inherit: own } }" });
  const { team: built, diagnostics } = await compile(
    yaml,
    extended([
      { name: "scout", description: "Looks around", toolboxes: ["search"], options: { max_iterations: 7 } },
    ]),
  );
  expect(diagnostics).toEqual([]);
  const scout = built?.agents.find(({ name }) => name === "scout");
  expect(scout).toMatchObject({
    description: "Looks around",
    prefix: "🦾",
    toolboxes: [{ name: "ask" }, { name: "search" }],
    options: { max_iterations: 7, max_delegation_depth: 5 },
  });
  expect(built?.agents[0]?.name).not.toBe("scout");
});

test("AG-1: a name twice, whatever its case, and everything else that is wrong is said with the file", async () => {
  const said = async (agents: unknown): Promise<readonly string[]> => {
    const { diagnostics } = await compile(team(), extended(agents));
    return diagnostics.map(({ file, code }) => `${file.split("/").at(-1)} ${code}`);
  };
  const [own = ""] = (await compile(team())).team?.agents.map(({ name }) => name) ?? [];
  expect(await said([{ name: own.toUpperCase() }])).toEqual(["extensions.ts duplicate_name"]);
  expect(await said([{ name: "scout", toolboxes: ["serch"] }])).toEqual(["extensions.ts unknown_toolbox"]);
  expect(await said([{ name: "scout", toolbox: [] }])).toEqual(["extensions.ts unknown_key"]);
  expect(await said([{ name: "scout", run: () => 1 }])).toEqual(["extensions.ts extension_invalid"]);
  expect(await said(["scout"])).toEqual(["extensions.ts extension_invalid"]);
  expect(await said({ name: "scout" })).toEqual(["extensions.ts extension_invalid"]);
  expect(await said([{ name: "scout", delegation: { may_call: ["nobody"] } }])).toEqual([
    "extensions.ts unknown_agent",
  ]);
});

test("AG-1: explain says that a value stands in the extensions", async () => {
  const { team: built, draft } = await compile(
    team(),
    extended([{ name: "scout", options: { max_iterations: 7 } }]),
  );
  if (built === null || draft === null) throw new Error("the team has errors");
  const rows = explainAgent(draft, built, "scout", [], 0);
  expect(rows.find(({ key }) => key === "max_iterations")).toMatchObject({
    value: 7,
    origin: "extensions.ts",
  });
  expect(rows.find(({ key }) => key === "max_handoffs")).toMatchObject({ origin: "default" });
});
