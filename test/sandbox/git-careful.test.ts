import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "changes that a failed checkout or commit leaves",
    [
      "echo z >> a.txt; git checkout -f nope; git switch -f nope; git checkout -f -b main; git status -s",
      "echo y >> src/x.ts; git commit -am m a.txt; git commit --amend --no-edit --date=soon; git status -s; git log -1 --format=%s",
    ],
    " M a.txt\n M a.txt\n M src/x.ts\nsecond\n",
  ],
  [
    "files, links and modes that a stash of paths does not name",
    [
      "ln -s a.txt l; chmod 755 src/x.ts; git add .; git commit -qm l; echo z >> a.txt; echo y >> src/x.ts; ln -sf src/x.ts l; echo n > 'n[1]'; git add 'n[1]'",
      "git stash push -qm part a.txt 'n[1]'; git status -s; readlink l; test -x src/x.ts && echo runs; git stash list; git stash pop -q; git status -s",
    ],
    " M l\n M src/x.ts\nsrc/x.ts\nruns\nstash@{0}: On main: part\n M a.txt\n M l\nA  n[1]\n M src/x.ts\n",
  ],
  [
    "a repository in a repository",
    [
      "mkdir -p d/own; git init -q d/own; echo o > o; git clean -fd; ls; git clean -fdq -e d; ls; git clean -ffdq; ls",
    ],
    "a.txt\nd\no\nsrc\na.txt\nd\nsrc\na.txt\nsrc\n",
  ],
  [
    "files outside the repository, and refs that are none",
    [
      "echo s > ../s; ln -s ../s l; printf 'diff --git a/../s b/n\\nsimilarity index 100%%\\nrename from ../s\\nrename to n\\n' | git apply; printf -- '--- a/l\\n+++ b/l\\n@@ -1 +1 @@\\n-s\\n+t\\n' | git apply; cat ../s",
      "git update-ref -d ../a.txt; git symbolic-ref HEAD nope; git symbolic-ref ../r refs/heads/main; git update-ref refs/heads/main HEAD~1 HEAD~1; ls; git log -1 --format=%s",
    ],
    "s\na.txt\nl\nsrc\nsecond\n",
  ],
  [
    "bytes of files that a patch changes",
    [
      "printf 'a\\r\\nb\\r\\n' > c; git add c; git commit -qm c; printf 'a\\r\\nB\\r\\n' > c; git diff > ../p; git checkout -q c; git apply ../p; od -An -c c",
      "printf 'caf\\351\\nb\\n' > l; printf -- '--- a/l\\n+++ b/l\\n@@ -2 +2 @@\\n-b\\n+B\\n' | git apply; od -An -c l",
    ],
    "   a  \\r  \\n   B  \\r  \\n\n   c   a   f 351  \\n   b  \\n\n",
  ],
  [
    "what is ignored, and why; folders and dates",
    [
      "printf 'build/\\n*.o\\n!keep.o\\n' > .gitignore; git check-ignore build build/ x/y.o keep.o; git check-ignore -v x.o; git ls-tree HEAD src src/x.ts; cd src; git ls-tree --name-only HEAD",
      "git for-each-ref --format='%(refname:short) %(committerdate:iso) %(authordate)'; git show-ref -s",
    ],
    "build/\nx/y.o\n.gitignore:2:*.o\tx.o\n100644 blob ad1d380d6cc4dfe69119852d461b7ccd89a19228\tsrc/x.ts\nx.ts\nmain 2026-01-01 00:00:00 +0000 Thu Jan 1 00:00:00 2026 +0000\nac57677102fee555515951cd2f35cd7bb71a6051\n",
  ],
];

test.each(scripts)("TB-17: git keeps %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});

test("TB-17: git refuses what it lacks, and names a way out", async () => {
  const forms = [
    "add -p",
    "add -v .",
    "apply --summary p",
    "branch --unset-upstream",
    "cherry-pick -X theirs x",
    "commit --squash HEAD -m x",
    "diff --compact-summary",
    "log --no-walk",
    "log --format='%<(9)%s'",
    "mv -v a.txt b",
    "push --follow-tags",
    "rebase --root",
    "stash -a",
    "tag -s x",
    "update-ref --stdin",
    "show-ref -d",
    "branch --format='%(nope)'",
    "diff-tree HEAD",
    "ls-tree -l HEAD",
  ];
  const { stdout } = await runGitLines(forms.map((form) => `git ${form} 2>&1`));
  const answers = stdout.replace(/^=> 129\n/gm, "").split("\n");
  expect(answers.slice(0, -1)).toEqual(
    forms.map(() => expect.stringMatching(/^error: .* has no .* here; \S/)),
  );
});
