import type { Embedder } from "../agent/definition/memory.ts";
import { estimateText } from "../chat/tokens.ts";
import type { ModelErrorCode } from "../model/error.ts";
import { asModelError } from "../model/failure.ts";
import type { Host } from "./host.ts";

/** This file sends embedding requests through their provider's gate: each takes a ticket that is free now, or none. */

const embedAtGate = async (
  { provider, model, gate: terms, embed }: Embedder,
  gate: ReturnType<Host["gate"]>,
  id: string,
  texts: readonly string[],
  signal: AbortSignal,
): ReturnType<Embedder["embed"]> => {
  if (terms !== null) {
    const input = texts.reduce((sum, text) => sum + estimateText(text), 0);
    const { status } = await gate.reserve({ id, input, maxOutput: 0, ...terms });
    if (status !== "booked") throw new Error(`provider ${provider}: its rate limit leaves no place now`);
  }
  let code: ModelErrorCode | "ok" = "ok";
  try {
    return await embed(texts, signal);
  } catch (error) {
    ({ code } = asModelError(error, { provider, model }, signal).failure);
    throw error;
  } finally {
    gate.ended(id, terms !== null, { model, code, exhausted: code !== "ok", usage: null });
  }
};

/** Wraps embedders so that each request takes its own ticket. `name` tells this isolate's requests from others'. */
export const gateEmbedders = (
  embedderOf: Host["embedder"],
  gate: Host["gate"],
  name: string,
): Host["embedder"] => {
  let asked = 0;
  return (agent) => {
    const embedder = embedderOf(agent);
    if (embedder === null) return null;
    const embed: Embedder["embed"] = (texts, signal) => {
      asked += 1;
      return embedAtGate(embedder, gate(embedder.provider), `${name}.${asked}`, texts, signal);
    };
    return { ...embedder, embed };
  };
};
