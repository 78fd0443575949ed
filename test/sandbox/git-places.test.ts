import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "where a repository is, and hashes",
    [
      "git rev-parse --show-toplevel; git rev-parse --git-dir; git rev-parse --abbrev-ref HEAD; git rev-parse --short HEAD; git rev-parse --short=10 HEAD; git rev-parse --verify -q nope; git rev-parse nope; git rev-parse --verify --quiet HEAD~1",
      "git rev-parse HEAD:a.txt; git rev-parse HEAD^{tree}; cd src; git rev-parse --git-dir; git rev-parse --show-prefix; git rev-parse --absolute-git-dir; cd ..; git rev-parse --is-inside-work-tree; git rev-parse --git-common-dir",
    ],
    "/workspace/shore\n.git\nmain\nac57677\nac57677102\nnope\ne25f962ded5960ce1101a7767015970523eae24c\nf384549cbeb481e437091320de6d1f2e15e11b4a\n97e5ea305723ba883427086ad03ab2889ed3e6de\n/workspace/shore/.git\nsrc/\n/workspace/shore/.git\ntrue\n.git\n",
  ],
  [
    "files that are listed",
    [
      "echo z >> a.txt; echo n > n; mkdir d; touch d/f d/g; echo '*.o' > .gitignore; touch x.o; git ls-files -m -o --exclude-standard | sort; git ls-files -mo --exclude-standard | wc -l",
      "git ls-files --error-unmatch a.txt; git ls-files --error-unmatch nope; cd src; git ls-files --full-name; git ls-files; cd ..; git ls-files -o; git ls-files -- '*.ts'",
    ],
    ".gitignore\na.txt\nd/f\nd/g\nn\n5\na.txt\nsrc/x.ts\nx.ts\n.gitignore\nd/f\nd/g\nn\nx.o\nsrc/x.ts\n",
  ],
  [
    "settings",
    [
      "git config --global user.name 'G L'; git config --get user.name; git config --local user.email g@l; git config core.bare",
      "git config --add x.y 1; git config --add x.y 2; git config --get-all x.y; git config --unset x.z; git commit -q --allow-empty -m c; git log -1 --format='%an %ae'",
    ],
    "G L\nfalse\n1\n2\nG L g@l\n",
  ],
  [
    "files that move and go",
    [
      "git mv a.txt b.txt; git mv b.txt src/x.ts; git status -s; git mv -f b.txt src/x.ts; git status -s; git rm src/x.ts -f; git status -s; git rm -rq --cached . ; git rm -r src",
    ],
    "R  a.txt -> b.txt\nD  a.txt\nM  src/x.ts\nrm 'src/x.ts'\nD  a.txt\nD  src/x.ts\n=> 128\n",
  ],
  [
    "where HEAD was",
    [
      "git reset -q --hard HEAD~1; git reflog -1; git reflog -n 2 --oneline; git reset -q --hard HEAD@{1}; git log -1 --format=%s; git reflog show main -1",
    ],
    "e25f962 HEAD@{0}: reset: moving to HEAD~1\ne25f962 HEAD@{0}: reset: moving to HEAD~1\nac57677 HEAD@{1}: commit: second\nsecond\nac57677 main@{0}: reset: moving to HEAD@{1}\n",
  ],
];

test.each(scripts)("TB-17: git knows %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
