import type { ResolvedText } from "../../config/document/references.ts";
import {
  isReserved,
  missingReferenceText,
  referencesIn,
  resolveReferences,
  unsetSecretText,
} from "../../config/document/references.ts";
import type { Provider, Team } from "../../config/team.ts";
import type { Completer } from "../../model/completer.ts";
import { modelError } from "../../model/failure.ts";
import type { SecretReader } from "../../providers/secrets.ts";
import type { Problem } from "../../session/problems.ts";
import { EgressError } from "../../tools/egress/egress.ts";
import { inTime } from "../access/replies.ts";

/** Reads values of `${NAME}` references at use, from text bindings and Secrets Store bindings. */

/** Bindings and variables of the Worker by name. */
export type Bindings = Readonly<Record<string, unknown>>;

interface StoredSecret {
  get(): Promise<string>;
}

const isStored = (value: unknown): value is StoredSecret =>
  typeof value === "object" && value !== null && typeof (value as { get?: unknown }).get === "function";

/** Returns a text binding; null if it is unset, blank or another binding. */
export const bindingTextOf = (env: Bindings, name: string): string | null => {
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  return typeof value === "string" && value.trim() !== "" ? value : null;
};

/** Returns whether a name is bound to a text, or to a secret of the Secrets Store. */
export const isSet = (env: Bindings, name: string): boolean =>
  !isReserved(name) && (bindingTextOf(env, name) !== null || isStored(env[name]));

/** Returns the first unbound reference of a text, or null if there is none. */
const findUnset = (env: Bindings, text: string): string | null =>
  referencesIn(text).names.find((name) => !isSet(env, name)) ?? null;

/** Returns the texts of a provider that its requests need, by their key in the provider's section. */
const textsOf = ({ api_key, base_url, headers }: Provider): readonly (readonly [string, string])[] => [
  ...(api_key === undefined ? [] : [["api_key", api_key] as const]),
  ...(base_url === undefined ? [] : [["base_url", base_url] as const]),
  ...Object.entries(headers).map(([name, value]) => [`headers.${name}`, value] as const),
];

/** Lists the names that requests to a provider refer to, apart from its model's. */
export const providerReferencesOf = (provider: Provider): readonly string[] =>
  textsOf(provider).flatMap(([, text]) => referencesIn(text).names);

/** Reports that a secret of a provider's model is not set, and its name to administrators only; null if all are set. */
export const findUnsetSecret = (
  team: Team,
  env: Bindings,
  { provider, model }: { readonly provider: Provider; readonly model: string },
): Problem | null => {
  const field = `providers[${team.providers.indexOf(provider)}]`;
  for (const [key, text] of [...textsOf(provider), ["model", model] as const]) {
    const name = findUnset(env, text);
    if (name !== null)
      return {
        code: "config_incomplete",
        detail: unsetSecretText(`provider ${provider.name}`),
        adminDetail: missingReferenceText(
          `${field}.${key}`,
          name,
          team.name,
          bindingTextOf(env, "LIMPET_DEV") === "1",
        ),
      };
  }
  return null;
};

const expandText = (env: Bindings, text: string): string => {
  const resolved = resolveReferences(text, (name) => bindingTextOf(env, name));
  return resolved.ok ? resolved.value : text;
};

/**
 * Resolves a team's model ids, which determine windows, prices and capabilities; an id with an unset variable
 * stays.
 */
export const resolveModelIds = (team: Team, env: Bindings): Team => {
  const resolveTarget = <L extends { readonly model?: string | undefined }>(given: L): L =>
    given.model === undefined ? given : { ...given, model: expandText(env, given.model) };
  return {
    ...team,
    providers: team.providers.map((each) => ({
      ...resolveTarget(each),
      fallbacks: each.fallbacks.map(resolveTarget),
    })),
    agents: team.agents.map((each) => ({
      ...resolveTarget(each),
      delegation: resolveTarget(each.delegation),
      ...(each.fallbacks === undefined ? {} : { fallbacks: each.fallbacks.map(resolveTarget) }),
    })),
  };
};

/** Milliseconds to wait for the Secrets Store: it is asked before a request's own deadlines begin. */
const storeTimeoutMs = 10_000;

const unreadableText =
  "the Secrets Store does not give a secret now; if that goes on, check that its binding names one that is there";

/** Reads values of the Secrets Store; rejects if it does not give one now, which may be different in a moment. */
const fetchStored = async (env: Bindings, names: readonly string[]): Promise<Map<string, string>> => {
  const read = names.flatMap((name) => {
    const stored = env[name];
    return isStored(stored) ? [stored.get().then((value) => [name, value] as const)] : [];
  });
  if (read.length === 0) return new Map();
  const values = await inTime(Promise.all(read), storeTimeoutMs).catch(() => {
    throw new EgressError("unavailable", unreadableText);
  });
  return new Map(values.filter(([, value]) => value !== ""));
};

/** Reads the named secrets and passes each to `learn`; one that is not set is omitted. Rejects if one cannot be read now. */
export const readSecrets = async (
  env: Bindings,
  names: readonly string[],
  learn: (name: string, value: string) => void,
): Promise<ReadonlyMap<string, string>> => {
  const values = await fetchStored(env, names);
  for (const name of names) {
    const value = bindingTextOf(env, name);
    if (value !== null) values.set(name, value);
  }
  for (const [name, value] of values) learn(name, value);
  return values;
};

interface RememberedText {
  readonly names: readonly string[];
  readonly values: readonly (string | undefined)[];
  readonly resolved: ResolvedText;
}

/** Creates a reader that resolves a text again only when a value that it refers to has changed. */
const createCachingReader = (
  valueOf: (name: string) => string | undefined,
): ((text: string) => ResolvedText) => {
  const known = new Map<string, RememberedText>();
  return (text) => {
    const last = known.get(text);
    const names = last?.names ?? referencesIn(text).names;
    const values = names.map(valueOf);
    if (last !== undefined && values.every((value, at) => value === last.values[at])) return last.resolved;
    const resolved = resolveReferences(text, valueOf);
    known.set(text, { names, values, resolved });
    return resolved;
  };
};

/**
 * Creates a completer that reads its secrets at every call, so that a rotated key is used at once; `learn` gets
 * each one.
 */
export const createSecretCompleter = (
  env: Bindings,
  target: { readonly provider: Provider; readonly model: string },
  create: (secret: SecretReader) => Completer,
  learn: (name: string, value: string) => void,
): Completer => {
  const { provider, model } = target;
  const names = providerReferencesOf(provider);
  const origin = { provider: provider.name, model };
  let stored: ReadonlyMap<string, string> = new Map();
  const learned = new Map<string, string>();
  const valueOf = (name: string): string | undefined => {
    const value = bindingTextOf(env, name) ?? stored.get(name);
    if (value === undefined || learned.get(name) === value) return value;
    learned.set(name, value);
    learn(name, value);
    return value;
  };
  const read = createCachingReader(valueOf);
  const completer = create((text) => {
    const resolved = read(text);
    if (resolved.ok) return resolved.value;
    throw new Error(unsetSecretText(`provider ${provider.name}`));
  });
  const modelNames = referencesIn(model).names;
  return {
    ...completer,
    complete: async (request, options) => {
      if (modelNames.some((name) => !isSet(env, name)))
        throw modelError("auth", origin, unsetSecretText(`provider ${provider.name}`));
      stored = await fetchStored(env, names).catch(() => {
        throw modelError("network", origin, `Provider ${provider.name}: ${unreadableText}.`);
      });
      return completer.complete(request, options);
    },
  };
};
