import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import type { Completion } from "../../src/model/completer.ts";
import { readAs } from "../support/recordings/outcome.ts";
import { bytesOf, loadRecordings } from "../support/recordings/recording.ts";

/** What a prefix that is taken for an answer must have of the whole one. */
const replyOf = ({ completion: { parts, finish } }: { readonly completion: Completion }) => ({
  parts,
  finish,
});

test.each(loadRecordings())(
  "MO-19 RE-P11: every prefix of $name is the whole answer or a typed error ★",
  async (recording) => {
    const { expect: wanted } = recording;
    const bytes = bytesOf(recording);
    const run = readAs(recording);
    const whole = await run([bytes]);
    const reply = "completion" in whole ? replyOf(whole) : null;
    const typed: readonly string[] = [
      "truncated_stream",
      "protocol_error",
      ...("error" in wanted ? [wanted.error] : []),
    ];
    const misread: number[] = [];
    // Thousands of lengths: an assertion for each would take longer than reading.
    for (let length = 0; length < bytes.byteLength; length++) {
      const outcome = await run([bytes.subarray(0, length)]);
      if ("code" in outcome ? !typed.includes(outcome.code) : !isDeepStrictEqual(replyOf(outcome), reply))
        misread.push(length);
    }
    expect(misread).toEqual([]);
  },
);
