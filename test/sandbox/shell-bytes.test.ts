import { Buffer } from "node:buffer";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { byteText } from "../../src/sandbox/worker/byte-text.ts";
import { bench, never } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

/** What a script reads and writes stays what it is: characters beyond ASCII, and bytes that are no text. */

const open = () => {
  const workspace = createLocalWorkspace();
  return bench(() => ({ fetch: workspace.fetch }));
};

/** Bytes of which some are no UTF-8, with a line end, a NUL and a byte order mark. */
const image = Uint8Array.from([0xef, 0xbb, 0xbf, 0x89, 0x50, 0xc3, 0xa9, 0x0a, 0xe9, 0x00, 0xff, 0xc3, 0x0a]);

const lines = "é→ 😀\nb ü\n";

test.each([
  ["by read", 'while read -r line; do echo "$line" >> copy; done < lines'],
  ["by read in a pipeline", 'cat lines | while IFS= read -r line; do echo "$line"; done > copy'],
  ["by read of a word", '{ read -r a b; read -r c; } < lines; printf "%s %s\\n%s\\n" "$a" "$b" "$c" > copy'],
  ["by read of so many characters", "read -r -N 99 all < lines; printf '%s' \"$all\" > copy"],
  ["by mapfile", "mapfile -t all < lines; printf '%s\\n' \"${all[@]}\" > copy"],
  ["from a descriptor", 'while read -r -u 3 line; do echo "$line"; done 3< lines > copy'],
  ["by exec", "exec 3< lines; cat <&3 > copy"],
  ["where it is also written", "cp lines copy; exec 3<> copy; read -r -u 3 line; echo 'b ü' >&3"],
  ["of a here-document", 'while read -r line; do echo "$line"; done 4<<E <&4 > copy\n$(cat lines)\nE'],
  ["of a here-string", 'read -r -d "" all <<< "$(cat lines)"; echo "$all" > copy'],
  ["as errors", "{ cat lines >&2; } 2> copy"],
  ["as errors of a shell", "sh -c 'cat lines >&2' 2> copy"],
  ["with errors", "{ cat lines no-ü; } 2>&1 | grep -v '^cat: no-ü: ' > copy"],
])("TB-29: characters stay what they are when a script takes lines %s", async (_, script) => {
  const { run, put, text } = open();
  await put("lines", lines);
  expect(await run(script)).toMatchObject({ reason: "exited", stderr: "" });
  expect(await text("copy")).toBe(lines);
});

test("TB-29: a script compares, counts and prints the characters that it has read", async () => {
  const { run } = open();
  const script = `read -r x <<< é→; [ "$x" = é→ ] && echo "\${#x} \${x:1}"; sh -c 'echo Ã©' > f; cat f; echo x | xargs -I{} echo Ã¼`;
  expect(await run(script)).toMatchObject({ stdout: "2 →\nÃ©\nÃ¼\n", stderr: "", code: 0 });
});

test.each([
  "{ cat image; } > copy",
  "(cat image) > copy",
  "for f in image; do cat $f; done > copy",
  "show() { cat image; }; show > copy",
  "if true; then cat image; fi > copy",
  "sh -c 'cat image' > copy",
  "find image -exec cat {} \\; > copy",
  "timeout 5 cat image > copy",
  "{ head -c 4 image; tail -c +5 image; } > copy",
  "{ cat image; } > /tmp/copy; cat /tmp/copy > copy",
  "cp image copy; sed -i 's/Q/q/' copy",
  "sed -n p image > copy",
  "awk '{ print }' image > copy",
  "cat image | tee copy > /dev/null",
  "git init -q; git add image; git commit -qm image; git show HEAD:image > copy",
])("TB-29: bytes that are no text stay what they are in: %s", async (script) => {
  const { run, put, sandbox } = open();
  await put("image", image);
  expect(await run(script)).toMatchObject({ stderr: "", code: 0 });
  expect(Buffer.from(await sandbox.read("copy"))).toEqual(Buffer.from(image));
});

test("TB-29: git merges and applies changes of files whose bytes are no text", async () => {
  const { run } = open();
  const script = String.raw`git init -q; printf 'a\xe9\n1\n2\n3\nb\n' > f; git add f; git commit -qm a; git checkout -qb other
printf 'a\xe9\n1\n2\n3\nB\xe8\n' > f; git commit -qam b; git checkout -q -; sed -i 's/a/A/' f; git commit -qam A; git merge -q --no-edit other
git diff HEAD^ > p; od -An -tx1 f; git checkout -q HEAD^ -- f; git apply p; od -An -tx1 f`;
  const bytes = " 41 e9 0a 31 0a 32 0a 33 0a 42 e8 0a\n";
  expect(await run(script)).toMatchObject({ stdout: bytes + bytes, stderr: "", code: 0 });
});

test("TB-17: an answer of git is text even if the files are not", async () => {
  const { run, sandbox } = open();
  await run(
    String.raw`git init -q; printf 'caf\xe9\n' > f; git add f; git commit -qm a; printf '\xe8\n' >> f`,
  );
  const diff = await sandbox.git("diff", {}, { signal: never });
  expect(diff).toContain("+\ufffd\n");
  expect(diff.isWellFormed()).toBe(true);
});

test("TB-29: any bytes become a text and the same bytes again, and any UTF-8 the text that it is", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(byteText.encode(byteText.decode(bytes))).toEqual(Uint8Array.from(bytes));
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const whole = text.toWellFormed();
      expect(byteText.decode(new TextEncoder().encode(whole))).toBe(whole);
      const stray = Uint8Array.from([...new TextEncoder().encode(whole), 0xff]);
      expect(byteText.decode(stray)).toBe(`${whole}\udcff`);
    }),
  );
});
