import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "changes that a failed checkout or commit leaves",
    [
      "echo z >> a.txt; git checkout -f main; git switch -f main; git checkout nope; git status -s",
      "echo y >> src/x.ts; git commit -am m a.txt; git commit --amend --no-edit --date=soon; git status -s; git log -1 --format=%s",
    ],
    " M a.txt\n M a.txt\n M src/x.ts\nsecond\n",
  ],
  [
    "a repository in a repository",
    [
      "mkdir -p d/own; git init -q d/own; echo o > o; git clean -fd; ls; git clean -fdq -e d; ls; git clean -ffdq; ls",
    ],
    "a.txt\nd\no\nsrc\na.txt\nd\nsrc\na.txt\nsrc\n",
  ],
  [
    "files outside the repository",
    [
      "echo s > ../s; ln -s ../s l; printf 'diff --git a/../s b/n\\nsimilarity index 100%%\\nrename from ../s\\nrename to n\\n' | git apply; printf -- '--- a/l\\n+++ b/l\\n@@ -1 +1 @@\\n-s\\n+t\\n' | git apply; cat ../s",
    ],
    "s\n",
  ],
  [
    "bytes of files that a patch changes",
    [
      "printf 'a\\r\\nb\\r\\n' > c; git add c; git commit -qm c; printf 'a\\r\\nB\\r\\n' > c; git diff > ../p; git checkout -q c; git apply ../p; od -An -c c",
      "printf 'caf\\351\\nb\\n' > l; printf -- '--- a/l\\n+++ b/l\\n@@ -2 +2 @@\\n-b\\n+B\\n' | git apply; od -An -c l",
    ],
    "   a  \\r  \\n   B  \\r  \\n\n   c   a   f 351  \\n   B  \\n\n",
  ],
  [
    "a byte order mark, in files and before a patch",
    [
      "printf '\\357\\273\\277a\\nb\\nc\\n' > m; git add m; git commit -qm m; git show HEAD:m | od -An -c; git checkout -qb f; printf '\\357\\273\\277A\\nb\\nc\\n' > m; git diff > ../p; git commit -qam A; git checkout -q main; printf '\\357\\273\\277a\\nb\\nC\\n' > m; git commit -qam C; git merge -q f -m M > /dev/null; od -An -c m",
      "git reset -q --hard HEAD~2; (printf '\\357\\273\\277'; cat ../p) | git apply; od -An -c m; printf '\\357\\273\\277--- a/a.txt\\n+++ b/a.txt\\n@@ -4 +4 @@\\n-four\\n+4\\n' | git apply; tail -1 a.txt",
    ],
    " 357 273 277   a  \\n   b  \\n   c  \\n\n 357 273 277   A  \\n   b  \\n   C  \\n\n 357 273 277   A  \\n   b  \\n   c  \\n\n4\n",
  ],
  [
    "what is ignored, and why; folders and dates",
    [
      "printf 'build/\\n*.o\\n!keep.o\\n' > .gitignore; git check-ignore build build/ x/y.o keep.o; git check-ignore -v x.o; git ls-tree HEAD src src/x.ts; cd src; git ls-tree --name-only HEAD",
      "git for-each-ref --format='%(refname:short) %(committerdate:iso) %(authordate)'",
    ],
    "build/\nx/y.o\n.gitignore:2:*.o\tx.o\n100644 blob ad1d380d6cc4dfe69119852d461b7ccd89a19228\tsrc/x.ts\nx.ts\nmain 2026-01-01 00:00:00 +0000 Thu Jan 1 00:00:00 2026 +0000\n",
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
    "apply --stat p",
    "apply --3way p",
    "apply --directory=src p",
    "apply --index p",
    "branch --unset-upstream",
    "checkout -f main",
    "checkout --track origin/x",
    "cherry-pick -X theirs x",
    "commit --fixup HEAD",
    "commit -C HEAD~1",
    "commit --dry-run",
    "commit --amend --no-edit --reset-author",
    "commit --amend --no-edit --author='A <a@b>'",
    "commit --amend --no-edit -s",
    "commit -m x --trailer y=z",
    "config --get-regexp user",
    "diff --compact-summary",
    "diff --no-index a.txt src/x.ts",
    "diff --summary",
    "diff -w",
    "diff --diff-filter=M",
    "log --no-walk",
    "log HEAD ^HEAD~1",
    "log HEAD --not HEAD~1",
    "log --format='%<(9)%s'",
    "ls-files -o --directory",
    "merge -X theirs x",
    "mv -v a.txt b",
    "push --follow-tags",
    "rebase -i HEAD~1",
    "rebase --root",
    "rm --ignore-unmatch nope",
    "stash -a",
    "stash --keep-index",
    "stash pop --index",
    "stash push -m x src",
    "stash push -- src",
    "status --porcelain=v2",
    "status -z",
    "switch --discard-changes main",
    "tag -s x",
    "branch --format='%(nope)'",
    "ls-tree -l HEAD",
  ];
  const { stdout } = await runGitLines(forms.map((form) => `git ${form} 2>&1`));
  const answers = stdout.replace(/^=> 129\n/gm, "").split("\n");
  expect(answers.slice(0, -1)).toEqual(
    forms.map(() => expect.stringMatching(/^error: .* has no .* here; \S/)),
  );
});

test("TB-17: git blame refuses a file with changes, and shows it as it was committed", async () => {
  const { stdout } = await runGitLines([
    "git blame -L1,1 a.txt | cut -c1; echo five >> a.txt; git blame a.txt 2>&1; git blame -L 1,2 -- a.txt 2>&1",
    "git blame HEAD -- a.txt | wc -l; git blame -L 1,2 HEAD a.txt | wc -l; git blame src/x.ts | wc -l",
  ]);
  const refusal =
    "error: git blame has no lines that are not committed here; a.txt has changes: git blame HEAD -- a.txt shows it without them\n";
  expect(stdout).toBe(`^\n${refusal}${refusal}=> 129\n4\n2\n1\n`);
});

test("TB-17: git refuses names of settings that every object has", async () => {
  const { stdout } = await runGitLines([
    "git config user.__proto__ x 2>&1",
    "git config --get constructor.x 2>&1",
    "git config user.name constructor; git config user.name",
  ]);
  expect(stdout).toBe(
    "error: invalid key: user.__proto__\n=> 1\nerror: invalid key: constructor.x\n=> 1\nconstructor\n",
  );
});

test("TB-17: git names a way out where it lacks a command", async () => {
  const names = [
    "show-ref",
    "symbolic-ref",
    "update-ref",
    "cat-file",
    "hash-object",
    "diff-tree",
    "worktree",
  ];
  const { stdout } = await runGitLines(names.map((name) => `git ${name} HEAD 2>&1`));
  expect(
    stdout
      .replace(/^=> 1\n/gm, "")
      .trimEnd()
      .split("\n"),
  ).toEqual(names.map((name) => expect.stringMatching(`^git: '${name}' is not a command of this git; \\S`)));
});
