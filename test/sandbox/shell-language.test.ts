import { expect, test } from "vitest";
import { bench } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

/** The language of the shell itself; what is expected is what bash of Debian prints. */

const open = () => {
  const workspace = createLocalWorkspace();
  return bench(() => ({ fetch: workspace.fetch }));
};

type Case = readonly [what: string, script: string, stdout: string, code?: number];

const spared = "set -e; f() { false; echo in; };";

const scripts: readonly Case[] = [
  [
    "set -e left of ||",
    `${spared} f || echo no; { false; echo g; } || echo no; (false; echo s) || echo no`,
    "in\ng\ns\n",
  ],
  [
    "set -e left of &&",
    `${spared} f && echo yes; g() { return 4; }; g && :; echo $?; g; echo no`,
    "in\nyes\n4\n",
    4,
  ],
  [
    "set -e in conditions",
    `${spared} if f; then echo y; fi; while f; do break; done; until f; do :; done`,
    "in\ny\nin\nin\n",
  ],
  [
    "set -e after !",
    `${spared} ! f; echo on; echo x | { false; echo p; } || echo n; f; echo no`,
    "in\non\np\n",
    1,
  ],
  [
    "set -e and substitutions",
    `set -e; x=$(false; echo s) || :; echo "$x" $(false; echo t); x=$(set +e; true); x=$(false); echo no`,
    "s t\n",
    1,
  ],
  [
    "the status of assignments",
    "false; x=1; echo $?; x=$(false); echo $?; set -e; false || y=$?; echo $y",
    "0\n1\n1\n",
  ],
  [
    "commands in variables",
    `touch a b; cmd="ls -a"; $cmd; c='printf %s\\n'; $c "a b" c; X=; $X echo empty; $(echo echo sub) x; \${UNSET:-echo} d`,
    ".\n..\na\nb\na b\nc\nempty\nsub x\nd\n",
  ],
  [
    "commands in lists",
    `arr=(echo "a  b"); "\${arr[@]}" c; \${arr[@]} d; run() { "$@"; }; run echo "x  y"; run false || echo bad; set -- echo p; $*; "$@"`,
    "a  b c\na b d\nx  y\nbad\np\np\n",
  ],
  [
    "the status of jobs",
    `(exit 3) & wait $!; echo $?; false & p=$!; true & wait; wait $p; echo $?; case $p in *[!0-9]*|"") echo no;; *) echo id;; esac; jobs; wait 99; echo $?`,
    "3\n1\nid\n127\n",
  ],
  [
    "many jobs",
    `set -e; pids=(); for i in 1 2 3; do (echo $i; exit $i) & pids+=($!); done; for p in "\${pids[@]}"; do wait "$p" || echo "failed $?"; done; printf 'a\\nb\\n' | while read -r l; do cat & wait; echo $l; done; (false; echo no) & wait $! || echo e`,
    "1\n2\n3\nfailed 1\nfailed 2\nfailed 3\na\nb\ne\n",
  ],
  [
    "a handler of the end",
    `t=$(mktemp); trap 'echo "end $?"; rm -f "$t"' EXIT; set -e; echo body; false; echo no`,
    "body\nend 1\n",
    1,
  ],
  [
    "a function as handler",
    `done_() { echo "status $?"; }; trap done_ EXIT INT TERM; read -r l; echo "$l"; exit 3`,
    "in\nstatus 3\n",
    3,
  ],
  [
    "handlers of subshells and files",
    `(trap 'echo sub' EXIT; exit 2); echo $?; printf 'trap "echo file" EXIT\\nexit 4\\n' > s.sh; chmod +x s.sh; ./s.sh || echo $?; trap 'echo no' EXIT; trap - EXIT; trap 'x' INT`,
    "sub\n2\nfile\n4\n",
  ],
  [
    "commands in arithmetic",
    "f() { echo 5; }; x=3; mkdir d; cd d; touch q; echo $(($(f) + x)) $(($(ls | wc -l) + 0)); ((y = $(f) + 1)); v=1.5; echo $y $((${v%.*} + 1)) $((${none:-$(f)} * 2))",
    "8 1\n6 2 10\n",
  ],
  [
    "what is not in a set",
    `n() { case $1 in ''|*[!0-9]*) echo no;; *) echo yes;; esac; }; n 12; n 1x; n ""; [[ ab == *[!0-9]* ]] && echo m`,
    "yes\nno\nno\nm\n",
  ],
  [
    "defaults after set -u",
    `set -u; trap 'echo end' EXIT; : "\${V:=d}"; echo "$V"; unset V; echo "\${V-u}" "\${V:+x}"; set --; echo "\${@:-none}" "\${1:-one}"; a=(1 2); printf '[%s]' "\${a[@]:-x}"; echo "$NOT"`,
    "d\nu \nnone one\n[1][2]end\n",
    1,
  ],
  [
    "loops without an end before head",
    `while :; do echo y; done | head -n 2; echo $?; i=0; until false; do i=$((i + 1)); echo $i; done | head -3 | tail -1; for ((;;)); do echo c >&2; echo c; done 2> e | head -n1; wc -l < e; (while true; do printf 'a\nb\n'; [ -e e ] || break; done) | head -1; while read -r l; do echo "$l"; done | head -n 5`,
    "y\ny\n0\n3\nc\n1\na\nin\n",
  ],
  [
    "shifts in arithmetic commands",
    `x=1; ((x <<= 3)); ((y=x<<1)); echo $x $y; for ((i=1;i<20;i<<=2)); do echo $i; done; if (( (1 << 2) == 4 )); then echo eq; fi; ((x<=8)) && cat <<END\n((1<<2))\nEND\n((q = 1 <<\n2)); echo $q`,
    "8 16\n1\n4\n16\neq\n((1<<2))\n4\n",
  ],
  [
    "calculations that fail, which end their line",
    `n=0; echo a; avg=$((10/n)); echo "avg $avg"\necho $? $((10 % n)) || echo or; echo no\neval 'echo $((1/0)); echo no'; (echo $((1/0)); echo no); echo b $?\necho $((7/n)); echo c`,
    "a\nb 1\n",
    1,
  ],
  [
    "calculations that fail in members of pipelines and in headers of loops, which end these alone",
    `echo a; echo $((1/0)) | cat; echo b $?; echo $((1/0)) | cat && echo c; echo x | echo $((1/0)) || echo "d \${PIPESTATUS[*]}"; for ((i=0;i<1/0;i++)); do :; done; echo after $?; for ((i=0;i<1;i+=1/0)); do echo in; done && echo no || echo or; f() { for ((i=1/0;;)); do :; done; echo f $?; }; f; echo $((1/0)); echo no\necho end`,
    "a\nb 0\nc\nd 0 1\nafter 1\nin\nor\nf 1\nend\n",
  ],
  [
    "empty inputs, which are not those around them",
    `seq 3 > f; : > e; while read -r x; do cat < /dev/null; wc -l < e; grep q < <(true); mapfile -t l < <(grep none f); read -r y < e; echo "$x \${#l[@]} [$y]"; done < f; g() { cat; }; { g < /dev/null; cat; } < f | head -n 1`,
    "0\n1 0 []\n0\n2 0 []\n0\n3 0 []\n1\n",
  ],
  [
    "loops over the words that a script or function is given",
    `set -- "a b" c; for x; do echo "<$x>"; done; f() { for y do echo "[$y]"; done; }; f "1 2" 3; f; for z in; do echo no; done`,
    "<a b>\n<c>\n[1 2]\n[3]\n",
  ],
  [
    "brackets with quotes in patterns",
    `s=$'a\nb\r\nc'; echo "\${s//[$'\r\n']/,}"; t='x-y]"z"^'; echo "\${t//["-]"]/_}" \${t//[\\"]/q} "\${t//[^$'y'x]/.}" "\${t%%[$'-']*}" "\${t//[$'x']-}"`,
    'a,b,,c\nx_y_"z"^ x-y]qzq^ x.y..... x y]"z"^\n',
  ],
  [
    "options of mapfile in one word",
    `printf 'a\0b\0' > z; readarray -td '' x < z; readarray -d, -t y <<< 1,2,3; mapfile -tn1 n < <(seq 3); mapfile -t -s1 s < <(seq 3); mapfile -d$'\n' -t e < <(seq 2); echo \${#x[@]} \${#y[@]} \${n[@]} \${s[@]} \${#e[@]}`,
    "2 3 1 2 3 2\n",
  ],
  [
    "files that are run",
    `x=5; set -e; printf '#!/bin/bash\\nfalse\\nc="echo s"\\n$c "[$x]" "$1" $0\\nexit 3\\n' > s.sh; chmod +x s.sh; ./s.sh "a  b" || echo $?`,
    "s [] a  b ./s.sh\n3\n",
  ],
];

const cases = scripts.map(([what, script, stdout, code = 0]) => ({ what, script, stdout, code }));

test.each(cases)("TB-29: scripts use $what", async ({ script, stdout, code }) => {
  const outcome = await open().run(script, { stdin: "in\n" });
  expect({ stdout: outcome.stdout, code: outcome.code }).toEqual({ stdout, code });
});

test("TB-29: a program that is not there is said so, with what to use instead", async () => {
  const outcome = await open().run(
    "command -v python3 || echo none; python3 -c 1 2> e; echo $?; cat e; no-such; tar c .",
  );
  expect(outcome.stdout).toBe(
    "none\n127\nbash: python3: not in this sandbox: no language runs here but the shell; use sh, awk, sed and jq instead\n",
  );
  expect(outcome.stderr).toMatch(
    /^bash: no-such: command not found\nbash: tar: not in this sandbox: no command makes or opens archives /,
  );
});
