import { expect, test } from "vitest";
import { conflict, runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "files by their names",
    [
      "echo z >> a.txt; git checkout -q a.txt; git status -s; echo z >> a.txt; git checkout .; git checkout HEAD~1 a.txt 2> /dev/null; git status -s; git checkout -q HEAD -- .; rm -r src; git checkout -q src; ls src; git checkout -q nope",
    ],
    "M  a.txt\nx.ts\n=> 1\n",
  ],
  [
    "one side of a conflict",
    [
      conflict,
      "git merge -q f; git diff --name-only --diff-filter=U; git diff --name-status --diff-filter=U; git checkout --theirs a.txt 2> /dev/null; cat a.txt; git checkout --ours -- a.txt; git add a.txt; git commit -q --no-edit",
    ],
    "Auto-merging a.txt\nCONFLICT (content): Merge conflict in a.txt\nAutomatic merge failed; fix conflicts and then commit the result.\na.txt\nU\ta.txt\none\nF\nthree\nfour\n",
  ],
];

test.each(scripts)("TB-17: git checks out %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
