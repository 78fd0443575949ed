import { describeModel } from "../model/catalogue.ts";
import type { ModelOverride } from "../model/schema.ts";
import type { Completer } from "../model/completer.ts";
import { createScriptedCompleter } from "../model/scripted/scripted.ts";
import { anthropicMessages } from "../protocols/anthropic/messages.ts";
import { openAiChat } from "../protocols/openai/chat.ts";
import { openAiResponses } from "../protocols/openai-responses/responses.ts";
import { workersAiChat } from "../protocols/openai/workers-ai.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Egress } from "../tools/egress/egress.ts";
import { anthropic } from "./anthropic.ts";
import { gemini } from "./gemini.ts";
import { grok } from "./grok.ts";
import { openaiCompatible } from "./openai-compatible.ts";
import { openai } from "./openai.ts";
import type { Profile } from "./profile.ts";
import type { ProviderConfig } from "./schema.ts";
import type { SecretReader } from "./secrets.ts";
import { workersAi } from "./workers-ai.ts";
import { createWireCompleter } from "./wire-completer.ts";

/** All providers that use a network protocol; `scripted` is not one, since it answers from its script. */
export const profiles: readonly Profile[] = [anthropic, openai, grok, gemini, workersAi, openaiCompatible];

/** The wire formats that these providers speak. */
export const protocols: readonly Protocol[] = [anthropicMessages, openAiChat, openAiResponses, workersAiChat];

export interface CompleterOptions {
  /** The compiled provider section. */
  readonly config: ProviderConfig;
  /** By default the provider's own model. */
  readonly model?: string;
  /** `models.<id>` of the team file for this model. */
  readonly override?: ModelOverride | undefined;
  readonly secret: SecretReader;
  readonly egress: Egress;
  /** The Worker's bindings, for providers that are reached through one. */
  readonly bindings?: Readonly<Record<string, unknown>>;
  readonly now?: () => number;
  /** Path of the section in the team file (`providers[0]`), for errors. */
  readonly field?: string;
  /** Provider kinds of the team's extensions. */
  readonly extensions?: readonly Profile[];
  /** Protocols of the team's extensions. */
  readonly ownProtocols?: readonly Protocol[];
}

/** Returns whether requests go to the vendor's own servers, those of a region too. */
const isAtVendor = (
  { base_url: address }: Pick<ProviderConfig, "base_url">,
  { baseUrl }: Profile,
): boolean => {
  if (address === undefined) return true;
  const [host, vendor] = [address, baseUrl ?? ""].map((url) => URL.parse(url)?.hostname);
  return host !== undefined && vendor !== undefined && `.${host}`.endsWith(`.${vendor}`);
};

/**
 * Returns the protocol that the team names, else the kind's. The vendor's own servers are asked over the one that the
 * model is best at; what stands at another address need not have it.
 */
export const chooseProtocol = (
  config: Pick<ProviderConfig, "name" | "kind" | "model" | "protocol" | "base_url">,
  profile: Profile,
  ownProtocols: readonly Protocol[],
): Protocol => {
  const { name, kind, model, protocol } = config;
  const best = isAtVendor(config, profile)
    ? (describeModel(kind, model).protocol ?? profile.vendorProtocol)
    : undefined;
  const spoken = protocol ?? best ?? profile.protocol;
  const found = [...ownProtocols, ...protocols].find((each) => each.name === spoken);
  if (found === undefined) throw new Error(`provider ${name}: unknown protocol ${spoken}`);
  return found;
};

/**
 * Creates the completer of a provider section and model. It is cheap and stateless: each model
 * target can keep one. Throws for an unknown kind and a scripted provider without script; the build checks for both.
 */
export const createCompleter = (options: CompleterOptions): Completer => {
  const { config, model = config.model, override, extensions = [], ownProtocols = [] } = options;
  const now = options.now ?? (() => Date.now());
  if (config.kind === "scripted") {
    if (config.script === undefined) throw new Error(`provider ${config.name}: scripted needs a script`);
    const price = override?.price;
    return createScriptedCompleter(config.script, {
      provider: config.name,
      model,
      timeouts: config.timeouts,
      now,
      ...(price === undefined ? {} : { price: () => price }),
    });
  }
  const profile = [...extensions, ...profiles].find(({ kind }) => kind === config.kind);
  if (profile === undefined) throw new Error(`provider ${config.name}: unknown kind ${config.kind}`);
  const protocol = chooseProtocol({ ...config, model }, profile, ownProtocols);
  const { secret, egress, bindings = {}, field = `providers.${config.name}` } = options;
  const wire = { profile, protocol, config, model, override };
  return createWireCompleter({ ...wire, secret, egress, bindings, now, field });
};
