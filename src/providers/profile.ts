import type { Traits } from "../protocols/protocol.ts";
import type { ProviderConfig } from "./schema.ts";

/** A provider as data: its protocol, its address, and how it deviates. */
export interface Profile {
  readonly kind: string;
  /** Name of the protocol, unless the team names another: a built-in one, or one of the team's own. */
  readonly protocol: string;
  /** Name of the one that is spoken at the vendor's own address; absent: the model's, else the same. */
  readonly vendorProtocol?: string;
  /** The API's address; null if `base_url` must be given. */
  readonly baseUrl: string | null;
  /** Name of the binding through which its requests go instead of the network, unless the config says otherwise. */
  readonly binding?: string;
  /** The header that carries the key unless the config says otherwise. */
  readonly auth: "bearer" | "x-api-key";
  readonly traits: (config: Pick<ProviderConfig, "compat" | "base_url" | "model">) => Traits;
}

/** A plain chat completions server, from which the other profiles deviate. */
export const plainTraits: Traits = {
  tokensField: "max_completion_tokens",
  systemRole: "system",
  streamUsage: true,
  schema: "full",
  reasoningReplay: "none",
  thinkTags: false,
  efforts: ["low", "medium", "high"],
  openaiFields: false,
  cacheKey: false,
  thoughtSignatures: false,
  strictTurns: false,
};

/** The traits of a kind that speaks chat completions or Responses, as far as the team's `compat` says nothing else. */
export const chatTraits = (
  { compat }: Pick<ProviderConfig, "compat">,
  ofKind: Partial<Traits> = {},
): Traits => {
  const usual = { ...plainTraits, ...ofKind };
  return {
    ...usual,
    tokensField: compat.max_tokens_field ?? usual.tokensField,
    systemRole: compat.system_role,
    streamUsage: compat.stream_usage,
    schema: compat.schema === "strict" ? usual.schema : (compat.schema ?? usual.schema),
    reasoningReplay: compat.reasoning_replay,
    thinkTags: compat.think_tags,
  };
};
