import { expect, test } from "vitest";
import { bench } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

/** Scripts as agents write them; what is expected is what bash of Debian 13 prints. */

const open = () => {
  const workspace = createLocalWorkspace();
  return bench(() => ({ fetch: workspace.fetch }));
};

const scripts: readonly (readonly [what: string, script: string, stdout: string])[] = [
  [
    "options with their values, of xargs and paste",
    `printf 'a\\nb\\n' | xargs -I{} echo '[{}]'; echo 1 2 3 | xargs -n2 echo; printf 'x\\0y\\0' | xargs -0 -n1; seq 3 | paste -sd, ; seq 3 | paste -sd+ -`,
    "[a]\n[b]\n1 2\n3\nx\ny\n1,2,3\n1+2+3\n",
  ],
  [
    "a list of files without empty lines",
    `mkdir d; touch a b d/x; ls a b; ls *.no a 2>/dev/null; ls -d a d | wc -l; ls -1 d a b; ls; ls d`,
    "a\nb\na\n2\na\nb\n\nd:\nx\na\nb\nd\nx\n",
  ],
  [
    "the empty file, as input and as output",
    `set -e; cat < /dev/null; while read l; do echo $l; done < /dev/null; cat /dev/null > f; wc -c < f; echo x > /dev/null; test -e /dev/null; grep x f /dev/null || echo none`,
    "0\nnone\n",
  ],
  [
    "programs where they are looked for",
    `/bin/echo hi; /usr/bin/env bash -c 'echo in'; which ls git | wc -l; [ -x "$(command -v git)" ] && echo x`,
    "hi\nin\n2\nx\n",
  ],
  ["more than 10,000 records of awk", `seq 15000 | awk '{s+=$1} END {print NR, s}'`, "15000 112507500\n"],
  [
    "flags of a shell before its script",
    `bash -ec 'false; echo no'; echo $?; bash -euo pipefail -c 'false | cat; echo no'; echo $?; bash -lc 'echo $0 $1' x y`,
    "1\n1\nx y\n",
  ],
  [
    "folders that are not there, which nothing makes",
    `echo a > no/x; echo $?; echo a >> no/x; echo a | tee no/t; echo $?; echo a | sort -o no/s; { echo a; } > no/y; : 2> no/z; touch no/u; sed -n 'w no/w' <<< a; echo x > /tmp/no/f; echo $?; ls; mkdir d; echo b > d/x; cat d/x 2> /dev/null`,
    "1\na\n1\n1\nb\n",
  ],
  [
    "whole numbers of more than 32 bits",
    `echo $((1 << 40)) $((0xFFFFFFFF & 0xF0F0F0F0F0)) $((4294967296 | 1)) $((3000000000 >> 1)) $((~4294967296)) $((5000000000 ^ 1)) $((-8 >> 1)); x=5000000000; ((x &= 4294967295)); echo $x`,
    "1099511627776 4042322160 4294967297 1500000000 -4294967297 5000000001 -4\n705032704\n",
  ],
  [
    "words like a=b as files and texts of redirections",
    `read -r k <<< a=1; echo "$k"; echo x > a=b; cat < a=b; v=1; cat <<< FOO="$v y"z`,
    "a=1\nx\nFOO=1 yz\n",
  ],
  ["names with line ends in patterns", `echo x > $'a\nb'; cat a*; cat ?*b; rm -f *; ls | wc -l`, "x\nx\n0\n"],
  [
    "files of their own, and where paths lead",
    `t=$(mktemp); echo hi > "$t"; cat "$t"; d=$(mktemp -d); touch "$d/f"; ls "$d"; mkdir w; ln -s w l; touch w/f; realpath l/f l/new | xargs -n1 basename`,
    "hi\nf\nf\nnew\n",
  ],
];

test.each(scripts)("TB-29: scripts use %s", async (_, script, stdout) => {
  const outcome = await open().run(script);
  expect(outcome).toMatchObject({ stdout, code: 0 });
});

test("TB-29: a result that a number cannot hold is an error, not another number", async () => {
  const { run } = open();
  const outcome = await run("echo $((123456789 * 987654321))\necho $?");
  expect(outcome).toMatchObject({ stdout: "1\n", stderr: expect.stringMatching(/beyond 2\^53/) });
});

test("TB-29: flags of the shell that is called itself are set", async () => {
  const { run } = open();
  const argv = (flags: readonly string[]) => ["bash", ...flags, "echo a; false | cat; echo b"];
  expect(await run("", { argv: argv(["-lc"]) })).toMatchObject({ stdout: "a\nb\n", code: 0 });
  expect(await run("", { argv: argv(["-euo", "pipefail", "-c"]) })).toMatchObject({ stdout: "a\n", code: 1 });
});

test("TB-29: a handler that cannot run is said so, and the script goes on", async () => {
  const outcome = await open().run("set -e; trap 'rm -f x' ERR; echo body");
  expect(outcome).toMatchObject({ stdout: "body\n", code: 0 });
  expect(outcome.stderr).toBe("trap: not supported here; the handler for ERR will not run\n");
});
