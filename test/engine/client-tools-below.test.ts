import { expect, test } from "vitest";
import type { Bench } from "../support/bench.ts";
import { childIds, crewYaml, delegate, resultsOf } from "../support/crew.ts";
import { createProbe } from "../support/probe.ts";
import { benchOf } from "./harness.ts";
import { done, replies, said } from "../support/scripts.ts";

/** What of a session's own tools reaches the agents below `main` (AG-19, TB-38). */

const pick = {
  name: "pick_color",
  description: "Lets the person pick a colour.",
  params: { type: "object", properties: {} },
};
interface Opened {
  readonly bench: Bench;
  readonly child: string;
}

/** The lead makes the first move, then its child tries one call. */
const opened = async (
  lead: string,
  { call = "pick_color", coder = "", coders = "", move = delegate("coder"), create = {} } = {},
): Promise<Opened> => {
  const yaml = crewYaml([
    { name: "lead", script: replies(said(move), said([call, {}]), done), yaml: lead },
    {
      name: "coder",
      script: replies(...(coders === "" ? [] : [coders]), said([call, {}]), done),
      yaml: coder,
    },
  ]);
  const extras = { toolboxes: [createProbe().toolbox], names: ["pick_color"] };
  const bench = await benchOf(yaml, extras, { client_tools: [pick], ...create });
  bench.send("Go");
  await bench.idle();
  const [child = ""] = childIds({ bench });
  return { bench, child };
};

const asks = ({ bench }: Opened): readonly string[] =>
  Object.values(bench.state().asks).map(({ kind, thread }) => `${kind} ${thread}`);
const union = "delegation: { inherit: union }";

test("AG-19 TB-38: with union on every edge a client tool works below main", async () => {
  const made = await opened(union);
  expect(asks(made)).toEqual([`client_tool ${made.child}`]);
});

test("AG-19 EF-7: a client tool that an effect hides from main is not lent below it", async () => {
  const scope = "effects: [{ kind: tool_scope, params: { exclude: [pick_color] } }]";
  const made = await opened(`${union}\n${scope}`);
  expect(asks(made)).toEqual([]);
  expect(resultsOf(made, made.child)).toEqual(["denied: not_permitted: coder may not use pick_color"]);
});

test("AG-19 TB-38: a lent client tool obeys the rules of every agent above, the stricter wins", async () => {
  const rules = "rules: [{ tool: pick_color, action: deny, reason: Not by others }]";
  const made = await opened(`${union}\npermissions: { preset: open, ${rules} }`);
  expect(asks(made)).toEqual([]);
  expect(resultsOf(made, made.child)).toEqual([
    "denied: denied: a rule forbids this call (rule deny pick_color): Not by others",
  ]);
});

test("AG-19 TB-38: a client tool outside the session's ceiling is not declared, and refused at dispatch", async () => {
  const yaml = crewYaml([{ name: "lead", script: replies(said(["pick_color", {}], ["look", {}]), done) }]);
  const extras = { toolboxes: [createProbe().toolbox], names: ["pick_color"] };
  const bench = await benchOf(yaml, extras, { tools: ["look"], client_tools: [pick] });
  bench.send("Go");
  await bench.idle();
  expect(bench.requests[0]?.tools.map(({ name }) => name)).toEqual(["look"]);
  expect(resultsOf({ bench })).toEqual([
    "denied: not_permitted: lead may not use pick_color",
    "ok: look() done",
  ]);
  expect(bench.state().asks).toEqual({});
});

test("AP-16: a ceiling that names no tool of this deployment is refused, and says which entry and the nearest name", async () => {
  const bench = await benchOf(crewYaml([{ name: "lead", script: replies(done) }]), {
    toolboxes: [createProbe().toolbox],
  });
  const problemOf = (tools: readonly string[], client_tools: readonly object[] = []): object => {
    const reply = bench.perform("create", { tools, client_tools });
    return reply.ok ? {} : reply.problem;
  };
  const message = 'there is no tool "loook" here; did you mean "look"?';
  expect(problemOf(["fs_read", "loook"])).toEqual({
    code: "invalid_request",
    detail: `/tools/1: ${message}`,
    errors: [{ pointer: "/tools/1", code: "unknown_tool", message }],
  });
  expect(problemOf(["pick_*"])).toMatchObject({ errors: [{ pointer: "/tools/0" }] });
  expect(problemOf(["look", "fs_*", "spawn_agents", "recall", "server__tool", "pick_*"], [pick])).toEqual({});
});

test("AG-19: a child's own tool wins over a client tool of that name, and is declared once", async () => {
  const create = { client_tools: [{ ...pick, name: "look" }] };
  const made = await opened(`${union}\ntoolboxes: []`, { call: "look", create });
  expect(resultsOf(made, made.child)).toEqual(["ok: look() done"]);
  const declared = made.bench.requests.map(({ tools }) => tools.filter(({ name }) => name === "look").length);
  expect(declared).toEqual([1, 1, 1, 1]);
});

const helper = ["spawn_agent", { task: "Pick" }] as const;

test("AG-14 TB-38: a nameless child has the client tools that its caller has, whatever it lends to others", async () => {
  for (const inherit of ["own", "intersect", "union"]) {
    const made = await opened(`delegation: { inherit: ${inherit}, ad_hoc: true }`, { move: helper });
    expect(asks(made)).toEqual([`client_tool ${made.child}`]);
  }
});

test("AG-14 AG-19: the nameless child of an agent that was lent no client tools has none either", async () => {
  const made = await opened("", { coder: "delegation: { ad_hoc: true }", coders: said(helper) });
  const [, nameless = ""] = childIds(made);
  expect(asks(made)).toEqual(["client_tool main"]);
  const denied = "denied: not_permitted: coder may not use pick_color";
  expect(resultsOf(made, nameless).at(-1)).toBe(denied);
  expect(resultsOf(made, made.child).at(-1)).toBe(denied);
});
