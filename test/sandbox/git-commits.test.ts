import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "of paths alone",
    [
      "echo z >> a.txt; echo y >> src/x.ts; git commit -qm 'only a' a.txt; git status -s; git add src; echo q >> a.txt; git commit -m one -- a.txt; git status -s",
      "echo n > n; git commit -m n n; git add n; git commit -q -o -m x src/x.ts; git status -s; git log --format=%s -3; git show --stat --format=%s HEAD",
    ],
    " M src/x.ts\n[main c897551] one\n 1 file changed, 1 insertion(+)\nM  src/x.ts\nA  n\nx\none\nonly a\nx\n\n src/x.ts | 1 +\n 1 file changed, 1 insertion(+)\n",
  ],
  [
    "by others, at other times",
    [
      "echo z >> a.txt; git commit -qam m --author='Bob B <bob@b>' --date=2025-05-05T12:00:00Z; git log -1 --format='%an <%ae> %aI | %cn'",
      "git commit --allow-empty -qm x --author=nobody; git commit --amend -q -m 'other words'; git log -1 --format='%s %an'",
    ],
    "Bob B <bob@b> 2025-05-05T12:00:00+00:00 | Limpet\nother words Bob B\n",
  ],
  [
    "that are signed off",
    [
      "git -c user.name=S -c user.email=s@s commit -q --allow-empty -sm signed; git log -1 --format=%B; git config user.name 'Al B'; git commit -q --allow-empty -s -m a -m b; git log -1 --format=%b",
    ],
    "signed\n\nSigned-off-by: S <s@s>\n\nb\n\nSigned-off-by: Al B <agent@localhost>\n\n",
  ],
  [
    "what is added",
    [
      "echo z > new; echo y >> a.txt; mkdir d; echo 1 > d/f; rm src/x.ts; git add -A d; git status -s; git add -A; git status -s; git add nope",
      "echo z >> a.txt; git add -- a.txt; git status -s",
    ],
    " M a.txt\nA  d/f\n D src/x.ts\n?? new\nM  a.txt\nA  d/f\nA  new\nD  src/x.ts\n=> 128\nM  a.txt\nA  d/f\nA  new\nD  src/x.ts\n",
  ],
];

test.each(scripts)("TB-17: git commits %s", async (_, lines, stdout) => {
  const outcome = await runGitLines(lines);
  expect(outcome.stdout).toBe(stdout);
});
