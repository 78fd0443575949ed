import { utf8Length } from "../chat/tokens.ts";
import { priceOf } from "../model/catalogue.ts";
import type { ModelOverride, Price } from "../model/schema.ts";
import { collect } from "../model/collect.ts";
import type { CompleteOptions, Completer, Completion, ModelRequest } from "../model/completer.ts";
import { startDeadlines } from "../model/deadlines.ts";
import type { Deadlines } from "../model/deadlines.ts";
import type { ModelError } from "../model/error.ts";
import { modelError } from "../model/failure.ts";
import type { AttemptOrigin } from "../model/failure.ts";
import { readHoldUntil } from "../model/rate-headers.ts";
import {
  readAnswerFailure,
  checkStream,
  createFaults,
  readReply,
  sendFailureOf,
} from "../protocols/attempt.ts";
import type { Post, Protocol, WireTarget } from "../protocols/protocol.ts";
import type { Egress } from "../tools/egress/egress.ts";
import { endpointOf } from "./address.ts";
import { describeProviderModel } from "./entry.ts";
import type { Profile } from "./profile.ts";
import type { ProviderConfig } from "./schema.ts";
import { readCredentials, reveal, revealHeader } from "./secrets.ts";
import type { SecretReader } from "./secrets.ts";
import { createBindingPost } from "./workers-ai.ts";

export interface WireOptions {
  readonly profile: Profile;
  readonly protocol: Protocol;
  readonly config: ProviderConfig;
  readonly model: string;
  readonly override: ModelOverride | undefined;
  readonly secret: SecretReader;
  readonly egress: Egress;
  readonly bindings: Readonly<Record<string, unknown>>;
  readonly now: () => number;
  /** The provider's path in the team file, for errors. */
  readonly field: string;
}

/** Bytes of the largest request that both APIs accept. */
const maxRequest = 32 * 1024 * 1024;

/** Returns whether a body has too many bytes; most are short enough to skip the count. */
const isTooLong = (body: string): boolean => body.length * 3 > maxRequest && utf8Length(body) > maxRequest;

type CredentialMap = ReturnType<typeof readCredentials>;

const areSameKeys = (some: CredentialMap, others: CredentialMap): boolean =>
  some.size === others.size && [...some].every(([name, value]) => others.get(name) === value);

/** Adds the keys to the protocol's headers; the result is cached until either changes. */
const createHeaderCache = (): ((built: Headers, keys: CredentialMap) => Headers) => {
  let known: { readonly built: Headers; readonly keys: CredentialMap; readonly headers: Headers } | null =
    null;
  return (built, keys) => {
    if (known?.built === built && areSameKeys(known.keys, keys)) return known.headers;
    const headers = new Headers(built);
    for (const [name, value] of keys) headers.set(name, value);
    known = { built, keys, headers };
    return headers;
  };
};

/** The address of requests, computed again when the provider's address changes. */
const createAddressCache = ({ config, profile, protocol, secret, field }: WireOptions) => {
  const base = config.base_url ?? profile.baseUrl;
  let known = { base: "", url: "" };
  return (origin: AttemptOrigin): string => {
    if (profile.binding !== undefined) return "";
    if (base === null)
      throw modelError("invalid_request", origin, `${field}.base_url: missing; ${profile.kind} needs it`);
    const address = reveal(base, `${field}.base_url`, secret, origin);
    if (address === known.base) return known.url;
    if (!URL.canParse(address))
      throw modelError("invalid_request", origin, `${field}.base_url: not a valid URL`);
    known = { base: address, url: endpointOf(address, protocol) };
    return known.url;
  };
};

interface WireAttempt {
  readonly options: WireOptions;
  readonly target: WireTarget;
  readonly address: (origin: AttemptOrigin) => string;
  readonly headers: ReturnType<typeof createHeaderCache>;
  readonly origin: AttemptOrigin;
  readonly request: ModelRequest;
  readonly deadlines: Deadlines;
  readonly live: Pick<CompleteOptions, "onDelta" | "onRaw">;
}

/** Creates the post of one request: through the profile's binding, else over the network. */
const createKeyedPost = (
  { profile, config, egress, bindings }: WireOptions,
  addKeys: WireAttempt["headers"],
  keys: CredentialMap,
  origin: AttemptOrigin,
): Post => {
  const name = profile.binding === undefined ? undefined : (config.binding ?? profile.binding);
  if (name !== undefined) return createBindingPost(bindings[name], name, Object.fromEntries(keys), origin);
  return (to, { method, headers, body, signal }) =>
    egress(to, {
      method,
      headers: addKeys(headers, keys),
      body,
      signal,
      redirects: "refuse",
      maxBytes: null,
    });
};

const sendRequest = async ({
  options,
  target,
  address,
  headers,
  origin,
  request,
  deadlines,
  live,
}: WireAttempt): Promise<{
  readonly response: Response;
  readonly droppedParameters: readonly string[];
  readonly maxTokens: number;
  readonly hash: string;
}> => {
  const url = address(origin);
  const { protocol, secret, field } = options;
  const keys = readCredentials(options, (text, key) => revealHeader(text, `${field}.${key}`, secret, origin));
  const { body, droppedParameters, maxTokens, digest } = protocol.build(request, target);
  if (isTooLong(body)) throw modelError("context_overflow", origin, "The request is longer than 32 MiB.");
  const post = createKeyedPost(options, headers, keys, origin);
  const sent = protocol.post(url, post, body, deadlines.signal);
  const hash = digest();
  let response: Response;
  let failure: ModelError | null;
  try {
    response = await sent;
    failure = response.ok ? null : await readAnswerFailure(response, origin, deadlines, live);
  } catch (error) {
    throw sendFailureOf(error, origin, deadlines.signal, url);
  }
  if (failure !== null) throw failure;
  return { response, droppedParameters, maxTokens, hash };
};

/**
 * Finds the price of the model that answered. Gateways answer with names of their own: an unknown one costs what the
 * model that was asked costs, as budgets have reserved it.
 */
const findPrice = ({ profile: { kind }, model, override }: WireOptions, answered: string): Price | null =>
  priceOf(kind, answered, override) ?? priceOf(kind, model, override);

const runAttempt = async (attempt: WireAttempt): Promise<Completion> => {
  const { options, target, origin, request, deadlines, live } = attempt;
  const { now } = options;
  const startedAt = now();
  const { response, droppedParameters, maxTokens, hash } = await sendRequest(attempt);
  deadlines.headers();
  const { headers } = response;
  const faults = createFaults(origin, headers, now);
  const requestId = headers.get("request-id") ?? headers.get("x-request-id") ?? undefined;
  const body = await checkStream(response, faults, deadlines, live).catch((error: unknown) => {
    throw sendFailureOf(error, origin, deadlines.signal, attempt.address(origin));
  });
  const decoder = options.protocol.decoder(request, target, faults, requestId?.slice(0, 100));
  const completion = await collect(readReply(body, decoder, faults, deadlines, live), {
    request,
    provider: origin.provider,
    maxOutput: maxTokens,
    price: (answered) => findPrice(options, answered),
    startedAt,
    now,
    signal: deadlines.signal,
    holdUntil: readHoldUntil(headers, now()),
    ...(live.onDelta !== undefined && { onDelta: live.onDelta }),
  });
  return droppedParameters.length === 0
    ? { ...completion, requestHash: hash }
    : { ...completion, requestHash: hash, droppedParameters };
};

/** Describes the model as its protocol needs it. */
const targetOf = ({ profile, config, model, override }: WireOptions): WireTarget => {
  const { capabilities, max_output: maxOutput, efforts } = describeProviderModel(config, model, override);
  const traits = profile.traits({ ...config, model });
  return {
    provider: config.name,
    maxOutput,
    capabilities,
    traits: { ...traits, efforts: efforts ?? traits.efforts },
  };
};

/** Creates a model behind HTTP: exactly one attempt, no sleep, every failure a `ModelError`. */
export const createWireCompleter = (options: WireOptions): Completer => {
  const { config, model, protocol } = options;
  const provider = config.name;
  const target = targetOf(options);
  const fixed = {
    options,
    target,
    address: createAddressCache(options),
    headers: createHeaderCache(),
  };
  return {
    provider,
    model,
    body: (request) => protocol.build(request, target).body,
    digest: (request) => protocol.build(request, target).digest(),
    complete: async (request, { signal, timers, ...live }) => {
      const origin = { provider, model: request.model };
      const deadlines = startDeadlines(config.timeouts, origin, signal, timers);
      try {
        return await runAttempt({ ...fixed, origin, request, deadlines, live });
      } finally {
        deadlines.stop();
      }
    },
  };
};
