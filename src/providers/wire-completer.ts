import { priceOf } from "../model/catalogue.ts";
import type { ModelOverride } from "../model/schema.ts";
import { collect } from "../model/collect.ts";
import type { CompleteOptions, Completer, Completion, ModelRequest } from "../model/completer.ts";
import { startDeadlines } from "../model/deadlines.ts";
import type { Deadlines } from "../model/deadlines.ts";
import type { ModelError } from "../model/error.ts";
import { modelError } from "../model/failure.ts";
import type { Origin } from "../model/failure.ts";
import { holdUntil } from "../model/rate-headers.ts";
import { anthropicMessages } from "../protocols/anthropic/messages.ts";
import { answerFailure, checkStream, faultsOf, readReply, sendFailure } from "../protocols/attempt.ts";
import { openAiChat } from "../protocols/openai/chat.ts";
import type { Post, Protocol, Target } from "../protocols/protocol.ts";
import type { Egress } from "../tools/egress/egress.ts";
import { endpoint } from "./address.ts";
import { describeServed } from "./entry.ts";
import type { Profile } from "./profile.ts";
import type { ProviderConfig } from "./schema.ts";
import { credentials, reveal, revealHeader } from "./secrets.ts";
import type { SecretReader } from "./secrets.ts";

export interface WireOptions {
  readonly profile: Profile;
  readonly config: ProviderConfig;
  readonly model: string;
  readonly override: ModelOverride | undefined;
  readonly secret: SecretReader;
  readonly egress: Egress;
  readonly now: () => number;
  /** Path of the provider in the team file, for errors. */
  readonly field: string;
}

/** Greatest request of either API. */
const maxRequest = 32 * 1024 * 1024;

const protocols: Readonly<Record<Profile["protocol"], Protocol>> = {
  "anthropic-messages": anthropicMessages,
  "openai-chat": openAiChat,
};

type Keys = ReturnType<typeof credentials>;

const sameKeys = (some: Keys, others: Keys): boolean =>
  some.size === others.size && [...some].every(([name, value]) => others.get(name) === value);

/** The headers that the SDK built with the keys put in: made anew when either is another. */
const createHeaders = (): ((built: Headers, keys: Keys) => Headers) => {
  let known: { readonly built: Headers; readonly keys: Keys; readonly headers: Headers } | null = null;
  return (built, keys) => {
    if (known?.built === built && sameKeys(known.keys, keys)) return known.headers;
    const headers = new Headers(built);
    headers.delete("authorization");
    for (const [name, value] of keys) headers.set(name, value);
    known = { built, keys, headers };
    return headers;
  };
};

/** Where requests go, worked out anew when the provider's address is another. */
const createAddress = ({ config, profile, secret, field }: WireOptions, path: string) => {
  const base = config.base_url ?? profile.baseUrl;
  let known = { base: "", url: "" };
  return (origin: Origin): string => {
    if (base === null)
      throw modelError("invalid_request", origin, `${field}.base_url: missing; ${profile.kind} needs it`);
    const address = reveal(base, `${field}.base_url`, secret, origin);
    if (address === known.base) return known.url;
    if (!URL.canParse(address))
      throw modelError("invalid_request", origin, `${field}.base_url: not a valid URL`);
    known = { base: address, url: endpoint(address, profile.protocol, path) };
    return known.url;
  };
};

interface Attempt {
  readonly options: WireOptions;
  readonly protocol: Protocol;
  readonly target: Target;
  readonly address: (origin: Origin) => string;
  readonly headers: ReturnType<typeof createHeaders>;
  readonly origin: Origin;
  readonly request: ModelRequest;
  readonly deadlines: Deadlines;
}

const utf8 = new TextEncoder();
const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** SHA-256 of a body, hex; made while the answer is on its way. */
const digest = async (body: string): Promise<string> => {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", utf8.encode(body)));
  let hex = "";
  for (const byte of bytes) hex += hexOfByte[byte] ?? "";
  return hex;
};

const send = async ({
  options,
  protocol,
  target,
  address,
  headers,
  origin,
  request,
  deadlines,
}: Attempt): Promise<{
  readonly response: Response;
  readonly dropped: readonly string[];
  readonly maxTokens: number;
  readonly hash: Promise<string>;
}> => {
  const url = address(origin);
  const { secret, egress, field } = options;
  const keys = credentials(options, (text, key) => revealHeader(text, `${field}.${key}`, secret, origin));
  const { body, dropped, maxTokens } = protocol.build(request, target);
  if (body.length > maxRequest)
    throw modelError("context_overflow", origin, "The request is longer than 32 MiB.");
  const post: Post = (to, { method, headers: built, body: sentBody, signal }) =>
    egress(to, {
      method,
      headers: headers(built, keys),
      body: sentBody,
      signal,
      redirects: "refuse",
      maxBytes: null,
    });
  const sent = protocol.post(url, post, body, deadlines.signal);
  const hash = digest(body);
  let response: Response;
  let failure: ModelError | null;
  try {
    response = await sent;
    failure = response.ok ? null : await answerFailure(response, origin, options.now);
  } catch (error) {
    throw sendFailure(error, origin, deadlines.signal);
  }
  if (failure !== null) throw failure;
  return { response, dropped, maxTokens, hash };
};

const run = async (attempt: Attempt, onDelta: CompleteOptions["onDelta"]): Promise<Completion> => {
  const { options, protocol, target, origin, request, deadlines } = attempt;
  const { now } = options;
  const startedAt = now();
  const { response, dropped, maxTokens, hash } = await send(attempt);
  deadlines.headers();
  const { headers } = response;
  const faults = faultsOf(origin, headers, now);
  const requestId = headers.get("request-id") ?? headers.get("x-request-id") ?? undefined;
  const body = await checkStream(response, faults).catch((error: unknown) => {
    throw sendFailure(error, origin, deadlines.signal);
  });
  const decoder = protocol.decoder(request, target, faults, requestId?.slice(0, 100));
  const completion = await collect(readReply(body, decoder, faults, deadlines), {
    request,
    provider: origin.provider,
    maxOutput: maxTokens,
    price: (answered) => priceOf(options.profile.kind, answered, options.override),
    startedAt,
    now,
    signal: deadlines.signal,
    holdUntil: holdUntil(headers, now()),
    ...(onDelta !== undefined && { onDelta }),
  });
  const requestHash = await hash;
  return dropped.length === 0 ? { ...completion, requestHash } : { ...completion, requestHash, dropped };
};

/** The model as its protocol needs to know it. */
const targetOf = ({ profile, config, model, override }: WireOptions): Target => {
  const { capabilities, max_output: maxOutput, efforts } = describeServed(config, model, override);
  const traits = profile.traits(config);
  return {
    provider: config.name,
    maxOutput,
    capabilities,
    traits: { ...traits, efforts: efforts ?? traits.efforts },
  };
};

/** A model behind HTTP: exactly one attempt, no sleep, every failure a `ModelError`. */
export const createWireCompleter = (options: WireOptions): Completer => {
  const { config, model } = options;
  const provider = config.name;
  const target = targetOf(options);
  const protocol = protocols[options.profile.protocol];
  const address = createAddress(options, protocol.path);
  const headers = createHeaders();
  return {
    provider,
    model,
    body: (request) => protocol.build(request, target).body,
    complete: async (request, { signal, onDelta }) => {
      const origin = { provider, model: request.model };
      const deadlines = startDeadlines(config.timeouts, origin, signal);
      try {
        return await run(
          { options, protocol, target, address, headers, origin, request, deadlines },
          onDelta,
        );
      } finally {
        deadlines.stop();
      }
    },
  };
};
