import type * as z from "zod";
import { defineEffect } from "../agent/definition/effect.ts";
import type { Effect, EffectDefinition, JsonState } from "../agent/definition/effect.ts";

/** Built-in effect that keeps its kind and parameters as types, so that the configuration types follow from it. */
export type BuiltIn<Kind extends string, Params extends z.ZodObject> = Effect & {
  readonly kind: Kind;
  readonly params: Params;
};

/** Defines a built-in effect, which is active once it is in the list of `index.ts`. */
export const defineBuiltIn = <const Kind extends string, Params extends z.ZodObject, State = null>(
  definition: EffectDefinition<Params, State> & JsonState<State> & { readonly kind: Kind },
): BuiltIn<Kind, Params> => defineEffect(definition) as BuiltIn<Kind, Params>;
