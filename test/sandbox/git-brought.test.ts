import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "a stash and what is staged",
    [
      "echo z >> a.txt; git add a.txt; echo y >> src/x.ts; git stash -q --keep-index; git status -s; git stash drop -q; git reset -q --hard; echo z >> a.txt; git add a.txt; echo y >> src/x.ts; git stash -q; git stash pop -q --index; git status -s",
    ],
    "M  a.txt\nM  a.txt\n M src/x.ts\n",
  ],
  [
    "several commits that are picked or taken back",
    [
      "git checkout -qb f; echo f > f; git add f; git commit -qm f1; echo g > g; git add g; git commit -qm f2; git checkout -q main; git cherry-pick f~1 f > /dev/null; git log --format=%s; git reset -q --hard HEAD~2",
      "git cherry-pick main..f > /dev/null; git log --format=%s; git revert --no-edit HEAD~2..HEAD > /dev/null; git log --format=%s -2; ls; git cherry-pick nope f",
    ],
    'f2\nf1\nsecond\nfirst\nf2\nf1\nsecond\nfirst\nRevert "f1"\nRevert "f2"\na.txt\nsrc\n=> 128\n',
  ],
  [
    "a merge that is left to be committed",
    [
      "git checkout -qb f; echo f > f; git add f; git commit -qm f; git checkout -q main; git merge --no-commit --no-ff f; git status -s; git commit -q --no-edit; git log -1 --format=%s; git log --format=%p -1 | wc -w",
    ],
    "A  f\nMerge branch 'f'\n2\n",
  ],
  [
    "a rebase whose list is left as it is",
    [
      "git checkout -qb f HEAD~1; echo f > f; git add f; git commit -qm f; GIT_SEQUENCE_EDITOR=true git rebase -q -i main; git log --format=%s",
    ],
    "f\nsecond\nfirst\n",
  ],
];

test.each(scripts)("TB-17: git brings along %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
