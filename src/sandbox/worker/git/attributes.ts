import { parseIgnoreFile } from "../search/ignore.ts";
import type { WorkTree } from "./tracked-files.ts";

/** Reads `.gitattributes` for the files that are not to be shown as text. */

interface AttributeRule {
  readonly matches: (path: string) => boolean;
  readonly isBinary: boolean;
}

const binary: Readonly<Record<string, boolean>> = {
  binary: true,
  "-diff": true,
  diff: false,
  "!diff": false,
};

/** Reads one file of attributes, which apply to the paths below its folder ("" is the top). */
function readRules(folder: string, text: string): AttributeRule[] {
  return text.split("\n").flatMap((line) => {
    const [pattern = "", ...attributes] = line.trim().split(/\s+/);
    const isBinary = attributes
      .flatMap((attribute) => binary[attribute.replace(/^(diff)=.*/, "$1")] ?? [])
      .at(-1);
    if (isBinary === undefined || /^[#[]/.test(pattern)) return [];
    return parseIgnoreFile(".", pattern).rules.flatMap(({ matches, negated, foldersOnly }) =>
      negated || foldersOnly
        ? []
        : [{ isBinary, matches: (path) => path.startsWith(folder) && matches(path.slice(folder.length)) }],
    );
  });
}

/** Creates a test of paths: whether a rule calls a file binary. The last matching rule decides. */
export async function readAttributes(
  { fs, workTree, gitDir }: WorkTree,
  paths: readonly string[],
): Promise<(path: string) => boolean> {
  const folders = new Set([""]);
  for (const path of paths)
    for (const { index } of path.matchAll(/\//g)) folders.add(path.slice(0, index + 1));
  const rules: AttributeRule[] = [];
  const readFrom = async (file: string, folder: string): Promise<void> => {
    if (await fs.exists(file)) rules.push(...readRules(folder, await fs.readFile(file).catch(() => "")));
  };
  for (const folder of [...folders].sort()) await readFrom(`${workTree}/${folder}.gitattributes`, folder);
  await readFrom(`${gitDir}/info/attributes`, "");
  return (path) => rules.findLast(({ matches }) => matches(path))?.isBinary ?? false;
}
