import { expect, test } from "vitest";
import { childIds, delegate, member, mission, resultsOf } from "../../support/crew.ts";
import { done, said } from "../../support/scripts.ts";

/** What an effect hides from a caller is not lent to those that it calls (AG-19, EF-7). */

const scope = "effects: [{ kind: tool_scope, params: { exclude: [fire] } }]";
const tries = said(["look", { name: "a" }], ["fire", { name: "b" }]);

test.each([
  ["union", "[]", ["ok: look(a) done", "denied: not_permitted: coder may not use fire"]],
  ["union", "[{ name: probe, tools: [fire] }]", ["ok: look(a) done", "ok: fire(b) done"]],
  ["intersect", "[probe]", ["ok: look(a) done", "denied: not_permitted: coder may not use fire"]],
  ["own", "[probe]", ["ok: look(a) done", "ok: fire(b) done"]],
])(
  "AG-19 EF-7: with inherit %s an agent that has %s gets no tool that its caller's turn hides",
  async (inherit, toolboxes, expected) => {
    const made = await mission([
      member("lead", [said(delegate("coder")), done], `delegation: { inherit: ${inherit} }\n${scope}`),
      member("coder", [tries, done], `toolboxes: ${toolboxes}`),
    ]);
    const [child = ""] = childIds(made);
    expect(resultsOf(made, child)).toEqual(expected);
  },
);

test("AG-19 EF-7: what a caller's caller hid is not lent on, and what one of them has itself is", async () => {
  const lends = "delegation: { inherit: union }";
  const made = await mission([
    member("lead", [said(delegate("coder")), done], `${lends}\n${scope}`),
    member("coder", [said(delegate("writer")), done], `${lends}\ntoolboxes: [{ name: probe, tools: [put] }]`),
    member("writer", [said(["put", {}], ["look", {}], ["fire", {}]), done], "toolboxes: []"),
  ]);
  const [, last = ""] = childIds(made);
  expect(resultsOf(made, last)).toEqual([
    "ok: put() done",
    "ok: look() done",
    "denied: not_permitted: writer may not use fire",
  ]);
});
