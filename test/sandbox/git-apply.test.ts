import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "a patch of a diff, forth and back",
    [
      "echo z >> a.txt; git diff > ../p; git checkout -q .; git apply --check ../p && cat a.txt | wc -l; git apply ../p; git diff --stat; git apply -R ../p; git status -s",
      "cat ../p | git apply; git diff | git apply -R; git status -s; git apply ../p; git add a.txt; git status -s",
      "git apply ../p; git reset -q --hard; git apply --cached ../p; git status -s; git reset -q --hard; cd src; git apply ../../p; git status -s; cd ..",
    ],
    "4\n a.txt | 1 +\n 1 file changed, 1 insertion(+)\nM  a.txt\nMM a.txt\n",
  ],
  [
    "patches written by hand",
    [
      "git apply <<'X'\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\nX",
      "printf -- '--- a.txt\\n+++ a.txt\\n@@ -1,2 +1,2 @@\\n-one\\n+ONE\\n TWO\\n' | git apply -p0 -; cat a.txt",
      "printf -- '--- a/src/x.ts\\n+++ b/src/x.ts\\n@@ -1 +1,2 @@\\n export const x = 1;\\n+// more\\n' > ../q; git apply --whitespace=nowarn ../q; cat src/x.ts",
    ],
    "ONE\nTWO\nthree\nfour\nexport const x = 1;\n// more\n",
  ],
  [
    "a patch whose lines have moved",
    [
      "seq 1 30 > n; git add n; git commit -qm n; sed -i 's/^20$/twenty/' n; git diff > ../p; git checkout -q n; seq -10 30 > n; git apply ../p; grep -n twenty n",
    ],
    "31:twenty\n",
  ],
  [
    "files that come, go and are renamed",
    [
      "seq 1 9 > new; git add new; git rm -q src/x.ts; git mv a.txt b.txt; chmod 755 b.txt; git add .; git diff --cached > ../p; git reset -q --hard",
      "git apply ../p; git status -s; ls; test -x b.txt && echo runs; git apply -R ../p; git status -s",
    ],
    " D a.txt\n D src/x.ts\n?? b.txt\n?? new\nb.txt\nnew\nruns\n",
  ],
  [
    "a file without an end of its last line",
    [
      "printf 'no end' > n; git add n; git commit -qm n; printf 'no end\\nmore' > n; git diff > ../p; git checkout -q n; git apply ../p; cat n; echo; git apply -R ../p; cat n",
    ],
    "no end\nmore\nno end",
  ],
  [
    "patches that do not apply",
    [
      "printf 'garbage\\n' | git apply; git apply --check nope.patch; printf '' | git apply",
      "printf -- '--- a/a.txt\\n+++ b/a.txt\\n@@ -1,3 +1,3 @@\\n one\\n-nothing\\n+TWO\\n three\\n--- a/src/x.ts\\n+++ b/src/x.ts\\n@@ -1 +1 @@\\n-export const x = 1;\\n+x\\n' > ../p; git apply ../p; git apply --check ../p; git status -s",
      "printf -- '--- a/nope\\n+++ b/nope\\n@@ -1 +1 @@\\n-a\\n+b\\n' | git apply; printf -- '--- a/a.txt\\n+++ b/a.txt\\n@@ -1,3 +1,3 @@\\n one\\n' | git apply",
      "printf -- '--- /dev/null\\n+++ b/a.txt\\n@@ -0,0 +1 @@\\n+b\\n' | git apply; printf -- '--- /dev/null\\n+++ b/../out\\n@@ -0,0 +1 @@\\n+b\\n' | git apply; ls ..",
    ],
    "=> 128\n=> 128\np\nshore\n",
  ],
];

test.each(scripts)("TB-17: git applies %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
