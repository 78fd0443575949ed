import type { Embedder, MemoryRules } from "../../agent/definition/memory.ts";
import { packVector } from "../access/tenant/recall.ts";
import { referencesIn, resolveReferences, unsetSecretText } from "../../config/document/references.ts";
import type { TeamAgent as AgentConfig, Provider, Team } from "../../config/team.ts";
import { limitTime } from "../../sandbox/time-limit.ts";
import { embeddingTimeout, fetchEmbeddings, hasEmbeddings } from "../../providers/embeddings.ts";
import { profiles as builtInProfiles } from "../../providers/index.ts";
import type { Profile } from "../../providers/profile.ts";
import type { Egress } from "../../tools/egress/egress.ts";
import type { Redactor } from "../../tools/redaction.ts";
import type { Bindings } from "../secrets/secrets.ts";
import { readSecrets, providerReferencesOf } from "../secrets/secrets.ts";
import { gateTermsOf } from "./model-targets.ts";
import { providerOf } from "./models.ts";

/** Builds an agent's memory from its config. */

export const memoryOf = ({ memory }: AgentConfig): MemoryRules | null => {
  if (memory === undefined) return null;
  const { scope, recent, limit, threshold, min_words: minWords, write } = memory;
  return { scope, recent, limit, threshold, minWords, write };
};

interface EmbedderParts {
  readonly team: Team;
  readonly env: Bindings;
  readonly egress: Egress;
  readonly redactor: Pick<Redactor, "learn">;
  readonly profiles: readonly Profile[];
}

const createEmbedder = (
  { env, egress, redactor }: EmbedderParts,
  config: Provider,
  profile: Profile,
): Embedder => ({
  provider: config.name,
  model: config.model,
  // No caller waits for a vector: one that is not available now is omitted or requested again.
  gate: gateTermsOf(config, { maxWait: 0, total: embeddingTimeout }),
  embed: async (texts, signal) => {
    const names = [...providerReferencesOf(config), ...referencesIn(config.model).names];
    const values = await readSecrets(env, names, redactor.learn);
    const secret = (text: string): string => {
      const resolved = resolveReferences(text, (name) => values.get(name));
      if (resolved.ok) return resolved.value;
      throw new Error(unsetSecretText(`provider ${config.name}`));
    };
    const vectors = await limitTime(embeddingTimeout, signal, (within) =>
      fetchEmbeddings({ profile, config, secret, egress }, texts, within),
    );
    const by = `${config.name}/${config.model}`;
    return vectors.map((vector) => ({ by, bytes: packVector(vector) }));
  },
});

/** Creates each agent's embedder, or null without `embedding` or if its provider has no embeddings. */
export const createEmbedders = (parts: EmbedderParts): ((agent: string) => Embedder | null) => {
  const { team, profiles } = parts;
  return (name) => {
    const embedding = team.agents.find((agent) => agent.name === name)?.memory?.embedding;
    const config = embedding === undefined ? undefined : providerOf(team, embedding);
    const profile = [...profiles, ...builtInProfiles].find(({ kind }) => kind === config?.kind);
    if (config === undefined || profile === undefined || !hasEmbeddings(profile)) return null;
    return createEmbedder(parts, config, profile);
  };
};
