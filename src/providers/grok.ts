import { chatTraits } from "./profile.ts";
import type { Profile } from "./profile.ts";

/**
 * xAI takes no stop words or penalties, and schemas without lengths, in which an object is closed by default. It has
 * deprecated chat completions, over which a model loses its reasoning.
 */
export const grok: Profile = {
  kind: "grok",
  protocol: "openai-chat",
  vendorProtocol: "openai-responses",
  baseUrl: "https://api.x.ai/v1",
  auth: "bearer",
  traits: (config) => chatTraits(config, { schema: "closed", cacheKey: true }),
};
