import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");
const ruleId = /\b(?:AG|AP|CF|EF|MO|RE|SE|TB)-[A-Z]?\d+\b/g;

const filesOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter(
      (name) => /\.(ts|md|toml)$/.test(name) && !name.includes("node_modules") && !name.includes(".wrangler"),
    )
    .map((name) => join(folder, name));

const idsIn = (file: string): string[] => readFileSync(join(root, file), "utf8").match(ruleId) ?? [];

test("every rule that a test names is said in rules.md, once", () => {
  const said = [
    ...readFileSync(join(root, "test/rules.md"), "utf8").matchAll(/^- \*\*([A-Z]+-[A-Z]?\d+)\*\* \S/gm),
  ].map(([, id]) => id ?? "");
  const named = new Set(
    filesOf("test")
      .filter((file) => file !== "test/rules.md")
      .flatMap(idsIn),
  );
  expect([...named].filter((id) => !said.includes(id))).toEqual([]);
  expect(said.filter((id, at) => said.indexOf(id) !== at)).toEqual([]);
});

test("source speaks for itself: no rule ids in it", () => {
  const found = ["src", "durable-objects"].flatMap((folder) =>
    filesOf(folder).flatMap((file) => idsIn(file).map((id) => `${file}: ${id}`)),
  );
  expect(found).toEqual([]);
});
