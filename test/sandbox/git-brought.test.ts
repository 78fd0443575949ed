import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "a stash that is named where commits are",
    [
      "echo z >> a.txt; git stash -q; git show --stat --format=%s stash@{0}; git diff --stat stash@{0}; git log -1 --format=%s stash@{0}~1; git show --format= stash@{0}; git checkout -q stash@{0} -- a.txt; git status -s; git stash show -p | tail -1",
    ],
    "WIP on main: ac57677 second\n\n a.txt | 1 +\n 1 file changed, 1 insertion(+)\n a.txt | 1 -\n 1 file changed, 1 deletion(-)\nsecond\n\ndiff --cc a.txt\nindex f384549,f384549..4f8096b\n--- a/a.txt\n+++ b/a.txt\n@@@ -2,3 -2,3 +2,4 @@@ one\n  two\n  three\n  four\n++z\nM  a.txt\n+z\n",
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
    "commits of another branch by a rebase",
    [
      "git checkout -qb f HEAD~1; echo f > f; git add f; git commit -qm f; git rebase -q main; git log --format=%s; git status -s",
    ],
    "f\nsecond\nfirst\n",
  ],
];

test.each(scripts)("TB-17: git brings along %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
