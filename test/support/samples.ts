import type { Dice } from "./dice.ts";

/** Values made up from a JSON Schema: most fit it, some are of another kind, and names lead to what is there. */

export interface SampledSchema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly SampledSchema[];
  readonly oneOf?: readonly SampledSchema[];
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, SampledSchema>>;
  readonly required?: readonly string[];
  readonly items?: SampledSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
}

interface SamplerOptions {
  readonly dice: Dice;
  /** Finds what a reference means. */
  readonly resolve: (reference: string) => SampledSchema;
  /** A value that is there for a property or parameter of this name; undefined if there is none. */
  readonly known: (name: string) => unknown;
}

const misfits: readonly unknown[] = [
  null,
  "",
  0,
  -1,
  1.5,
  1e308,
  true,
  [],
  {},
  [[[]]],
  "\ud800",
  "💥".repeat(50),
  "a".repeat(5_000),
  "__proto__",
  "../..",
  "2026-01-01T00:00:00Z",
];

const words: readonly string[] = ["go", "remember this", "search", "read", "write", "ab-c", "{}"];

/** From this depth on, objects have only what they must have. */
const deepest = 5;

export const createSampler = ({ dice, resolve, known }: SamplerOptions) => {
  const happens = (percent: number): boolean => dice.roll(100) < percent;
  const sampleNumber = ({ minimum = 0, maximum = 50 }: SampledSchema): number =>
    Math.max(minimum, Math.min(maximum, dice.roll(20)));
  const sampleObject = ({ properties = {}, required = [] }: SampledSchema, depth: number): object =>
    Object.fromEntries(
      Object.entries(properties)
        .filter(([key]) => (required.includes(key) ? !happens(2) : depth < deepest && happens(35)))
        .map(([key, schema]) => [key, sample(schema, key, depth + 1)]),
    );
  const sample = (given: SampledSchema, name: string, depth = 0): unknown => {
    const schema = given.$ref === undefined ? given : resolve(given.$ref);
    if (happens(1)) return dice.pick(misfits);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return dice.pick(schema.enum);
    const branches = schema.anyOf ?? schema.oneOf;
    if (branches !== undefined) return sample(dice.pick(branches), name, depth + 1);
    const type = typeof schema.type === "object" ? dice.pick(schema.type) : schema.type;
    if (type === "object" || schema.properties !== undefined) return sampleObject(schema, depth);
    if (type === "array") {
      const length = Math.max(schema.minItems ?? 0, dice.roll(3));
      return Array.from({ length }, () => sample(schema.items ?? {}, name, depth + 1));
    }
    if (type === "integer" || type === "number") return sampleNumber(schema);
    if (type === "boolean") return happens(50);
    if (type === "null") return null;
    return (happens(85) ? known(name) : undefined) ?? dice.pick(words);
  };
  return sample;
};
