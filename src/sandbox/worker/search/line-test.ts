import { RE2JS } from "re2js";
import { fail } from "../errors.ts";
import type { ContentSearch } from "../requests.ts";

/** Most instructions of a compiled pattern, and the most characters of a line that are tested. */
const maxInstructions = 500;

const maxReach = 16 * 1024;

/** Most instructions times characters that one line may cost: about a tenth of a second. */
const maxSteps = 1_000_000;

/** Marks where a line was cut, so that `$` does not match there; only negated character classes match it. */
const cut = "\uFFFF";

/** Tests whether a line matches, in time linear in its length. */
export interface LineTest {
  readonly matches: (line: string) => boolean;
  /** Most steps that a character of a line costs. */
  readonly steps: number;
  /** Characters at the beginning of a line that are tested. */
  readonly reach: number;
}

const remedy = "use smaller repetition counts, search for a part of it, or pass literal: true for plain text";

function refuseSize(instructions: string): never {
  return fail(
    "invalid_request",
    `pattern compiles to ${instructions} instructions, ${maxInstructions} are allowed; ${remedy}`,
  );
}

/** Refuses a pattern whose repetition counts alone make it too long, before it is compiled. */
function checkRepeats(pattern: string): void {
  const counts = pattern.matchAll(/(?<!\\)\{(\d+)(?:,(\d*))?\}/g);
  let sum = 0;
  for (const [, least = "", most = ""] of counts) sum += Number(most === "" ? least : most);
  if (sum > maxInstructions) refuseSize(`more than ${maxInstructions}`);
}

function compile(pattern: string, flags: number): RE2JS {
  checkRepeats(pattern);
  try {
    return RE2JS.compile(pattern, flags);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it cannot be read";
    return fail(
      "invalid_request",
      `pattern is not a valid RE2 expression (${reason}); for plain text pass literal: true`,
    );
  }
}

export function lineTest({ pattern, literal, ignore_case }: ContentSearch): LineTest {
  if (literal) {
    const wanted = ignore_case ? pattern.toLowerCase() : pattern;
    const matches = (line: string): boolean => {
      const looked = line.slice(0, maxReach);
      return (ignore_case ? looked.toLowerCase() : looked).includes(wanted);
    };
    return { matches, steps: 1, reach: maxReach };
  }
  const compiled = compile(pattern, ignore_case ? RE2JS.CASE_INSENSITIVE : 0);
  const steps = compiled.programSize();
  if (steps > maxInstructions) refuseSize(String(steps));
  const reach = Math.min(maxReach, Math.floor(maxSteps / steps));
  const matches = (line: string): boolean =>
    compiled.test(line.length <= reach ? line : line.slice(0, reach) + cut);
  return { matches, steps, reach };
}
