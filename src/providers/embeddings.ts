import * as z from "zod";
import { classify } from "../model/classify.ts";
import { ModelError } from "../model/error.ts";
import type { Egress } from "../tools/egress/egress.ts";
import { endpointOf } from "./address.ts";
import type { Profile } from "./profile.ts";
import type { ProviderConfig } from "./schema.ts";
import { readCredentials } from "./secrets.ts";

/** This file gets embeddings from the `/embeddings` endpoint of APIs like OpenAI's. */

export interface EmbeddingsOptions {
  readonly profile: Profile;
  readonly config: ProviderConfig;
  /** Resolves the references of a config text; throws if one is unset. */
  readonly secret: (text: string) => string;
  readonly egress: Egress;
}

/** Whether a provider of this profile has embeddings. */
export const hasEmbeddings = ({ protocol }: Pick<Profile, "protocol">): boolean =>
  protocol.startsWith("openai-");

/** The timeout of a request in milliseconds, which its caller keeps. */
export const embeddingTimeout = 10_000;
const longestAnswer = 16 * 1024 * 1024;

const answerSchema = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.array(z.number()).min(1).max(16_384) })),
});

/** Fetches one vector for each text, in order. Rejects on any failure, also if a vector is missing. */
export const fetchEmbeddings = async (
  { profile, config, secret, egress }: EmbeddingsOptions,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly (readonly number[])[]> => {
  const base = config.base_url ?? profile.baseUrl;
  if (base === null) throw new Error(`provider ${config.name}: base_url is missing`);
  const headers = new Headers({ "content-type": "application/json" });
  for (const [name, value] of readCredentials({ profile, config }, secret)) headers.set(name, value);
  const response = await egress(endpointOf(secret(base), { name: profile.protocol, path: "/embeddings" }), {
    method: "POST",
    headers,
    body: JSON.stringify({ model: secret(config.model), input: texts, encoding_format: "float" }),
    signal,
    redirects: "refuse",
    maxBytes: longestAnswer,
  });
  if (!response.ok) {
    await response.body?.cancel();
    const origin = { provider: config.name, model: config.model };
    const { status, headers } = response;
    throw new ModelError(classify({ status, headers, body: "" }, origin, Date.now()));
  }
  const { data } = answerSchema.parse(await response.json());
  const byIndex = new Map(data.map(({ index, embedding }) => [index, embedding]));
  return texts.map((_, index) => {
    const vector = byIndex.get(index);
    if (vector === undefined) throw new Error(`provider ${config.name}: an embedding is missing`);
    return vector;
  });
};
