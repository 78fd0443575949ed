import { expect, test } from "vitest";
import { bench } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

/** The programs that the shell has; what is expected is what those of Debian print. */

const open = () => {
  const workspace = createLocalWorkspace();
  return bench(() => ({ fetch: workspace.fetch }));
};

const scripts: readonly (readonly [what: string, script: string, stdout: string])[] = [
  [
    "copies that sed keeps",
    "echo a > f; sed -i.bak s/a/b/ f; cat f f.bak; sed --in-place=.o s/b/c/ f; ls; sed -ni 1p f; sed -i s/a/b/ no; echo $?",
    "b\na\nf\nf.bak\nf.o\n2\n",
  ],
  [
    "texts that sed adds on one line",
    String.raw`seq 2 > f; sed '1a\text' f; sed '1i\  in' f; sed '2c\#!x' f; sed '$a end' f; echo 's/1/one/' > p.sed; sed -f p.sed f | head -1`,
    "1\ntext\n2\n  in\n1\n2\n1\n#!x\n1\n2\nend\none\n",
  ],
  [
    "ranges of lines in sed, whose end is looked for after their first line",
    String.raw`printf -- '---\na\n---\nb\n' | sed '/^---$/,/^---$/d'; printf '## A\nc\n## B\nd\n' > f; sed -n '/^## A/,/^## /p' f; sed -n '4,2p;2,/c/{s/$/2/p};1,/A/{s/^/1/p}' f; sed '0,/A/d' f | head -n 1; seq 9 | sed -n '/2/,1p;4,+1p;7,/[79]/p'; printf '2\n2\n3\n' | sed -n '/2/,1p'`,
    "b\n## A\nc\n## B\n1## A\nc2\n1c2\n## B2\n1## B2\nd\nd2\n1d2\nc\n2\n4\n5\n7\n8\n9\n2\n2\n",
  ],
  [
    "two equal ranges in sed, and one text for a range",
    String.raw`printf 'a\nx\nb\nc\n' | sed '/a/,/b/s/^/1/;/a/,/b/s/$/2/'; seq 4 | sed '2,3c\new line'; seq 4 | sed '/2/,/3/!c x'; seq 3 | sed '2,3{c x
}'; seq 3 | sed '2,9c\no'; seq 2 | sed '/2/,$c\end'`,
    "1a2\n1x2\n1b2\nc\n1\nnew line\n4\nx\n2\n3\nx\n1\nx\nx\n1\n1\nend\n",
  ],
  [
    "changes of case in sed",
    String.raw`echo hello world | sed -E 's/(\w+) (\w+)/\U\1\E \u\2/'; echo fooBarBaz | sed -E 's/([A-Z])/_\L\1/g'; echo a_b c_d | sed -E 's/_(.)/\U\1/g;s/$/ end/'`,
    "HELLO World\nfoo_bar_baz\naB cD end\n",
  ],
  [
    "names that are asked for with and without links",
    "mkdir d; touch d/f t; ln -s d l; ln -s /etc/passwd o; ln -s nowhere n; rm -f l n; rm o; ls; ls d; ln -s d k; mv k m; readlink m; rm -r m; ls d; rm d; echo $?",
    "d\nt\nf\nd\nf\n1\n",
  ],
  [
    "copies of links, and the options of cp and mv",
    "mkdir d t; echo x > d/f; ln -s f d/l; ln -s /etc/hostname d/out; cp -r d e; cp -a d g; readlink e/l e/out g/l; cp d/l m; cat m; cp -t t d/f m; ls t; cp -pu m t/m; mkdir i; cp -r d/. i; ls i; mv -t d m; ls d; ln -sf f d/l; ln -sf g d/l; readlink d/l; cp d x; echo $?",
    "f\n/etc/hostname\nf\nx\nf\nm\nf\nl\nout\nf\nl\nm\nout\ng\n1\n",
  ],
  [
    "changed environments",
    `env X=1 sh -c 'echo $X'; X=2 sh -c 'echo $X'; export Z=9; env -u Z sh -c 'echo "[$Z]"'; W=1; env A=b | grep -E '^(A|W|Z)='; echo in | env cat`,
    "1\n2\n[]\nZ=9\nA=b\nin\n",
  ],
  [
    "modes and links in lists of files",
    "touch f; chmod +x f; ln -s f l; mkdir d; ls -l | awk 'NR>1 {print $1, $2}'; ls -l l | grep -o 'l -> f'; ls -F; ls -a | head -1; stat -c '%a %A %n %s %F' f; touch -d 1970-01-02 f; stat -c %Y f; stat -c %N l; [ -x f ] && echo x",
    "drwxr-xr-x 2\n-rwxr-xr-x 1\nlrwxrwxrwx 1\nl -> f\nd/\nf*\nl@\n.\n755 -rwxr-xr-x f 0 regular empty file\n86400\n'l' -> 'f'\nx\n",
  ],
  [
    "the first and the last lines",
    "seq 4 > f; head -n -2 f; tail -n +4 f; head -1 f; tail -1 f; tail -qn1 f f; head -c 3 f; head -c -6 f; seq 3 | tail -n2 | head -n1; head no; echo $?; head -n1 f f",
    "1\n2\n4\n1\n4\n4\n4\n1\n21\n2\n1\n==> f <==\n1\n\n==> f <==\n1\n",
  ],
  [
    "patterns for folders",
    "mkdir -p a/s b; touch f; echo */; for d in */; do echo $d; done; ls -d */*/; echo x*/",
    "a/ b/\na/\nb/\na/s/\nx*/\n",
  ],
  [
    "what two files differ in",
    "printf '1\\n2\\n3\\n' > a; printf '1\\nx\\n3\\n4\\n' > b; diff a b; echo $?; diff a a && diff -q a b; mkdir p q; cp a p/f; cp b q/f; touch p/o; diff -rq p q; diff -w <(echo 'a b') <(echo 'a  b') && printf 'a  b\\nc\\n' | diff -uw <(echo 'a b') - | tail -n +3; diff -u a b | tail -n +3; diff -U0 a b | tail -n +3; diff --unified=1 a b | tail -n +3; cmp a b; cmp -s a a && echo same",
    "2c2\n< 2\n---\n> x\n3a4\n> 4\n1\nFiles a and b differ\nFiles p/f and q/f differ\nOnly in p: o\n@@ -1 +1,2 @@\n a b\n+c\n@@ -1,3 +1,4 @@\n 1\n-2\n+x\n 3\n+4\n@@ -2 +2 @@\n-2\n+x\n@@ -3,0 +4 @@\n+4\n@@ -1,3 +1,4 @@\n 1\n-2\n+x\n 3\n+4\na b differ: byte 3, line 2\nsame\n",
  ],
  [
    "options of xargs, cut, sort, grep and seq",
    `seq 4 | xargs -L2 echo; printf '"a b" c\\n' | xargs -n1; seq 2 | xargs -P4 -I{} sh -c 'exit {}'; echo $?; echo a,b,c | cut -d, --complement -f2; echo a:b | cut -d: -f1,2 --output-delimiter=-; printf 'a:3\\nb:1\\n' | sort -nk2 -t:; printf 'b\\nA\\na\\nB\\n' | sort | paste -sd' '; echo x > f; grep -s x f no; echo $?; grep --color=auto -H x f; grep -rn x .`,
    "1 2\n3 4\na b\nc\n123\na,c\na-b\nb:1\na:3\nA B a b\nf:x\n2\nf:x\n./f:1:x\n",
  ],
  [
    "links and folders in find, and shells without a file",
    `mkdir -p d/e; touch d/e/b; ln -s b d/l; find d -type l; find d -type f -execdir echo {} \\;; echo 'c="echo in"; $c' | bash; bash -s x <<< 'echo $1'; bash -n <<< 'if' 2>/dev/null || echo bad; sh -ec 'false; echo no' || echo $?`,
    "d/l\n./b\nin\nx\nbad\n1\n",
  ],
  [
    "lines that are counted, and facts of the machine",
    "printf 'a\\na\\nb\\n' | uniq -c | sort -k1,1n; uname; nproc; id -u; umask; echo x > f; chown $(id -un) f && echo done; grep -lZ '' f no 2>/dev/null | xargs -0",
    "   1 b\n   2 a\nLinux\n1\n1000\n0022\ndone\nf\n",
  ],
  [
    "dates as they are said",
    "date -d '2024-01-31 +1 day' +%F; date -d '2024-01-15 -3 months' +%F; date -d '2024-01-15 + 2 hours' +%T; date -d '15 Jan 2024' +%D; touch -d @86400 f; date -r f +%F; date -Iseconds -d @0; [ $(date -d '3 days ago' +%s) -lt $(date -d yesterday +%s) ] && echo before; date -d nonsense 2>/dev/null || echo bad",
    "2024-02-01\n2023-10-15\n02:00:00\n01/15/24\n1970-01-02\n1970-01-01T00:00:00+00:00\nbefore\nbad\n",
  ],
  [
    "awk with lists, commands and programs in files",
    `printf 'b|2\\na|1\\n' > f; awk -F'|' '{a[NR]=$1} END {print length(a)}' f; awk -F'|' '{print $1 | "sort"} END {print "end"}' f; awk -F'|' -v OFS=: '{$1=$1; print > ("o_" NR)}' f; cat o_1; echo '{print NF}' > p; awk -f p <<< 'a b'; awk 'NR==FNR{k[$0]; next} ($0 in k)' f f | wc -l; awk 'length > 2' <<< abc; awk '{print "e" > "/dev/stderr"}' <<< x 2>&1`,
    "2\nend\na\nb\nb:2\n2\n2\nabc\ne\n",
  ],
  [
    "separators, slashes and formats in awk",
    String.raw`awk 'BEGIN {for (i = split(". | + * ( ? $ ^ \\", c); i; i--) s = s split("a" c[i] "b", p, c[i]) p[2]; print s, split("", p), length(p), split(" a  b ", p, " "), split("a1b2c", p, "[0-9]")}'; echo a/b/c > f; awk '{gsub("/", "_"); print; print match("a/b", "/")}; sub("/b", "x")' f; awk '{sub("/b/", "/")}1' f; awk 'BEGIN {printf "%s\\n|\n", "x"}'; echo a.b > g; awk 'BEGIN {FS = OFS = "."} {$1 = FS; print; print $2}' g; awk -F'|' 'BEGIN {OFS = FS} {print 1, 2}' g; awk -F'\.' '{print $2}' g; awk -F '\t' '{print $2}' <<< $'a\tb'; awk -F'[.]|x' '{print split("1x2.3", q)}' g`,
    "2b2b2b2b2b2b2b2b2b 0 0 2 3\na_b_c\n2\na/c\nx\\n|\n..b\nb\n1|2\nb\nb\n3\n",
  ],
  [
    "jq that indents",
    `jq -c 'del(.a) | del(.b)' <<< '{"a":1,"b":2,"c":3}'; jq -r '.|@csv' <<< '["a",1]'; echo '{"a":"x","b":[1]}' > j; jq --indent 1 -c . j; jq --indent 4 .b j; jq -c keys <<< '{"b":1,"B":2,"a":3}'; grep -o 'x*' j`,
    '{"c":3}\n"a",1\n{"a":"x","b":[1]}\n[\n    1\n]\n["B","a","b"]\nx\n',
  ],
  [
    "bytes that are printed",
    String.raw`printf 'AB\n\377' | od -t x1; printf AB | od -An -c; printf '\0%.0s' $(seq 40) | od -A d -tx1; paste -sd '\n' <<< 'a'`,
    `0000000 41 42 0a ff\n0000004\n   A   B\n0000000${" 00".repeat(16)}\n*\n0000032${" 00".repeat(8)}\n0000040\na\n`,
  ],
  [
    "copies that spare what is there",
    "mkdir a b; echo 1 > a/f; echo 2 > b/f; cp -rn a/. b; cat b/f; cp f no/x; mv a/f no/; cat a/f; mv -T a/f b; cd a; rm -rf .; ls; ln -s . l; cp -rL . ../c; echo $?",
    "2\n1\nf\n1\n",
  ],
  [
    "bytes that are no text",
    String.raw`printf '\xffa\n' > f; sed -i s/a/b/ f; cut -c1-2 f | od -An -tx1; echo é | xargs | cut -c1`,
    " ff 62 0a\né\n",
  ],
  [
    "filters of jq, and values that look like them",
    `jq -c to_entries <<< '[5]'; jq -nc --arg x 'del(.a, .b)' '[$x, "walk(1)"]'; echo '.a|@csv' > p; jq -rf p <<< '{"a":[1,"b"]}'`,
    '[{"key":0,"value":5}]\n["del(.a, .b)","walk(1)"]\n1,"b"\n',
  ],
  [
    "backslashes in what sed and awk put in",
    String.raw`echo 'a.b "q" x&y' > f; sed 's/\./\\./;s/"/\\"/g' f; sed 's/[.]/\\&/;s/x/\\n/' f; sed 's/x/\\U\U&y/' f; v='a/b&c\d'; e=$(printf %s "$v" | sed 's/[&/\]/\\&/g'); echo "$e"; sed "s/x/$e/" f; sed ':a;N;$!ba;s/\n/\\n/g' <<< $'a\nb'; awk '{gsub(/\./,"\\."); gsub(/"/,"\\\""); sub(/&/,"\\&amp;")}1' f`,
    String.raw`a\.b \"q\" x&y
a\.b "q" \n&y
a.b "q" \UXY&y
a\/b\&c\\d
a.b "q" a/b&c\d&y
a\nb
a\.b \"q\" x&amp;y
`,
  ],
  [
    "patterns of sed that begin like commands",
    String.raw`sed 's/a\/b/X/' <<< a/b; sed 's/x/i\&e/;/c\/d/s,c\/d,c\/e,' <<< $'x\nc/d'; sed '/a\.b/d;2,$!s/^/>/' <<< $'a.b\nc\na'; sed -e '/x/a\y' -e '$!i\z' <<< $'x\nw'; sed '/a/{s/x/y/;s/z\/a/q/}' <<< axz/a`,
    "X\ni&e\nc/e\nc\na\nz\nx\ny\nw\nayq\n",
  ],
  [
    "boundaries of words, and backslashes in brackets",
    String.raw`echo 'foo foobar' > f; grep -o '\<foo\>' f; grep -c '\<bar' f; egrep '\<(foobar)\>' f; grep -e '[\<]' -e 'o\>' f; sed 's/\<foo\>/[\<&]/;/\<oo/d' f; sed 's/[\]/|/' <<< 'a\b'; grep -F '\<' f || echo none`,
    "foo\n0\nfoo foobar\nfoo foobar\n[<foo] foobar\na|b\nnone\n",
  ],
  [
    "brackets with backslashes, classes and delimiters",
    String.raw`grep -oE '"([^"\\]|\\.)*"' <<< 'x "a\"b" y'; grep -c '[\\]' <<< 'a\b'; sed 's/[/\\]/_/g;s/[^\\]$/!/' <<< 'a/b\c'; sed 's/[][().*$|\\]/\\&/g' <<< 'a.[c]\d'; sed 's/[[:alpha:]/]/w/g' <<< a/b; grep -qE "[\"'\$\\\\]" <<< "it's" && echo unsafe`,
    String.raw`"a\"b"
1
a_b_!
a\.\[c\]\\d
www
unsafe
`,
  ],
  [
    "texts that sed adds as they are, and what only looks like a command in them",
    String.raw`seq 2 > f; sed '1a const re = /[\\]\<x/; s/a/\\b/' f; sed '1c\a\tb\nc' f; sed '/2/{
i\
 "q\\n"
s/2/two/
}' f; sed 'y/;s/,t/;s_,_\\_;# s/\(a\)\1/x/' <<< 'a;s'`,
    '1\nconst re = /[\\]<x/; s/a/\\b/\n2\na\tb\nc\n2\n1\n "q\\n"\ntwo\na\\t\n',
  ],
  [
    "several expressions of grep",
    String.raw`printf 'a\n-b\nc\n' > f; grep -e a -e c f; grep -cF -e a -e -b f; grep -vE -e '^a' -e '^c' f; grep -o -e '\<a' -e '[-]' f`,
    "a\nc\n2\n-b\na\n-\n",
  ],
  [
    "links in folders, and in place of others",
    `echo a > f; mkdir d e; ln -s ../f d; cat d/f; ln -s f l; ln -s f l || ln -sf d l; readlink l; ln -sfn e l; readlink l; ln -s none w; ln -sf f w; cat w; cd e; ln -sv ../f; ln -s ../f ../d .; ls; cd ..; ln -st d w; ls d; ln -sf f d/f; readlink d/f`,
    "a\nd\ne\na\n'./f' -> '../f'\nd\nf\nf\nw\nf\n",
  ],
  [
    "options with several values, and names of variables in variables",
    `diff -u -L one -L two <(echo a) <(echo b) | head -n 2; mkdir p q; touch p/a p/b p/c; diff -r -x a -x b p q; env -i echo e; v=x; x=1; echo "\${!v}"; printf '2\\n1\\n' | sort -m; echo 'a$&b' | xargs -I% echo %`,
    "--- one\n+++ two\nOnly in p: c\ne\n1\n1\n2\na$&b\n",
  ],
];

test.each(scripts)("TB-29: scripts use %s", async (_, script, stdout) => {
  const outcome = await open().run(script);
  expect(outcome).toMatchObject({ stdout, code: 0 });
});

test("TB-28: printf and echo write bytes", async () => {
  const { run } = open();
  const bytes = async (script: string) => [...(await run(script)).bytes];
  expect(await bytes(String.raw`printf '\xff\376\0\x41é%s' '\xff'`)).toEqual([
    255, 254, 0, 65, 195, 169, 92, 120, 102, 102,
  ]);
  expect(
    await bytes(String.raw`echo -ne '\xff\0101'; printf '%b' '\0377' > f; cat f; printf '\xc3\xa9' | wc -m`),
  ).toEqual([255, 65, 255, 49, 10]);
});

test("TB-29: what programs cannot do is refused", async () => {
  const refused = async (script: string) => (await open().run(script)).stderr;
  expect(await refused("find . -execdir echo {}")).toBe("find: missing argument to '-execdir'\n");
  expect(await refused("seq -f %03g 2; jq -j . f; jq 'del(.a, .b)' f; date -d 'next monday'")).toBe(
    "seq: -f is not supported here; use printf '%03d\\n' $(seq 9)\njq: -j is not supported here; use jq -r and tr -d '\\n'\njq: del takes one path at a time here, as in: del(.a) | del(.b)\ndate: invalid date 'next monday'; write it as 2026-01-31 10:00:00 or 3 days ago\n",
  );
  expect(await refused("shuf f; yes; truncate -s 3 f")).toMatch(
    /^bash: shuf: not in this sandbox: .*\nbash: yes: not in this sandbox: .*\nbash: truncate: not in this sandbox: .*\n$/,
  );
  expect(await refused("ls -i x; diff -B a b; head -n")).toBe(
    "ls: invalid option -- 'i'\ndiff: invalid option -- 'B'\nhead: option requires an argument -- 'n'\n",
  );
  expect(await refused("echo a > f; ln f g; ls g; sed -n 's/a/b/gw o' f; ls o; patch -p1 < f")).toMatch(
    /^ln: hard links .* ln -s, or cp .*\nls: .*\nsed: the flag w .* > file\nls: .*\nbash: patch: .* git apply .*\n$/,
  );
  expect(await refused(String.raw`sed 's/\(.\)\1/x/' f; sed -E '/x/!s/(a)\1/x/' f`)).toMatch(
    /^(sed: \\1 in a pattern is not supported here; .*\n){2}$/,
  );
  expect(await refused(`echo "it's" | xargs`)).toMatch(/^xargs: unmatched quote/);
  expect(await refused(`awk "$(printf 'print %.0s' $(seq 20000))" < /dev/null`)).toMatch(/more than 64 KiB/);
});
