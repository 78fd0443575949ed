import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cpuOf } from "../support/cpu.ts";
import { createOutputLog } from "../../src/sandbox/worker/shell/output-log.ts";
import { editText } from "../../src/sandbox/worker/files/edit-text.ts";
import { applyHunks, parsePatch } from "../../src/sandbox/worker/files/patch-text.ts";
import { linesOf, unifiedDiff } from "../../src/sandbox/worker/files/unified-diff.ts";

const line = fc.constantFrom("a", "b", "c", "", "long line", "é");
const fileText = fc
  .tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
  .map(([lines, ended]) => (lines.length === 0 ? "" : lines.join("\n") + (ended ? "\n" : "")));

/** Applies a unified diff strictly: every context and removed line must be there. */
function applied(before: string, diff: string): string {
  const old = linesOf(before);
  const result: string[] = [];
  let at = 0;
  for (const part of diff.split(/^(?=@@ )/m).slice(1)) {
    const [header = "", ...body] = linesOf(part);
    const [, start = "0", count = "1"] = /^@@ -(\d+)(?:,(\d+))? /.exec(header) ?? [];
    const first = Number(start) - (count === "0" ? 0 : 1);
    while (at < first) result.push(old[at++] ?? "");
    body.forEach((entry, index) => {
      if (entry.startsWith("\\")) return;
      const cut = body[index + 1]?.startsWith("\\") === true;
      const text = cut ? entry.slice(1, -1) : entry.slice(1);
      if (!entry.startsWith("+")) expect(old[at++]).toBe(text);
      if (!entry.startsWith("-")) result.push(text);
    });
  }
  return [...result, ...old.slice(at)].join("");
}

test("toolboxes §3: property: a diff applied to the first text gives the second", () => {
  fc.assert(
    fc.property(fileText, fileText, (before, after) => {
      const diff = unifiedDiff("a", "b", before, after);
      if (before === after) expect(diff).toBe("");
      else expect(applied(before, diff)).toBe(after);
    }),
    { numRuns: 3000 },
  );
});

test("toolboxes §3: texts that differ wildly still give a right diff, fast", async () => {
  const before = Array.from({ length: 5000 }, (_, index) => `old ${index}\n`).join("");
  const after = Array.from({ length: 5000 }, (_, index) => `new ${index}\n`).join("");
  const took = await cpuOf(() => expect(applied(before, unifiedDiff("a", "b", before, after))).toBe(after));
  expect(took).toBeLessThan(2000);
});

const updateOf = (body: string) => {
  const [file] = parsePatch(`*** Begin Patch\n*** Update File: f\n${body}\n*** End Patch`);
  return file?.kind === "update" ? file.hunks : [];
};
const apply = (text: string, body: string): string => applyHunks("f", text, updateOf(body));

test("TB-14: hunks are located in order, by @@ lines, at the end of the file", () => {
  expect(apply("x\na\ny\na\n", "@@ y\n-a\n+b")).toBe("x\na\ny\nb\n");
  expect(apply("a\nb\na\n", "@@\n-a\n+z\n*** End of File")).toBe("a\nb\nz\n");
  expect(apply("one\n", "@@\n+two")).toBe("one\ntwo\n");
  expect(apply("def f\n  x\ndef g\n  x\n", "@@ def g\n   x\n+  y")).toBe("def f\n  x\ndef g\n  x\n  y\n");
  expect(
    apply("class A\n  def f\n    x\nclass B\n  def f\n    x\n", "@@ class B\n@@   def f\n-    x\n+    y"),
  ).toBe("class A\n  def f\n    x\nclass B\n  def f\n    y\n");
  expect(apply("1\r\n2\r\n", "@@\n 1\n-2\n+two")).toBe("1\r\ntwo\r\n");
  expect(apply("no end", "@@\n-no end\n+still none")).toBe("still none");
  expect(() => apply("a\nb\n", "@@\n-b\n+c\n@@\n-a\n+d")).toThrow(
    /hunk 2 of f fits at line 1, above the end of the hunk before it/,
  );
  expect(() => apply("A\nx\ny\n", "@@ A\n-x\n+X\n@@ A\n-y\n+Y")).toThrow(
    /hunk 2 of f fits at line 3, but its @@ line is above the hunk before it/,
  );
  expect(() => apply("def f\n  x\n", "@@ def g\n-  x\n+  y")).toThrow(
    /hunk 1 of f fits at line 2, but not below a line that reads "def g"/,
  );
  expect(() => apply("one\ntwo\n", "@@\n-  two\n+2")).toThrow(
    /does not fit the file\. The closest line is 2:/,
  );
  expect(apply("one\ntwo\n", "@@\n-two\n+2\n")).toBe("one\n2\n");
  expect(apply("a\n\nb\na\nb\n", "@@\n a\n+x\n")).toBe("a\nx\n\nb\na\nb\n");
  expect(apply("a\n\nb\n", "@@\n+x\n")).toBe("a\nx\n\nb\n");
  expect(() => apply("a\na\n", "@@\n-a\n+b")).toThrow(/fits at lines 1 and 2/);
  expect(() => apply("f\n x\nf\n x\n", "@@ f\n- x\n+ y")).toThrow(/fits at lines 2 and 4/);
});

test("TB-14: a diff in place of a patch is an error that names git apply", () => {
  expect(() => parsePatch("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n")).toThrow(/git apply takes a diff/);
});

test("TB-14: a hunk keeps the ends of the lines around it, and a byte order mark", () => {
  expect(apply("1\r\n2\n3\n", "@@\n 1\n-2\n+two\n 3")).toBe("1\r\ntwo\r\n3\n");
  expect(apply("1\n2\r\n3\n", "@@\n-2\n+two")).toBe("1\ntwo\r\n3\n");
  expect(apply("1\r\n2", "@@\n-2\n+two\n+three")).toBe("1\r\ntwo\r\nthree");
  expect(apply("1\r\n", "@@\n+2")).toBe("1\r\n2\r\n");
  expect(apply("\uFEFFusing A;\nusing B;\n", "@@\n-using A;\n using B;")).toBe("\uFEFFusing B;\n");
  expect(apply("\uFEFFa\n", "@@\n-a")).toBe("\uFEFF");
  expect(apply("a\n", "@@\n-a")).toBe("");
});

test("TB-13: a text is found whatever its lines end with, and what replaces it ends as they do", () => {
  expect(editText("f", "a\r\nb\r\nc\n", "a\nb\n", "A\nB\n")).toBe("A\r\nB\r\nc\n");
  expect(editText("f", "a\r\nb\nc\n", "b\nc", "B\nC")).toBe("a\r\nB\nC\n");
  expect(editText("f", "a(\r\nb\n", "a(\nb", "[$&]")).toBe("[$&]\n");
  expect(editText("f", "x\na\r\nb\n", "a\r\nb", "a\nb")).toBe("x\na\nb\n");
  expect(editText("f", "a\nb\n", "a\r\nb", "a\r\nc")).toBe("a\nc\n");
  expect(editText("f", "\uFEFFa\r\nb\r\n", "a\nb\n", "A\nB\n")).toBe("\uFEFFA\r\nB\r\n");
  expect(() => editText("f", "a\nb\na\r\nb\n", "a\r\nb\r\n", "")).toThrow(/does not occur/);
  expect(() => editText("f", "a\n", "a", "a")).toThrow(/nothing would change/);
});

test("TB-29: of each stream the first and last part are kept, in order, whatever the pieces", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom("stdout", "stderr"), fc.integer({ min: 1, max: 90 })), {
        maxLength: 40,
      }),
      (pieces) => {
        const log = createOutputLog(100);
        const whole = { stdout: "", stderr: "" };
        pieces.forEach(([stream, length], index) => {
          const text = String.fromCharCode(97 + (index % 26)).repeat(length);
          whole[stream] += text;
          log.append(stream, new TextEncoder().encode(text));
        });
        const events = log.after(0);
        expect(events.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq).toSorted((a, b) => a - b));
        for (const stream of ["stdout", "stderr"] as const) {
          const text = events
            .filter((event) => event.stream === stream)
            .map(({ data }) => new TextDecoder().decode(data))
            .join("");
          const [head = "", tail] = text.split(/\n\[\d+ bytes not kept\]\n/);
          if (tail === undefined) expect(head).toBe(whole[stream]);
          else {
            expect([whole[stream].startsWith(head), whole[stream].endsWith(tail)]).toEqual([true, true]);
            expect(head.length).toBeGreaterThan(10);
            expect(Math.max(head.length, tail.length)).toBeLessThanOrEqual(100);
            expect(log.truncated()).toBe(true);
          }
        }
      },
    ),
  );
});

test("TB-28: a reader that got what is dropped later is not told that it missed it", () => {
  const log = createOutputLog(100);
  const print = (): void => log.append("stdout", new TextEncoder().encode("x".repeat(250)));
  print();
  const first = log.after(0);
  print();
  const rest = log.after(log.last() - 10);
  const text = (events: typeof first): string =>
    events.map(({ data }) => new TextDecoder().decode(data)).join("");
  const shown = (text(first) + text(rest)).match(/x/g)?.length ?? 0;
  const missed = [...(text(first) + text(rest)).matchAll(/(\d+) bytes omitted/g)].map(([, count]) =>
    Number(count),
  );
  expect(shown + missed.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(500);
  expect(text(rest)).toMatch(/\n\[300 bytes not kept\]\n/);
});

test("TB-14: a patch of many equal lines, of many hunks, or of many new lines is applied at once", async () => {
  const blank = "\n".repeat(80_000);
  const misfit = () => apply(blank, `${" \n".repeat(20_000)}-x\n+y`);
  expect(await cpuOf(() => expect(misfit).toThrow(/does not fit the file/))).toBeLessThan(3000);
  const numbers = Array.from({ length: 20_000 }, (_, at) => `l${at}\n`);
  const hunks = numbers.filter((_, at) => at % 10 === 0).map((each) => `@@\n-${each}+m\n`);
  const took = await cpuOf(() => {
    const changed = numbers.map((each, at) => (at % 10 === 0 ? "m\n" : each));
    expect(apply(numbers.join(""), hunks.join("").trim()) === changed.join("")).toBe(true);
  });
  expect(took).toBeLessThan(3000);
  expect(apply("a\nb\n", ` a\n${"+new\n".repeat(200_000).trim()}`).length).toBe(4 + 4 * 200_000);
});

test("TB-13: an edit finds a long text whose line ends differ in places", () => {
  const text = `a\n${"\n".repeat(60_000)}\r\nx\r\n`;
  expect(editText("f", text, `${"\n".repeat(20_000)}x`, "y")).toBe(`a\n${"\n".repeat(40_001)}y\r\n`);
});
