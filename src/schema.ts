import * as z from "zod";

/**
 * Value types of the YAML that all section schemas share.
 * A message may begin with a diagnostic code and a colon ("invalid_duration: …"): the loader takes the code from there.
 */

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const durationText = /^(\d+(\.\d+)?(ms|s|m|h|d))+$/;
const durationHelp = 'write a duration with its unit, like "30s", "10m" or "1h30m"';

/** Parses a duration text to milliseconds; null if it is none. */
export const parseDuration = (text: string): number | null => {
  if (text.length > 64 || !durationText.test(text)) return null;
  const pieces = text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g);
  const total = [...pieces].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ""] ?? 0),
    0,
  );
  return Number.isSafeInteger(Math.round(total)) ? Math.round(total) : null;
};

/** A duration text that becomes milliseconds, between `min` and `max` (also texts). */
export const duration = (bounds: { readonly min?: string; readonly max?: string } = {}) =>
  z
    .string({ error: `invalid_duration: ${durationHelp}` })
    .regex(durationText, `invalid_duration: ${durationHelp}`)
    .transform((text, context) => {
      const value = parseDuration(text);
      const fail = (message: string): never => {
        context.addIssue({ code: "custom", message });
        return z.NEVER;
      };
      if (value === null) return fail("out_of_range: this duration is too long");
      if (bounds.min !== undefined && value < (parseDuration(bounds.min) ?? 0)) {
        return fail(`out_of_range: the shortest duration here is ${bounds.min}`);
      }
      if (bounds.max !== undefined && value > (parseDuration(bounds.max) ?? Infinity)) {
        return fail(`out_of_range: the longest duration here is ${bounds.max}`);
      }
      return value;
    });

const sizeUnits: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const sizeText = /^(\d{1,9})(KiB|MiB|GiB)$/;

/** A size in bytes, or a text in KiB, MiB or GiB, that becomes bytes. */
export const size = () =>
  z.union([
    z.int().min(0),
    z
      .string()
      .regex(sizeText, 'invalid_value: write a size in bytes, or like "512KiB", "32MiB", "1GiB"')
      .transform((text) => {
        const [, count, unit] = sizeText.exec(text) ?? [];
        return Number(count) * (sizeUnits[unit ?? ""] ?? 1);
      }),
  ]);

/** Counts the code points of a text. */
const characters = (text: string): number => [...text].length;

/** A text of `min` to `max` code points. */
export const text = (max: number, min = 0) =>
  z
    .string()
    .refine((value) => characters(value) <= max, {
      error: ({ input }) =>
        `out_of_range: ${characters(String(input))} characters, at most ${max} are allowed here`,
    })
    .refine((value) => characters(value) >= min && (min === 0 || value.trim() !== ""), {
      error: "out_of_range: this text must not be empty",
    })
    .meta({ maxLength: max, ...(min > 0 ? { minLength: min } : {}) });

/** The pattern of names in a team file: of providers, agents, tools, skills and the like. */
export const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** The name of a provider, agent or MCP server. */
export const name = () =>
  z
    .string()
    .regex(
      namePattern,
      "invalid_value: a name starts with a letter and has up to 64 letters, digits, - and _",
    );

/** A share of 1; 0 is allowed only with `zero`. */
export const fraction = (options: { readonly zero?: boolean } = {}) =>
  options.zero === true ? z.number().min(0).max(1) : z.number().gt(0).max(1);

/** A whole number of at least `min` (0) and at most `max`. */
export const count = (min = 0, max = Number.MAX_SAFE_INTEGER) => z.int().min(min).max(max);

/** `off`, or a value; `off` becomes null. */
export const orOff = <T extends z.ZodType>(schema: T) =>
  z.union([z.literal("off").transform(() => null), schema]);

const withoutPrototype = <T>(map: Record<string, T>): Record<string, T> =>
  Object.assign(Object.create(null) as Record<string, T>, map);

/** A map with free keys; it becomes an object without prototype, so that a lookup finds only what was written. */
export const mapOf = <T extends z.ZodType>(value: T) =>
  z.record(z.string(), value).transform((map) => withoutPrototype<z.output<T>>(map));

const headerProblem = (name: string, value: string, forbidden: readonly string[]): string | null => {
  if (forbidden.includes(name.toLowerCase())) return "this header cannot be set here";
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return "this is no header name";
  return /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value.trim())
    ? null
    : "a header has no line breaks and no characters beyond Latin-1 in its value";
};

/** Headers of requests but for the forbidden ones, in small letters; `${NAME}` references are resolved at use. */
export const headersOf = (forbidden: readonly string[]) =>
  mapOf(z.string()).superRefine((headers, context) => {
    for (const [name, value] of Object.entries(headers)) {
      const problem = headerProblem(name, value, forbidden);
      if (problem !== null)
        context.addIssue({ code: "custom", path: [name], message: `invalid_value: ${problem}` });
    }
  });

/** The same type with everything in it read-only, as in a compiled team. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

const braces = /[{}]/;

/** Why an entry of `writable_paths` is no valid glob (plain, or with one `**` as a whole segment); null if it is. */
export const globProblem = (glob: string): string | null => {
  if (glob.trim() === "") return "an empty entry allows nothing; remove it";
  if (glob.startsWith("/") || glob.startsWith("~")) return "write a path relative to the workspace";
  if (glob.split("/").includes("..")) return ".. is not allowed";
  if (braces.test(glob)) return "braces are not supported; write one entry for each alternative";
  const segments = glob.split("/");
  if (segments.some((segment) => segment.includes("**") && segment !== "**")) {
    return "** must stand alone between slashes";
  }
  return segments.filter((segment) => segment === "**").length > 1 ? "only one ** is allowed" : null;
};

type ZodIssue = z.core.$ZodIssue;

const rejectsType = (branch: readonly ZodIssue[]): boolean =>
  branch.some(({ code, path }) => path.length === 0 && (code === "invalid_type" || code === "invalid_value"));

const unknownCount = (branch: readonly ZodIssue[]): number =>
  branch.reduce((sum, issue) => sum + (issue.code === "unrecognized_keys" ? issue.keys.length * 2 : 1), 0);

/** The issues of the union's branch that the value was meant for; undefined if its type fits none. */
export const findMeantBranch = ({
  errors,
}: Pick<z.core.$ZodIssueInvalidUnion, "errors">): readonly ZodIssue[] | undefined =>
  errors.filter((branch) => !rejectsType(branch)).toSorted((a, b) => unknownCount(a) - unknownCount(b))[0];

/** What a schema expects, by zod's word for it, as it is called in JSON. */
export const expectationTexts: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
};

const longestShown = 64;

/** Says what a value is, for a sentence about a wrong one; long texts are not repeated. */
export const foundText = (value: unknown): string => {
  if (value === undefined) return "nothing";
  if (typeof value === "string") return value.length <= longestShown ? JSON.stringify(value) : "a text";
  if (typeof value === "number") return `the number ${value}`;
  if (Array.isArray(value)) return "a list";
  if (typeof value === "boolean" || value === null) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
};

const sizedThings: Readonly<Record<string, string>> = {
  array: "the number of entries",
  set: "the number of entries",
  string: "the number of characters",
};

interface SizeIssue {
  readonly code: "too_small" | "too_big";
  readonly origin: string;
  readonly inclusive?: boolean | undefined;
  readonly minimum?: number | bigint;
  readonly maximum?: number | bigint;
}

/** Says which bound a size breaks. */
export const describeSize = ({ code, origin, inclusive, minimum, maximum }: SizeIssue): string => {
  const [closed, open] = code === "too_small" ? ["at least", "more than"] : ["at most", "less than"];
  const what = sizedThings[origin] ?? "the value";
  return `${what} must be ${inclusive === true ? closed : open} ${minimum ?? maximum}`;
};

const diagnosticCode = /^(?:invalid_duration|invalid_value|out_of_range|exclusive_keys|invalid_url): /;

/** Returns a message without the diagnostic code with which it may begin. */
export const messageOf = ({ message }: Pick<ZodIssue, "message">): string =>
  message.replace(diagnosticCode, "");

/** Lists what an issue of a union's branch expects in the union's own place. */
const expectedBy = (issue: ZodIssue): readonly string[] => {
  if (issue.code === "invalid_value") return issue.values.map(String);
  const own = messageOf(issue).replace(/^write /, "");
  if (issue.code !== "invalid_type") return [own];
  return [own === issue.message ? (expectationTexts[issue.expected] ?? issue.expected) : own];
};

interface UnionIssue {
  readonly errors: ZodIssue[][];
  readonly input?: unknown;
  readonly path?: readonly PropertyKey[] | undefined;
  readonly discriminator?: string | undefined;
  readonly options?: readonly unknown[];
}

const describeWrong = ({ input, path }: Pick<UnionIssue, "input" | "path">, expected: string): string => {
  if (input !== undefined) return `expected ${expected}, found ${foundText(input)}`;
  const key = path?.at(-1);
  return `${typeof key === "string" ? JSON.stringify(key) : "a value"} is required here`;
};

const describeUnion = (issue: UnionIssue): string => {
  if (issue.discriminator !== undefined && issue.options !== undefined)
    return `${issue.discriminator} is one of ${issue.options.map(String).join(", ")}`;
  const [meant] = findMeantBranch(issue) ?? [];
  if (meant !== undefined) return [meant.path.join("."), messageOf(meant)].filter(Boolean).join(": ");
  const expected = [...new Set(issue.errors.flat().flatMap(expectedBy))];
  return expected.length === 0
    ? "the value fits several of the allowed forms"
    : describeWrong(issue, expected.join(" or "));
};

const formTexts: Readonly<Record<string, string>> = {
  date: "a date such as 2026-11-30",
  datetime: "a time such as 2026-11-30T09:00:00Z",
};

const describeForm = (issue: z.core.$ZodRawIssue): string => {
  if (issue.code === "not_multiple_of") return `the value must be a multiple of ${issue.divisor}`;
  if (issue.code !== "invalid_format") return "this value is not allowed here";
  if (issue.format === "regex") return `the text must match ${issue.pattern ?? "a pattern"}`;
  const expected = formTexts[issue.format];
  return expected === undefined ? `this is not a valid ${issue.format}` : describeWrong(issue, expected);
};

/** Says in a sentence what is wrong with a value; as a `safeParse` option it stands in for zod's own messages. */
export const describeIssue = (issue: z.core.$ZodRawIssue): string => {
  if (issue.code === "invalid_type")
    return describeWrong(issue, expectationTexts[issue.expected] ?? issue.expected);
  if (issue.code === "invalid_value") {
    const values = issue.values.map(String).join(", ");
    return describeWrong(issue, issue.values.length === 1 ? values : `one of ${values}`);
  }
  if (issue.code === "unrecognized_keys")
    return `${issue.keys.map((key) => JSON.stringify(key)).join(", ")} is not known here`;
  if (issue.code === "too_small" || issue.code === "too_big") return describeSize(issue);
  return issue.code === "invalid_union" ? describeUnion(issue) : describeForm(issue);
};
