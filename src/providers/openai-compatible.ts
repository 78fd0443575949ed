import { plainTraits } from "./profile.ts";
import type { Profile } from "./profile.ts";

/** Matches the families of Mistral, wherever they are served. */
const mistral = /mi[sx]tral|ministral|magistral|devstral|codestral|pixtral/i;

/** Any server of the chat completions API; `compat` describes how it deviates. */
export const openaiCompatible: Profile = {
  kind: "openai-compatible",
  protocol: "openai-chat",
  baseUrl: null,
  auth: "bearer",
  traits: ({ compat, base_url, model }) => ({
    ...plainTraits,
    tokensField: compat.max_tokens_field ?? "max_tokens",
    systemRole: compat.system_role,
    streamUsage: compat.stream_usage,
    schema: compat.schema === "minimal" ? "minimal" : "full",
    reasoningReplay: compat.reasoning_replay,
    thinkTags: compat.think_tags,
    strictTurns: mistral.test(`${base_url} ${model}`),
  }),
};
