import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { root, startGroup } from "./support/dev-server.ts";

/** `npm run lint`, a part of `npm test`: it judges the project's own folders, and a team's code for mistakes alone. */

const folder = mkdtempSync(join(tmpdir(), "limpet-lint-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};

const lint = async (): Promise<number | null> =>
  startGroup("npm", ["run", "-s", "lint"], { cwd: folder }).ended;

test("AP-70: what stands beside the project's folders, like a page of one's own, is not judged", async () => {
  for (const file of ["package.json", ".oxlintrc.json", ".oxfmtrc.json", "tsconfig.json"])
    cpSync(join(root, file), join(folder, file));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const own = "export const one = 1;\n";
  for (const room of ["config/acme", "durable-objects", "src", "test"]) write(`${room}/one.ts`, own);
  write("page/talk.mjs", "var  talk = eval ( 'debugger' )\n;;");
  write("config/acme/two.ts", "export const two   =   2;\n");
  expect(await lint()).toBe(0);
  write("src/two.ts", "export const two   =   2;\n");
  expect(await lint()).toBe(1);
  write("src/two.ts", own);
  write("config/acme/two.ts", "export const two = (): void => {\n  debugger;\n};\n");
  expect(await lint()).toBe(1);
});
