import type { Embedder } from "../agent/definition/memory.ts";
import { estimateText } from "../chat/tokens.ts";
import type { ModelErrorCode } from "../model/error.ts";
import { asModelError } from "../model/failure.ts";
import type { Host } from "./host.ts";
import { reportCallEnd, reserveTicket } from "./tickets.ts";

/** Sends embedding requests through their provider's gate: each takes a ticket that is free now, or none. */

const embedAtGate = async (
  gates: Pick<Host, "gate">,
  embedder: Embedder,
  id: string,
  texts: readonly string[],
  signal: AbortSignal,
): ReturnType<Embedder["embed"]> => {
  const { provider, model } = embedder;
  const input = texts.reduce((sum, text) => sum + estimateText(text), 0);
  const { status } = await reserveTicket(gates, embedder, { id, input, maxOutput: 0 });
  if (status !== "booked")
    throw new Error(`provider ${provider}: its rate limit has no free place right now`);
  let code: ModelErrorCode | "ok" = "ok";
  try {
    return await embedder.embed(texts, signal);
  } catch (error) {
    ({ code } = asModelError(error, { provider, model }, signal).failure);
    throw error;
  } finally {
    reportCallEnd(gates, embedder, id, { code, exhausted: code !== "ok", usage: null });
  }
};

/**
 * Wraps embedders so that each request takes its own ticket. `name` distinguishes this isolate's requests
 * from others'.
 */
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
      return embedAtGate({ gate }, embedder, `${name}.${asked}`, texts, signal);
    };
    return { ...embedder, embed };
  };
};
