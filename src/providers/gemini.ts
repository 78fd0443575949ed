import { chatTraits } from "./profile.ts";
import type { Profile } from "./profile.ts";

/** Google's chat endpoint needs thought signatures back with their calls, and schemas of the common subset. */
export const gemini: Profile = {
  kind: "gemini",
  protocol: "openai-chat",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
  auth: "bearer",
  traits: (config) =>
    chatTraits(config, {
      schema: "minimal",
      efforts: ["minimal", "low", "medium", "high"],
      thoughtSignatures: true,
    }),
};
