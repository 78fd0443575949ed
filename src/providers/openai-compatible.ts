import { chatTraits } from "./profile.ts";
import type { Profile } from "./profile.ts";

/** Matches the families of Mistral, wherever they are served. */
const mistral = /mi[sx]tral|ministral|magistral|devstral|codestral|pixtral/i;

/** Any server of the chat completions API. */
export const openaiCompatible: Profile = {
  kind: "openai-compatible",
  protocol: "openai-chat",
  baseUrl: null,
  auth: "bearer",
  traits: (config) =>
    chatTraits(config, {
      tokensField: "max_tokens",
      strictTurns: mistral.test(`${config.base_url} ${config.model}`),
    }),
};
