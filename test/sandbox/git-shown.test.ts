import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "a diff that only says whether there is one",
    [
      "git diff --exit-code; git diff --quiet && echo clean; echo z >> a.txt",
      "git diff --quiet || echo dirty; git diff --cached --quiet && echo none; git diff --exit-code --stat",
      "git add .; git diff --cached --exit-code > /dev/null || echo staged; git diff --quiet HEAD -- src && echo same",
    ],
    "clean\ndirty\nnone\n a.txt | 1 +\n 1 file changed, 1 insertion(+)\n=> 1\nstaged\nsame\n",
  ],
  [
    "the forms and filters of a diff",
    [
      "echo z >> a.txt; echo n > n; git add n; rm src/x.ts",
      "git diff --stat HEAD; git diff --name-only --diff-filter=d HEAD; git diff --cached --name-status --diff-filter=AM",
      "git diff --name-only --diff-filter=ACM HEAD -- '*.txt'; git diff HEAD~1 --stat -p -- a.txt; git diff HEAD^! --numstat",
      "git diff -s HEAD; git diff --name-only -z HEAD | wc -c; printf 'x \\n' >> a.txt; git diff --check; git diff --cached --check",
    ],
    " a.txt    | 1 +\n n        | 1 +\n src/x.ts | 1 -\n 3 files changed, 2 insertions(+), 1 deletion(-)\na.txt\nn\nA\tn\na.txt\n a.txt | 2 ++\n 1 file changed, 2 insertions(+)\n\ndiff --git a/a.txt b/a.txt\nindex 4cb29ea..4f8096b 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,5 @@\n one\n two\n three\n+four\n+z\n1\t0\ta.txt\n17\na.txt:6: trailing whitespace.\n+x \n",
  ],
  [
    "a rename in a diff",
    [
      "seq 1 50 > long; mkdir -p d/e; seq 2 40 > d/e/f; git add .; git commit -qm long; git mv long long2; git mv d/e/f d/g; chmod 755 a.txt; git add .",
      "git diff --cached --name-status --diff-filter=R",
    ],
    "R100\td/e/f\td/g\nR100\tlong\tlong2\n",
  ],
  [
    "a status of some files, or of all",
    [
      "echo z >> a.txt; mkdir d; touch d/f d/g; git mv src/x.ts src/y.ts; echo '*.log' > .gitignore; mkdir b; touch x.log b/y.log",
      "git status -uall; git status -s -uall; git status -su; git status --porcelain=v1 -uno; git status -sb -- src",
      "git status -s d/f; git status -s --ignored; git status --ignored . | tail -8; git status --porcelain -uno",
      "git status --untracked-files=no; git add a.txt; git status -uno | tail -3",
    ],
    'On branch main\nChanges to be committed:\n  (use "git restore --staged <file>..." to unstage)\n\trenamed:    src/x.ts -> src/y.ts\n\nChanges not staged for commit:\n  (use "git add <file>..." to update what will be committed)\n  (use "git restore <file>..." to discard changes in working directory)\n\tmodified:   a.txt\n\nUntracked files:\n  (use "git add <file>..." to include in what will be committed)\n\t.gitignore\n\td/f\n\td/g\n\n M a.txt\nR  src/x.ts -> src/y.ts\n?? .gitignore\n?? d/f\n?? d/g\n M a.txt\nR  src/x.ts -> src/y.ts\n?? .gitignore\n?? d/f\n?? d/g\n M a.txt\nR  src/x.ts -> src/y.ts\n## main\nR  src/x.ts -> src/y.ts\n?? d/f\n M a.txt\nR  src/x.ts -> src/y.ts\n?? .gitignore\n?? d/\n!! b/\n!! x.log\n\t.gitignore\n\td/\n\nIgnored files:\n  (use "git add -f <file>..." to include in what will be committed)\n\tb/\n\tx.log\n\n M a.txt\nR  src/x.ts -> src/y.ts\nOn branch main\nChanges to be committed:\n  (use "git restore --staged <file>..." to unstage)\n\trenamed:    src/x.ts -> src/y.ts\n\nChanges not staged for commit:\n  (use "git add <file>..." to update what will be committed)\n  (use "git restore <file>..." to discard changes in working directory)\n\tmodified:   a.txt\n\nUntracked files not listed (use -u option to show untracked files)\n\trenamed:    src/x.ts -> src/y.ts\n\nUntracked files not listed (use -u option to show untracked files)\n',
  ],
  [
    "the last form of a log, and fields",
    [
      "git log --oneline --format=%s; git log --format=%s --oneline; git log --pretty=format:'%h %s'; echo .",
      "git log -1 --format='%C(yellow)%h%C(reset)%x09%aN|%s|%as %cI'; git log -1 --date=format:'%Y/%m/%d' --format=%ad",
      "git log --abbrev-commit -1; git log --pretty=oneline --abbrev-commit -1; git log --format=reference -1; git log --name-only --format=",
    ],
    "second\nfirst\nac57677 second\ne25f962 first\nac57677 second\ne25f962 first.\nac57677\tLimpet|second|2026-01-01 2026-01-01T00:00:00+00:00\n2026/01/01\ncommit ac57677\nAuthor: Limpet <agent@localhost>\nDate:   Thu Jan 1 00:00:00 2026 +0000\n\n    second\nac57677 second\nac57677 (second, 2026-01-01)\na.txt\na.txt\nsrc/x.ts\n",
  ],
  [
    "commits that a log picks",
    [
      "git commit -q --allow-empty -m 'Fix BUG-1'; git checkout -qb f; git commit -q --allow-empty -m f; git checkout -q main; git commit -q --allow-empty -m m; git merge -q --no-ff f",
      "git log --grep=bug -i --format=%s; git log --invert-grep --grep=BUG --format=%s -2; git log --merges --format=%s; git log --no-merges --format=%s -n 2 | sort",
      "git log -S'export' --format=%s; git log -G'^four' --oneline; git log --diff-filter=A --name-only --format=%s",
      "git log --format=%s HEAD~2..HEAD~1; git log --format=%s --branches -1; git log --since='10 years ago' --format=%s | wc -l",
      "git log --since='1 week ago' --format=%s | wc -l; git log --format=%s --reverse --no-merges --skip=1 -n 2 | wc -l",
    ],
    "Fix BUG-1\nMerge branch 'f'\nm\nMerge branch 'f'\nf\nm\nfirst\nac57677 second\nfirst\n\na.txt\nsrc/x.ts\nm\nf\n6\n0\n2\n",
  ],
  [
    "a log of paths",
    [
      "git mv a.txt b.txt; git commit -qm rename; git log --follow --format=%s -- b.txt; git log --follow --format=%s b.txt",
      "git log --oneline b.txt | wc -l; cd src; git log --format=%s -- x.ts; git log --format=%s -- .; cd ..",
    ],
    "rename\nsecond\nfirst\nrename\nsecond\nfirst\n1\nfirst\nfirst\n",
  ],
  [
    "objects that are shown",
    [
      "git show -s --format=%s; git show --stat --oneline; git show --oneline HEAD -- a.txt; git show --name-only --format= HEAD; git show --no-patch --format=%s HEAD~1 HEAD",
      "git show HEAD:src; git show HEAD^{tree}; cd src; git show HEAD:./x.ts; cd ..; git show HEAD~1:a.txt; git show HEAD:nope",
      "git tag -a v1 -m told; git show v1 --stat; git show --pretty=format:%h --no-patch; echo .; git show -q --format=%an",
    ],
    "second\nac57677 second\n a.txt | 1 +\n 1 file changed, 1 insertion(+)\nac57677 second\ndiff --git a/a.txt b/a.txt\nindex 4cb29ea..f384549 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n two\n three\n+four\na.txt\nfirst\nsecond\ntree HEAD:src\n\nx.ts\ntree HEAD^{tree}\n\na.txt\nsrc/\nexport const x = 1;\none\ntwo\nthree\n=> 128\ntag v1\nTagger: Limpet <agent@localhost>\nDate:   Thu Jan 1 00:00:00 2026 +0000\n\ntold\n\ncommit ac57677102fee555515951cd2f35cd7bb71a6051\nAuthor: Limpet <agent@localhost>\nDate:   Thu Jan 1 00:00:00 2026 +0000\n\n    second\n\n a.txt | 1 +\n 1 file changed, 1 insertion(+)\nac57677.\nLimpet\n",
  ],
  [
    "a merge that is shown",
    [
      "git checkout -qb f; echo f > f; git add f; git commit -qm f; git checkout -q main; git merge -q --no-ff --no-edit f; git show --stat; git show --format=%s",
    ],
    "commit bdb88eb0a6064097cab766e5e46a8ce891e02cc0\nMerge: ac57677 df8b527\nAuthor: Limpet <agent@localhost>\nDate:   Thu Jan 1 00:00:00 2026 +0000\n\n    Merge branch 'f'\n\n f | 1 +\n 1 file changed, 1 insertion(+)\nMerge branch 'f'\n\n",
  ],
];

test.each(scripts)("TB-17: git shows %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
