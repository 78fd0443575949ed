import * as z from "zod";
import type { Effect } from "../agent/definition/effect.ts";
import { effects } from "./index.ts";

/** Derives the schema of an agent's `effects` from their definitions. */

type ListedEffect = (typeof effects)[number];

type ConfigOf<Definition> = Definition extends {
  readonly kind: infer Kind;
  readonly params: infer Params extends z.ZodObject;
}
  ? { kind: Kind; params: z.output<Params> }
  : never;

/** Built-in effect of an agent, with the parameters of its kind filled in. */
export type BuiltInConfig = ConfigOf<ListedEffect>;
export type EffectKind = BuiltInConfig["kind"];

/** Effect of the team's extensions; its own schema has accepted its parameters. */
interface CustomConfig {
  kind: string;
  params: Record<string, unknown>;
}

/** Entry of an agent's `effects`. */
export type EffectConfig = BuiltInConfig | CustomConfig;

/** Kinds in the order of the documentation. */
export const effectKinds: readonly EffectKind[] = effects.map(({ kind }) => kind);

/** Returns whether an entry is of a built-in kind, so that its parameters are known. */
export const isOfKind =
  <Kind extends EffectKind>(kind: Kind) =>
  (config: { readonly kind: string }): config is Extract<BuiltInConfig, { readonly kind: Kind }> =>
    config.kind === kind;

const entrySchemaOf = ({ kind, description, params }: Pick<Effect, "kind" | "description" | "params">) =>
  z
    .strictObject({
      kind: z.literal(kind).describe("Kind of the effect."),
      params: params.prefault({}).describe("Its parameters."),
    })
    .describe(description ?? "");

/** Returns the schema of one entry for the built-in effects and these custom ones. */
export const effectSchemaOf = (custom: readonly Effect[]): z.ZodType<EffectConfig> => {
  const [first, ...more] = [...effects, ...custom].map(entrySchemaOf);
  if (first === undefined) throw new Error("there are no effects");
  return z.discriminatedUnion("kind", [first, ...more]);
};
