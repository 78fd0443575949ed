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
  [
    "files of no repository",
    [
      "echo 1 > l; echo 2 > r; git diff --no-index l r; git diff --no-index l l && echo same; git diff --no-index --quiet l r; git diff --no-index /dev/null r; git diff --no-index --name-only -- l r; cd ..; mkdir p q; seq 1 9 > p/f; seq 2 9 > q/f; echo n > q/n; git diff --no-index p q; git diff --no-index p/f q/f; git diff --no-index -U0 p/f q/f; git diff --no-index nope p",
    ],
    "diff --git a/l b/r\nindex d00491f..0cfbf08 100644\n--- a/l\n+++ b/r\n@@ -1 +1 @@\n-1\n+2\nsame\ndiff --git a/r b/r\nnew file mode 100644\nindex 0000000..0cfbf08\n--- /dev/null\n+++ b/r\n@@ -0,0 +1 @@\n+2\nr\ndiff --git a/p/f b/q/f\nindex 0719398..5617de6 100644\n--- a/p/f\n+++ b/q/f\n@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\ndiff --git a/q/n b/q/n\nnew file mode 100644\nindex 0000000..8ba3a16\n--- /dev/null\n+++ b/q/n\n@@ -0,0 +1 @@\n+n\ndiff --git a/p/f b/q/f\nindex 0719398..5617de6 100644\n--- a/p/f\n+++ b/q/f\n@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\ndiff --git a/p/f b/q/f\nindex 0719398..5617de6 100644\n--- a/p/f\n+++ b/q/f\n@@ -1 +0,0 @@\n-1\n=> 1\n",
  ],
];

test.each(scripts)("TB-17: git finds %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
