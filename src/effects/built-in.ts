import type * as z from "zod";
import type { Json } from "../chat/message.ts";
import { defineEffect } from "../agent/definition/effect.ts";
import type { Effect, EffectDefinition } from "../agent/definition/effect.ts";

/** A built-in effect: it has kept its kind and its parameters as types, from which those of the configuration follow. */
export type BuiltIn<Kind extends string, Params extends z.ZodObject> = Effect & {
  readonly kind: Kind;
  readonly params: Params;
};

/** Makes a built-in effect; it counts from the list in `index.ts`. */
export const defineBuiltIn = <
  const Kind extends string,
  Params extends z.ZodObject,
  State extends Json = null,
>(
  definition: EffectDefinition<Params, State> & { readonly kind: Kind },
): BuiltIn<Kind, Params> => defineEffect(definition) as BuiltIn<Kind, Params>;
