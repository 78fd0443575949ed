import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "branches",
    [
      "git branch feat/a HEAD~1; git branch feat/b; git branch fix; git branch --list 'feat/*'; git branch -l; git branch --list fix; git branch --format='%(refname:short) %(subject) %(HEAD)'",
      "git branch --contains HEAD; git branch --merged HEAD~1; git branch --no-merged feat/a; git branch -f fix HEAD~1; git branch --points-at HEAD~1; git branch --sort=-refname",
      "git branch -f main HEAD~1; git branch -D fix feat/b; git branch -a; git for-each-ref; git for-each-ref --format='%(refname) %(objecttype)' refs/heads/feat; git for-each-ref --count=1 refs/heads",
    ],
    "  feat/a\n  feat/b\n  feat/a\n  feat/b\n  fix\n* main\n  fix\nfeat/a first  \nfeat/b second  \nfix second  \nmain second *\n  feat/b\n  fix\n* main\n  feat/a\n  feat/b\n  fix\n* main\n  feat/a\n  fix\n* main\n  fix\n  feat/b\n  feat/a\nDeleted branch fix (was e25f962).\nDeleted branch feat/b (was ac57677).\n  feat/a\n* main\ne25f962ded5960ce1101a7767015970523eae24c commit\trefs/heads/feat/a\nac57677102fee555515951cd2f35cd7bb71a6051 commit\trefs/heads/main\nrefs/heads/feat/a commit\ne25f962ded5960ce1101a7767015970523eae24c commit\trefs/heads/feat/a\n",
  ],
  [
    "tags",
    [
      "git tag v1.2 HEAD~1; git tag -a v1.10 -m 'Release 1.10'; git tag v1.9; git tag; git tag -l --sort=-v:refname; git tag -n; git tag -n1 -l 'v1.1*'; git tag --contains HEAD; git tag --points-at HEAD~1",
      "git tag --list 'v1.?'; git tag --format='%(refname:short) %(objecttype)'; git tag -d v1.9 | cut -c1-18; git tag --merged HEAD~1; git describe --tags",
    ],
    "v1.10\nv1.2\nv1.9\nv1.10\nv1.9\nv1.2\nv1.10           Release 1.10\nv1.2            first\nv1.9            second\nv1.10           Release 1.10\nv1.10\nv1.9\nv1.2\nv1.2\nv1.9\nv1.10 tag\nv1.2 commit\nv1.9 commit\nDeleted tag 'v1.9'\nv1.2\nv1.10\n",
  ],
  [
    "objects",
    [
      "git ls-tree HEAD; git ls-tree -r HEAD --name-only; git ls-tree --name-only HEAD src/; git ls-tree -r HEAD src; git ls-tree HEAD:src",
    ],
    "100644 blob f384549cbeb481e437091320de6d1f2e15e11b4a\ta.txt\n040000 tree b0939e4e5435434f2eb0d0ea9d29bd5f5275e261\tsrc\na.txt\nsrc/x.ts\nsrc/x.ts\n100644 blob ad1d380d6cc4dfe69119852d461b7ccd89a19228\tsrc/x.ts\n100644 blob ad1d380d6cc4dfe69119852d461b7ccd89a19228\tx.ts\n",
  ],
  [
    "lists of commits",
    [
      "git rev-list HEAD; git rev-list --count HEAD; git rev-list --max-parents=0 HEAD; git rev-list -n 1 HEAD; git rev-list --count HEAD~1..HEAD; git rev-list --all --count; git rev-list HEAD -- src; git rev-list --count --no-merges HEAD",
      "git merge-base --is-ancestor HEAD~1 HEAD && echo yes; git merge-base --is-ancestor HEAD HEAD~1; git merge-base HEAD HEAD~1",
    ],
    "ac57677102fee555515951cd2f35cd7bb71a6051\ne25f962ded5960ce1101a7767015970523eae24c\n2\ne25f962ded5960ce1101a7767015970523eae24c\nac57677102fee555515951cd2f35cd7bb71a6051\n1\n2\ne25f962ded5960ce1101a7767015970523eae24c\n2\nyes\ne25f962ded5960ce1101a7767015970523eae24c\n",
  ],
  [
    "changes for scripts",
    [
      "git diff-index --quiet HEAD --; echo z >> a.txt; git diff-index --quiet HEAD -- || echo dirty; git diff-files --name-only; git diff-index --name-only HEAD",
    ],
    "dirty\na.txt\na.txt\n",
  ],
  [
    "files that are ignored",
    [
      "printf '*.log\\nbuild/\\n' > .gitignore; mkdir build; touch x.log build/y; git check-ignore x.log build a.txt build/y; git check-ignore -q a.txt; git check-ignore -q x.log && echo ignored",
    ],
    "x.log\nbuild\nbuild/y\nignored\n",
  ],
];

test.each(scripts)("TB-17: git lists %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
