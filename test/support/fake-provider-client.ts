import { createEgress } from "../../src/tools/egress/egress.ts";
import { describeModel } from "../../src/model/catalogue.ts";
import type { Protocol, WireTarget } from "../../src/protocols/protocol.ts";
import { chooseProtocol, createCompleter, profiles } from "../../src/providers/index.ts";
import type { CompleterOptions } from "../../src/providers/index.ts";
import { providerSchema } from "../../src/providers/schema.ts";
import type { ProviderConfig } from "../../src/providers/schema.ts";
import { ModelError } from "../../src/model/error.ts";
import type { ModelFailure } from "../../src/model/error.ts";
import type { Completer, Completion, ItemDelta, ModelRequest } from "../../src/model/completer.ts";
import type { FakeProvider } from "./fake-provider.ts";
import type { Kind } from "./fake-provider-fields.ts";
import { request } from "./requests.ts";

/** The model that each kind is asked for in tests. */
export const models: Readonly<Record<Kind, string>> = {
  anthropic: "claude-sonnet-5-5",
  openai: "gpt-5.2",
  responses: "gpt-6.1-sol",
  grok: "grok-4.7",
  gemini: "gemini-3.8-pro",
  compatible: "local-1",
};

const kindNames: Readonly<Record<Kind, string>> = {
  anthropic: "anthropic",
  openai: "openai",
  responses: "openai",
  grok: "grok",
  gemini: "gemini",
  compatible: "openai-compatible",
};

/** A provider section as the team file would give it. */
export const configOf = (kind: Kind, fields: Record<string, unknown> = {}): ProviderConfig =>
  providerSchema.parse({
    name: kind,
    kind: kindNames[kind],
    model: models[kind],
    api_key: "${KEY}",
    ...((kind === "openai" || kind === "grok") && { protocol: "openai-chat" }),
    ...(kind === "responses" && { protocol: "openai-responses" }),
    ...fields,
  }) as ProviderConfig;

/** How the model of a kind is asked in tests: its protocol, and what the protocol knows of it. */
export const wireOf = (
  kind: Kind,
  fields: Record<string, unknown> = {},
): { readonly protocol: Protocol; readonly target: WireTarget } => {
  const config = configOf(kind, fields);
  const profile = profiles.find((each) => each.kind === config.kind);
  if (profile === undefined) throw new Error(kind);
  const entry = describeModel(config.kind, config.model);
  const { capabilities, max_output: maxOutput, efforts } = entry;
  const traits = profile.traits(config);
  const target = { ...traits, efforts: efforts ?? traits.efforts };
  return {
    protocol: chooseProtocol(config, profile, []),
    target: { provider: config.name, capabilities, maxOutput, traits: target },
  };
};

/** Resolves `${NAME}` from a record. */
export const secretsOf =
  (values: Readonly<Record<string, string>>): CompleterOptions["secret"] =>
  (text, field) =>
    text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
      const value = values[name];
      if (value === undefined)
        throw new Error(`${field}: secret ${name} is not set (wrangler secret put ${name})`);
      return value;
    });

/** A completer for a fake provider on loopback. */
export const completerFor = (
  fake: FakeProvider,
  kind: Kind,
  fields: Record<string, unknown> = {},
  options: Partial<CompleterOptions> = {},
): Completer =>
  createCompleter({
    config: configOf(kind, { base_url: fake.url(kind), ...fields }),
    secret: secretsOf({ KEY: "sk-canary-key" }),
    egress: createEgress({
      allow: [],
      deny: [],
      ports: [],
      allow_http: false,
      privateAllow: [`127.0.0.1:${fake.port}`],
    }),
    field: "providers[0]",
    ...options,
  });

export { message, result } from "./requests.ts";

export const requestOf = (kind: Kind, fields: Partial<ModelRequest> = {}): ModelRequest =>
  request({ model: models[kind], maxTokens: 16_384, ...fields });

export interface Outcome {
  readonly completion?: Completion;
  readonly failure?: ModelFailure;
  readonly deltas: readonly ItemDelta[];
}

/** One attempt, its deltas, and how it ended; errors that are no `ModelError` pass. */
export const attempt = async (
  completer: Completer,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<Outcome> => {
  const deltas: ItemDelta[] = [];
  try {
    const completion = await completer.complete(request, {
      signal,
      onDelta: (more) => void deltas.push(...more),
    });
    return { completion, deltas };
  } catch (error) {
    if (error instanceof ModelError) return { failure: error.failure, deltas };
    throw error;
  }
};
