import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "where a search looks",
    [
      "git grep -n one src a.txt; git grep -n export src/; git grep -l one a.txt; git grep -c -e two -e three a.txt; git grep -n one HEAD~1; git grep -n one HEAD~1 -- a.txt; cd src; git grep -n const x.ts; cd ..; git grep -n nothing src; git grep -rnI one .",
    ],
    "a.txt:1:one\nsrc/x.ts:1:export const x = 1;\na.txt\na.txt:2\nHEAD~1:a.txt:1:one\nHEAD~1:a.txt:1:one\nx.ts:1:export const x = 1;\na.txt:1:one\n",
  ],
];

test.each(scripts)("TB-17: git finds %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
