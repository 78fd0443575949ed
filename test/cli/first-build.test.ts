import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { awaitFirstBuild } from "../../src/cli/serve/first-build.ts";

/** A build that fails while the team file is not "good", and says what it read. */
const build = `
import { readFileSync } from "node:fs";
const text = readFileSync("config/acme/team.yaml", "utf8");
console.log(text);
process.exitCode = text === "good" ? 0 : 1;
`;

test("CF-30: the first start sees each fix, also of an editor that puts a new file in the old one's place", async () => {
  const root = mkdtempSync(join(tmpdir(), "limpet-first-build-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const folder of ["config/acme", "src/cli"]) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, "src/cli/main.ts"), build);
  const save = (text: string): void => {
    writeFileSync(join(root, "saved"), text);
    renameSync(join(root, "saved"), join(root, "config/acme/team.yaml"));
  };
  const fixes = ["second", "third", "good"];
  let current = "first";
  save(current);
  const told = new Set<string>();
  await awaitFirstBuild(root, "acme", (line) => {
    const [text = ""] = line.split("\n");
    if (text !== current) return;
    told.add(text);
    current = fixes.shift() ?? current;
    save(current);
  });
  expect([...told]).toEqual(["first", "second", "third"]);
});
