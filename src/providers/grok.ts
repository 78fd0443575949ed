import { plainTraits } from "./profile.ts";
import type { Profile } from "./profile.ts";

/** xAI takes no stop words or penalties, and schemas without `additionalProperties`. */
export const grok: Profile = {
  kind: "grok",
  protocol: "openai-chat",
  baseUrl: "https://api.x.ai/v1",
  auth: "bearer",
  traits: () => ({ ...plainTraits, schema: "closed" }),
};
