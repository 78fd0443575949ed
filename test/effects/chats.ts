import * as fc from "fast-check";
import { human } from "./compaction/support.ts";
import type { Step } from "./compaction/support.ts";

/** Chats of any shape, for properties. */

const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme", maxLength: 200 }));

const call = fc.record({
  tool: fc.constantFrom("fs_read", "exec_run", "search_content", "look"),
  args: fc.constantFrom("{}", '{"path":"a.ts"}', '{"command":"ls"}', "no json"),
  result: text.map((value) => (value === "" ? "(no output)" : value.toWellFormed().replaceAll("\0", " "))),
  status: fc.constantFrom("ok" as const, "ok" as const, "ok" as const, "error" as const, "denied" as const),
  media: fc.boolean(),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ calls: fc.array(call, { minLength: 1, maxLength: 4 }), pinned: fc.boolean() }),
  fc.constant({ say: "So." }),
  fc.constant(human("On")),
);

/** Steps of a chat that begins with a person's input. */
export const stepsArbitrary: fc.Arbitrary<readonly Step[]> = fc
  .array(step, { maxLength: 12 })
  .map((steps) => [human("Go"), ...steps]);
