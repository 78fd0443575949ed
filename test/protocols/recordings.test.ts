import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Completion } from "../../src/model/completer.ts";
import { readAs } from "../support/recordings/outcome.ts";
import { recordingFiles } from "../support/recordings/generate.ts";
import { bytesOf, loadRecordings, recordingsFolder } from "../support/recordings/recording.ts";
import type { ExpectedPart } from "../support/recordings/recording.ts";

const recordings = loadRecordings();

const told = ({ parts }: Completion): readonly ExpectedPart[] =>
  parts.map((part): ExpectedPart => {
    const data = "opaque" in part ? part.opaque?.data : undefined;
    if (part.type === "reasoning")
      return data === undefined ? ["reasoning", part.text] : ["reasoning", part.text, data];
    if (part.type === "tool_call")
      return data === undefined ? ["call", part.name, part.args] : ["call", part.name, part.args, data];
    if (part.type === "text") return ["text", part.text];
    throw new Error(`a ${part.type} in a reply`);
  });

test("MO-24: the recordings on disk are what their generator writes, and there are at least 40", () => {
  const files = recordingFiles();
  expect(readdirSync(recordingsFolder).toSorted()).toEqual([...files.keys()].toSorted());
  for (const [name, text] of files) expect(readFileSync(join(recordingsFolder, name), "utf8")).toBe(text);
  expect(files.size).toBeGreaterThanOrEqual(40);
});

describe.each(recordings.map((recording) => [recording.name, recording] as const))("%s", (_, recording) => {
  const { expect: wanted } = recording;
  const bytes = bytesOf(recording);

  test("MO-13 MO-15: the whole stream gives what its author expects", async () => {
    const outcome = await readAs(recording)([bytes]);
    if ("error" in wanted) return expect(outcome).toEqual({ code: wanted.error });
    if ("code" in outcome) throw new Error(outcome.code);
    const { completion } = outcome;
    expect({ finish: completion.finish, parts: told(completion) }).toEqual({
      finish: wanted.finish,
      parts: wanted.parts,
    });
    if (wanted.usage === undefined) return undefined;
    const { input, output, cacheRead, cacheWrite, total } = completion.usage;
    return expect([input, output, cacheRead, cacheWrite, total]).toEqual(wanted.usage);
  });

  test("MO-20: any chunking, line end and byte order mark give the same outcome", async () => {
    const run = readAs(recording);
    const whole = await run([bytes]);
    const cut = (all: Uint8Array, size: number): Uint8Array[] =>
      Array.from({ length: Math.ceil(all.byteLength / size) }, (__, n) =>
        all.subarray(n * size, (n + 1) * size),
      );
    const text = Buffer.from(bytes).toString("utf8").replaceAll("\r\n", "\n");
    const forms = ["\n", "\r\n", "\r"].flatMap((lineEnd) =>
      ["", "\uFEFF"].map((mark) => Buffer.from(mark + text.replaceAll("\n", lineEnd))),
    );
    for (const form of forms) {
      for (const size of [1, 2, 3, 7, 64]) expect(await run(cut(form, size))).toEqual(whole);
    }
    const cuts = fc.uniqueArray(fc.integer({ min: 0, max: bytes.byteLength }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(cuts, async (at) => {
        const edges = [0, ...at.toSorted((a, b) => a - b), bytes.byteLength];
        const chunks = edges.slice(1).map((edge, n) => bytes.subarray(edges[n], edge));
        expect(await run(chunks)).toEqual(whole);
      }),
      { numRuns: 30 },
    );
  });
});
