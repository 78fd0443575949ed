import { expect, test } from "vitest";
import { openBench } from "../support/bench.ts";
import { childIds, chatOf, delegate, resultsOf } from "../support/crew.ts";
import { indent, replies, said, done } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";

/** Who may call others at all, from YAML to the requests (CF-14, AG-20). */

const provider = (name: string, script: string): string =>
  `  - name: ${name}\n    kind: scripted\n    model: play\n    context_window: 128000\n    script:\n      script: 1\n${indent(script, 6)}`;

const callsOn = (agent: string): string => replies(said(delegate(agent)), done);

const played = async (agents: readonly string[], top = "") => {
  const yaml = [
    "providers:",
    provider("p_lead", callsOn("explorer")),
    provider("p_explorer", callsOn("coder")),
    provider("p_coder", replies(done)),
    "agents:",
    ...agents.map((agent) => `  - ${agent}`),
    top,
  ].join("\n");
  const bench = openBench({ engine: await engineOf(yaml) });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  const offersCalls = (agent: string): boolean =>
    bench.requests.some(
      ({ context, tools }) =>
        context.agent === agent && tools.some(({ name }) => name === "delegate_to_agent"),
    );
  return { bench, offersCalls };
};

const lead = "{ name: lead, provider: p_lead, options: { max_delegation_depth: 2 } }";
const explorer = "{ name: explorer, provider: p_explorer }";
const coder = "{ name: coder, provider: p_coder }";

test("★ AG-20 CF-14: an agent that says nothing of delegation calls nobody, whoever called it", async () => {
  const made = await played([lead, explorer, coder]);
  expect([made.offersCalls("lead"), made.offersCalls("explorer")]).toEqual([true, false]);
  const [child = ""] = childIds(made);
  expect(resultsOf(made, child)).toEqual([
    "denied: depth_exceeded: at depth 1 no further agent may be called; do it yourself",
  ]);
  expect(childIds(made)).toHaveLength(1);
});

test("AG-20 CF-14: with a delegation block, its own or from defaults, it may call down to depth 5", async () => {
  const block = "delegation: { max_concurrent: 2 }";
  for (const [own, top] of [
    [`, ${block}`, ""],
    ["", `defaults: { ${block} }`],
  ]) {
    const made = await played([lead, explorer.replace(" }", `${own} }`), coder], top);
    expect([own, made.offersCalls("explorer")]).toEqual([own, true]);
    expect(childIds(made).map((id) => chatOf(made, id).length > 0)).toEqual([true, true]);
  }
});

test("CF-14: a depth that is written holds, beside a delegation block too", async () => {
  const zero = explorer.replace(" }", ", delegation: {}, options: { max_delegation_depth: 0 } }");
  expect((await played([lead, zero, coder])).offersCalls("explorer")).toBe(false);
});
