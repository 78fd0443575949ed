import { plainTraits } from "./profile.ts";
import type { Profile } from "./profile.ts";

/** Any server of the chat completions API; `compat` describes how it deviates. */
export const openaiCompatible: Profile = {
  kind: "openai-compatible",
  protocol: "openai-chat",
  baseUrl: null,
  auth: "bearer",
  traits: ({ compat }) => ({
    ...plainTraits,
    tokensField: compat.max_tokens_field ?? "max_tokens",
    systemRole: compat.system_role,
    streamUsage: compat.stream_usage,
    schema: compat.schema === "minimal" ? "minimal" : "full",
    reasoningReplay: compat.reasoning_replay,
    thinkTags: compat.think_tags,
  }),
};
