import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Records the sources of a build, so that it is repeated only if they change. */

const root = resolve(import.meta.dirname, "../../..");

/** Lists the files below a folder of the project whose names match, sorted. */
export const filesIn = (folder: string, pattern: RegExp): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => pattern.test(name))
    .toSorted()
    .map((name) => join(folder, name));

/** Builds unless `.limpet/<name>.sha256` matches these files of the project. */
export const buildOnce = async (
  name: string,
  files: readonly string[],
  build: () => void | Promise<void>,
): Promise<void> => {
  const mark = join(root, `.limpet/${name}.sha256`);
  const hash = createHash("sha256");
  for (const file of ["package-lock.json", ...files])
    hash.update(file).update(readFileSync(join(root, file)));
  const known = hash.digest("hex");
  if (existsSync(mark) && readFileSync(mark, "utf8") === known) return;
  await build();
  writeFileSync(mark, known);
};
