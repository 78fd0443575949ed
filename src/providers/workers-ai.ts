import { fieldsOf, parseJson } from "../chat/json.ts";
import { modelError } from "../model/failure.ts";
import type { AttemptOrigin } from "../model/failure.ts";
import type { Post } from "../protocols/protocol.ts";
import { chatTraits } from "./profile.ts";
import type { Profile } from "./profile.ts";

/** Cloudflare's own models, which a binding of the Worker reaches without a key. */
export const workersAi: Profile = {
  kind: "workers-ai",
  protocol: "workers-ai",
  baseUrl: null,
  binding: "AI",
  auth: "bearer",
  traits: (config) => chatTraits(config, { tokensField: "max_tokens" }),
};

/** The part of a Workers AI binding that is used. */
interface AiBinding {
  run(model: unknown, inputs: object, options: object): Promise<Response>;
}

const isAiBinding = (value: unknown): value is AiBinding =>
  typeof value === "object" && value !== null && "run" in value && typeof value.run === "function";

/** Creates a post through a binding; the address is the binding's own. Throws an `auth` failure if it is missing. */
export const createBindingPost = (
  binding: unknown,
  name: string,
  extraHeaders: Readonly<Record<string, string>>,
  origin: AttemptOrigin,
): Post => {
  if (!isAiBinding(binding)) {
    const wayOut = `add ai = { binding = "${name}" } to its environment in wrangler.toml`;
    throw modelError("auth", origin, `this deployment has no ${name} binding; ${wayOut}`);
  }
  return (_, { body, signal }) => {
    const { model, ...inputs } = fieldsOf(parseJson(body, Infinity));
    return binding.run(model, inputs, { returnRawResponse: true, signal, extraHeaders });
  };
};
