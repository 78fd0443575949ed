import { chatTraits } from "./profile.ts";
import type { Profile } from "./profile.ts";

/** OpenAI stores nothing and gets one cache key per thread. */
export const openai: Profile = {
  kind: "openai",
  protocol: "openai-chat",
  baseUrl: "https://api.openai.com/v1",
  auth: "bearer",
  traits: (config) =>
    chatTraits(config, {
      efforts: ["minimal", "low", "medium", "high", "xhigh", "max"],
      openaiFields: true,
      cacheKey: true,
    }),
};
