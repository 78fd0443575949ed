import type { Traits } from "../protocols/protocol.ts";
import type { ProviderConfig } from "./schema.ts";

/** A provider as data: which protocol it speaks, where, and how it deviates. */
export interface Profile {
  readonly kind: string;
  readonly protocol: "anthropic-messages" | "openai-chat";
  /** Address of the API; null: `base_url` must be given. */
  readonly baseUrl: string | null;
  /** Header that carries the key unless the config says otherwise. */
  readonly auth: "bearer" | "x-api-key";
  readonly traits: (config: Pick<ProviderConfig, "compat">) => Traits;
}

/** A plain chat completions server: what the other profiles deviate from. */
export const plainTraits: Traits = {
  tokensField: "max_completion_tokens",
  systemRole: "system",
  streamUsage: true,
  schema: "full",
  reasoningReplay: "none",
  thinkTags: false,
  efforts: ["low", "medium", "high"],
  openaiFields: false,
  thoughtSignatures: false,
};
