import { expect, test } from "vitest";
import { otherWords } from "../../src/config/document/other-words.ts";
import { productSchema } from "../../src/config/build/emit.ts";
import { schemasBelow } from "../../src/config/json-schema.ts";
import type { JsonSchema } from "../../src/config/json-schema.ts";
import { complaints, team } from "./support.ts";

/** Who comes from another product writes its words; the build knows which key they mean. */

test("CF-29: a key by which another product calls it is told by ours, and one that nobody knows is not guessed", async () => {
  const hintOf = async (agent: string): Promise<string> =>
    (await complaints(team({ agent: `    ${agent}` }))).join("\n").split("\n  ")[1] ?? "";
  expect(await hintOf("system_prompt: Hi.")).toBe('did you mean "instructions"?');
  expect(await hintOf("tools: [git]")).toBe('did you mean "toolboxes"?');
  expect(await hintOf("max_turns: 9")).toBe('did you mean "options.max_iterations"?');
  expect(await hintOf("instrutions: Hi.")).toBe('did you mean "instructions"?');
  expect(await hintOf("tide: high")).toBe("");
  const [inDefaults] = await complaints(team({ top: "defaults: { system_prompt: Hi. }" }));
  expect(inDefaults, "defaults have no instructions").toMatch(/unknown key "system_prompt"$/);
});

const branchesOf = (schemas: readonly JsonSchema[]): readonly JsonSchema[] =>
  schemas.flatMap((schema) => [schema, ...branchesOf(schema.anyOf ?? schema.oneOf ?? [])]);

const below = (schemas: readonly JsonSchema[], part: string | number): readonly JsonSchema[] =>
  schemasBelow(branchesOf(schemas), part, undefined);

const keysOf = (schemas: readonly JsonSchema[]): readonly string[] =>
  branchesOf(schemas).flatMap(({ properties = {} }) => Object.keys(properties));

test("CF-29: each key that is meant by another word exists, and none of these words is a key itself", () => {
  const root = [JSON.parse(productSchema()) as JsonSchema];
  const places = [root, below(below(root, "providers"), 0), below(below(root, "agents"), 0)];
  const dead = otherWords.flatMap(({ at, byKey }, index) =>
    Object.entries(byKey).flatMap(([meant, words]) => {
      const place = places[index] ?? [];
      const parts = meant.split(".");
      const parent = parts.slice(0, -1).reduce(below, place);
      const isThere = keysOf(parent).includes(parts.at(-1) ?? "");
      const own = words.split(" ").filter((word) => keysOf(place).includes(word));
      return [...(isThere ? [] : [`${at.source} ${meant}`]), ...own.map((word) => `${at.source} ${word}`)];
    }),
  );
  expect(dead).toEqual([]);
});
