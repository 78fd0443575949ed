import { expect, test } from "vitest";
import { conflict, runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "a stash of some files",
    [
      "echo z >> a.txt; echo y >> src/x.ts; echo n > n; git add n; git stash push -m part -- a.txt; git status -s; git stash list; git stash pop -q; git status -s",
      "git rm -q --cached n; git stash push -q src; git stash show -p; git stash show; git status -s; git stash pop -q; cat src/x.ts | tail -1; git stash push -- nope/ 2> /dev/null | head -1",
    ],
    "Saved working directory and index state On main: part\nA  n\n M src/x.ts\nstash@{0}: On main: part\n M a.txt\nA  n\n M src/x.ts\ndiff --git a/src/x.ts b/src/x.ts\nindex ad1d380..03e267d 100644\n--- a/src/x.ts\n+++ b/src/x.ts\n@@ -1 +1,2 @@\n export const x = 1;\n+y\n src/x.ts | 1 +\n 1 file changed, 1 insertion(+)\n M a.txt\n?? n\ny\n",
  ],
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
    "one side of the conflicts of a merge",
    [
      conflict,
      "git merge -X theirs f -m t > /dev/null; cat a.txt; git log -1 --format='%s %p' | wc -w; git reset -q --hard HEAD~1; git merge -X ours --no-edit f; cat a.txt; git status -s",
    ],
    "one\nF\nthree\nfour\n3\nAuto-merging a.txt\nMerge made by the 'ort' strategy.\none\nM\nthree\nfour\n",
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
