import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineGuard } from "../../src/agent/definition/guard.ts";
import { buildFiles } from "../../src/config/build/emit.ts";
import { complaints, compile, team } from "./support.ts";

const quiet = defineGuard({
  kind: "quiet_hours",
  description: "Refuses calls at night.",
  params: z.strictObject({
    from: z.int().min(0).max(23).describe("Hour."),
    maxCalls: z.int().default(3).describe("Calls that are fine all the same."),
  }),
  before: () => ({ do: "allow" }),
});

const extensions = { exports: { guards: [quiet] } };
const guards = (inner: string): string => team({ agent: `    guards: { ${inner} }` });

describe("EF-44: guards of extensions in YAML", () => {
  test("parameters are checked by the guard's own schema, with file, line, column and path", async () => {
    expect(await complaints(guards("quiet_hours: { from: 24 }"), { extensions })).toEqual([
      "config/acme/team.yaml:9:36 error out_of_range agents[0].guards.quiet_hours.from: the value must be at most 23",
    ]);
    expect(await complaints(guards("quiet_hours: { form: 2 }"), { extensions })).toEqual([
      'config/acme/team.yaml:9:30 error unknown_key agents[0].guards.quiet_hours.form: unknown key "form"\n  did you mean "from"? known: from, maxCalls',
    ]);
    expect(await complaints(guards("quiet_hour: { from: 2 }"), { extensions })).toEqual([
      expect.stringMatching(
        /error unknown_guard agents\[0\]\.guards\.quiet_hour: .*\n {2}did you mean "quiet_hours"\?/,
      ),
    ]);
    expect(await complaints(guards("quiet_hours: { from: 2 }"))).toEqual([
      expect.stringContaining("error unknown_guard"),
    ]);
  });

  test("defaults are filled in, names of parameters stay as they are, false and an absent key switch it off", async () => {
    const of = async (yaml: string): Promise<unknown> =>
      (await compile(yaml, { extensions })).team?.agents[0]?.guards;
    expect(await of(guards("quiet_hours: { from: 2, maxCalls: 5 }"))).toMatchObject({
      quiet_hours: { from: 2, maxCalls: 5 },
    });
    expect(await of(guards("quiet_hours: { from: 2 }"))).toMatchObject({
      quiet_hours: { from: 2, maxCalls: 3 },
    });
    expect(await of(guards("quiet_hours: false"))).toMatchObject({ quiet_hours: false });
    expect(await of(team())).not.toHaveProperty("quiet_hours");
    const merged = team({
      agent: "    guards: { quiet_hours: { maxCalls: 1 } }",
      top: "defaults: { guards: { quiet_hours: { from: 7 } } }",
    });
    expect(await of(merged)).toMatchObject({ quiet_hours: { from: 7, maxCalls: 1 } });
  });

  test("CF-36: the team's JSON Schema knows it, the product's does not", async () => {
    const schemaOf = async (options: object): Promise<string> =>
      buildFiles(await compile(team(), options), true)?.get("team.schema.json") ?? "";
    expect(await schemaOf({ extensions })).toContain("Calls that are fine all the same.");
    expect(await schemaOf({ extensions })).toContain("Refuses calls at night.");
    expect(await schemaOf({})).not.toContain("quiet_hours");
  });

  test.each([
    [{ ...quiet, kind: "tool_loops" }, 'name_conflict guards[0]: there is already a guard "tool_loops"'],
    [{ ...quiet, kind: "budget" }, 'name_conflict guards[0]: there is already a guard "budget"'],
    [
      { ...quiet, kind: "equal_replies" },
      'name_conflict guards[0]: there is already a guard "equal_replies"',
    ],
    [
      { ...quiet, kind: "Quiet" },
      "extension_invalid guards[0]: this is not a guard; create it with defineGuard",
    ],
    [{ ...quiet, before: 1 }, "extension_invalid guards[0]: this is not a guard; create it with defineGuard"],
    [
      { ...quiet, params: z.object({}) },
      "extension_invalid guards[0].params: the guard quiet_hours: params must be a z.strictObject",
    ],
  ])("%# a definition that is none, or takes a known name, is told", async (own, expected) => {
    const found = await complaints(team(), { extensions: { exports: { guards: [own] } } });
    expect(found).toEqual([`config/acme/extensions.ts:1:1 error ${expected}`]);
  });

  test("two of one kind are a conflict", async () => {
    expect(await complaints(team(), { extensions: { exports: { guards: [quiet, quiet] } } })).toEqual([
      expect.stringContaining('error name_conflict guards[1]: there is already a guard "quiet_hours"'),
    ]);
  });

  test("CF-15: the other spelling is for the product's own guards", async () => {
    const { team: built } = await compile(guards("toolLoops: { historySize: 40 }"), { extensions });
    expect(built?.agents[0]?.guards.tool_loops.history_size).toBe(40);
  });
});
