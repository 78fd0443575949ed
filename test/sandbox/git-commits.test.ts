import { expect, test } from "vitest";
import { runGitLines } from "./git-scripts.ts";
import type { GitScript } from "./git-scripts.ts";

const scripts: readonly GitScript[] = [
  [
    "of paths alone",
    [
      "echo z >> a.txt; echo y >> src/x.ts; git commit -qm 'only a' a.txt; git status -s; git add src; echo q >> a.txt; git commit -m one -- a.txt; git status -s",
      "echo n > n; git commit -m n n; git add n; git commit -q -o -m x src/x.ts; git status -s; echo q >> a.txt; git commit -qi -m all a.txt; git status -s; git log --format=%s -4; git show --stat --format=%s HEAD~1",
    ],
    " M src/x.ts\n[main c897551] one\n 1 file changed, 1 insertion(+)\nM  src/x.ts\nA  n\nall\nx\none\nonly a\nx\n\n src/x.ts | 1 +\n 1 file changed, 1 insertion(+)\n",
  ],
  [
    "by others, at other times",
    [
      "echo z >> a.txt; git commit -qam m --author='Bob B <bob@b>' --date=2025-05-05T12:00:00Z; git log -1 --format='%an <%ae> %aI | %cn'",
      "git commit --amend -q --no-edit --author='Al <al@a>'; git log -1 --format='%an <%ae> %aI %s'; git commit --amend --no-edit --reset-author | head -1 | wc -w; git log -1 --format=%an",
      "git commit --allow-empty -qm x --author=nobody; git commit -q --allow-empty -C HEAD~1; git log -1 --format='%s %an'; git commit --amend -q -m 'other words'; git log -1 --format=%s",
    ],
    "Bob B <bob@b> 2025-05-05T12:00:00+00:00 | Limpet\nAl <al@a> 2025-05-05T12:00:00+00:00 m\n3\nLimpet\nsecond Limpet\nOn branch main\nNo changes\nsecond\n",
  ],
  [
    "with marks and trailers",
    [
      "git commit -q --allow-empty --fixup HEAD; git log -1 --format=%s",
      "git -c user.name=S -c user.email=s@s commit -q --allow-empty -sm signed; git log -1 --format=%B; git commit -q --allow-empty -m 'a title' -m 'Closes: #1' --trailer 'X-Y: z'; git log -1 --format=%B",
      "git commit -q --amend --no-edit --trailer 'X-Y=again'; git log -1 --format=%B; echo z >> a.txt; git commit --dry-run -am x > /dev/null; git commit --dry-run > /dev/null; git status -s",
    ],
    "fixup! second\nsigned\n\nSigned-off-by: S <s@s>\n\na title\n\nCloses: #1\nX-Y: z\n\nOn branch main\nNo changes\na title\n\nCloses: #1\nX-Y: z\n\n M a.txt\n",
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
