import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unavailableParts } from "../../src/config/availability.ts";
import { productSchema } from "../../src/config/build/emit.ts";
import type { JsonSchema } from "../../src/config/json-schema.ts";
import { referencePage } from "../../src/config/explain/reference.ts";

const schema = (): JsonSchema => JSON.parse(productSchema()) as JsonSchema;

test("CF-36: the reference page is the one of the schema (vitest -u writes it anew)", async () => {
  await expect(referencePage(schema())).toMatchFileSnapshot("../../config/reference.md");
});

const keysIn = (schema: unknown): string[] => {
  if (typeof schema !== "object" || schema === null) return [];
  if (Array.isArray(schema)) return schema.flatMap(keysIn);
  const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [] } = schema as JsonSchema;
  const inner = [...Object.values(properties), items, additionalProperties, ...anyOf, ...oneOf];
  return [...Object.keys(properties), ...inner.flatMap(keysIn)];
};

test("CF-36: the page has a row for every key of the schema, and its links lead somewhere", () => {
  const page = referencePage(schema());
  const missing = new Set(keysIn(schema()).filter((key) => !page.includes(`| \`${key}\` |`)));
  expect([...missing]).toEqual([]);
  const anchors = [...page.matchAll(/^## (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
  const links = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = ""]) => anchor);
  expect(links.length).toBeGreaterThan(0);
  expect(links.filter((link) => anchors.filter((anchor) => anchor === link).length !== 1)).toEqual([]);
  expect(page).toMatch(/^\| `max_iterations` \| whole number from 0 .*\| `100` \| .+ \|$/m);
});

test("CF-36: the page says of every key that a build refuses that this release lacks it", () => {
  const page = referencePage(schema());
  for (const key of ["webhooks", "event_days"])
    expect(page, key).toMatch(new RegExp(`^\\| \`${key}\` \\| .* This release cannot .*\\.`, "m"));
  const said = unavailableParts.filter(({ cannot }) => !page.includes(`This release cannot ${cannot}.`));
  expect(said.map(({ path }) => path)).toEqual([]);
  expect(page).not.toMatch(/`max_iterations` .* This release cannot/);
});

test("CF-36: the README links the page", () => {
  expect(readFileSync(join(import.meta.dirname, "../../README.md"), "utf8")).toContain(
    "(config/reference.md)",
  );
});
