import { plainTraits } from "./profile.ts";
import type { Profile } from "./profile.ts";

/** Google's chat endpoint: thought signatures go back with their calls, schemas keep to the common subset. */
export const gemini: Profile = {
  kind: "gemini",
  protocol: "openai-chat",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
  auth: "bearer",
  traits: () => ({
    ...plainTraits,
    schema: "minimal",
    efforts: ["minimal", "low", "medium", "high"],
    thoughtSignatures: true,
  }),
};
