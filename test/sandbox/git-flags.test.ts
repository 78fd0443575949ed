import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "flags in one word, and quiet ones",
    [
      "git checkout -qb x; echo z >> a.txt; git commit -qam m; git log --format=%s",
      'echo y >> a.txt; git stash push -qm kept; git stash list; git stash pop -q; git commit -qam"glued"',
      "mkdir d; touch d/f e; git clean -fd -q; git clean -qfd; git status -s",
      "git switch -qc y; git switch -q -; git branch -qD y; git checkout -qB z HEAD~1; git checkout -q main",
      "git branch; git init -qb trunk sub; git -C sub branch --show-current; git reset -q --hard; git tag -am told t",
    ],
    "m\nsecond\nfirst\nstash@{0}: On x: kept\n* main\n  x\n  z\ntrunk\n",
  ],
  [
    "settings of one call, and no pager",
    [
      "echo z >> a.txt; git -c user.name='A B' -c user.email=y@z commit -qam m; git log -1 --format='%an <%ae>'",
      "git --no-pager log --oneline -1 --format=%s; git -P -c core.pager=cat -c color.ui=never branch",
      "mkdir sub; git -C sub status -s; git -C sub -C .. log -1 --format=%s; git -C nope status",
      "git --git-dir=.git --work-tree=. log -1 --format=%s; echo é > ü; git -c core.quotepath=off status -s",
      "git config core.quotepath false; git status -s",
    ],
    "A B <y@z>\nm\n* main\nm\n=> 128\nm\n?? ü\n?? ü\n",
  ],
  [
    "options that change nothing here",
    [
      "echo z >> a.txt; git commit -n --no-gpg-sign -qam x; git diff -p --no-color --no-ext-diff HEAD~1 -- a.txt | head -1",
      "git log --no-color --topo-order --no-decorate --format=%s -1; git checkout --no-guess -q HEAD~1; git switch --no-progress -q main",
      "git merge --no-edit --no-stat HEAD~1; git status --ahead-behind -s",
    ],
    "diff --git a/a.txt b/a.txt\nx\nAlready up to date.\n",
  ],
];

test.each(scripts)("TB-17: git takes %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
