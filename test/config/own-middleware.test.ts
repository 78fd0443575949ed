import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineMiddleware } from "../../src/agent/definition/guard.ts";
import { buildFiles } from "../../src/config/build/emit.ts";
import { complaints, compile, team } from "./support.ts";

const signed = defineMiddleware({
  kind: "signed",
  description: "Signs every answer.",
  params: z.strictObject({
    name: z.string().min(1).describe("Who signs."),
    maxLines: z.int().default(3).describe("Lines that need no signature."),
  }),
  finish: (_, { text }, { name }) => ({ text: `${text}\n${name}` }),
});

const extensions = { exports: { middleware: [signed] } };
const entry = (inner: string): string => team({ agent: `    middleware: [${inner}]` });

describe("AG-37 EF-44: middleware of extensions in YAML", () => {
  test("parameters are checked by its own schema, with file, line, column and path", async () => {
    expect(await complaints(entry('{ kind: signed, params: { name: "" } }'), { extensions })).toEqual([
      "config/acme/team.yaml:9:50 error out_of_range agents[0].middleware[0].params.name: the number of characters must be at least 1",
    ]);
    expect(await complaints(entry("{ kind: signed, params: { nam: A } }"), { extensions })).toEqual([
      expect.stringMatching(/error unknown_key .*\n {2}did you mean "name"\? known: name, maxLines/),
    ]);
    expect(await complaints(entry("{ kind: sined }"), { extensions })).toEqual([
      expect.stringMatching(
        /:9:26 error invalid_value agents\[0\]\.middleware\[0\]\.kind: there is no kind "sined"\n {2}did you mean "signed"\?/,
      ),
    ]);
    expect(await complaints(entry("{ kind: signed, params: { name: A } }"))).toEqual([
      expect.stringContaining('error invalid_value agents[0].middleware[0].kind: there is no kind "signed"'),
    ]);
    expect(
      await complaints(entry("{ kind: timeout, params: { duration: 5m, cont: wall } }"), { extensions }),
    ).toEqual([expect.stringContaining("error unknown_key agents[0].middleware[0].params.cont")]);
  });

  test("defaults are filled in, its place among the others stays", async () => {
    const { team: built } = await compile(
      entry("{ kind: logger }, { kind: signed, params: { name: A } }, { kind: recovery }"),
      { extensions },
    );
    expect(built?.agents[0]?.middleware).toEqual([
      { kind: "logger", params: { level: "info", content: false } },
      { kind: "signed", params: { name: "A", maxLines: 3 } },
      { kind: "recovery", params: {} },
    ]);
  });

  test("CF-36: the team's JSON Schema knows it, the product's does not", async () => {
    const schemaOf = async (options: object): Promise<string> =>
      buildFiles(await compile(team(), options), true)?.get("team.schema.json") ?? "";
    expect(await schemaOf({ extensions })).toContain("Lines that need no signature.");
    expect(await schemaOf({ extensions })).toContain("Signs every answer.");
    expect(await schemaOf({})).not.toContain("signed");
  });

  test.each([
    [{ ...signed, kind: "timeout" }, 'name_conflict middleware[0]: there is already middleware "timeout"'],
    [
      { ...signed, kind: "Signed" },
      "extension_invalid middleware[0]: this is not middleware; create it with defineMiddleware",
    ],
    [
      { ...signed, start: 5 },
      "extension_invalid middleware[0]: this is not middleware; create it with defineMiddleware",
    ],
    [
      { kind: "signed", params: signed.params },
      "extension_invalid middleware[0]: this is not middleware; create it with defineMiddleware",
    ],
    [
      { ...signed, params: z.object({}) },
      "extension_invalid middleware[0].params: the middleware signed: params must be a z.strictObject",
    ],
  ])("%# a definition that is none, or takes a known name, is told", async (own, expected) => {
    const found = await complaints(team(), { extensions: { exports: { middleware: [own] } } });
    expect(found).toEqual([`config/acme/extensions.ts:1:1 error ${expected}`]);
  });

  test("a wrong definition is the only finding, also where the team file uses it", async () => {
    const broken = { exports: { middleware: [{ ...signed, params: z.object({}) }] } };
    expect(
      await complaints(entry("{ kind: signed, params: { name: A } }"), { extensions: broken }),
    ).toHaveLength(1);
  });
});
