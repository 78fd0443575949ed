import type { ModelOverride } from "../model/schema.ts";
import type { Completer } from "../model/completer.ts";
import { createScriptedCompleter } from "../model/scripted/scripted.ts";
import type { Egress } from "../tools/egress/egress.ts";
import { anthropic } from "./anthropic.ts";
import { gemini } from "./gemini.ts";
import { grok } from "./grok.ts";
import { openaiCompatible } from "./openai-compatible.ts";
import { openai } from "./openai.ts";
import type { Profile } from "./profile.ts";
import type { ProviderConfig } from "./schema.ts";
import type { SecretReader } from "./secrets.ts";
import { createWireCompleter } from "./wire-completer.ts";

/** Every provider that speaks a wire. `scripted` is none: it answers from its script. */
export const profiles: readonly Profile[] = [anthropic, openai, grok, gemini, openaiCompatible];

export interface CompleterOptions {
  /** The compiled provider section. */
  readonly config: ProviderConfig;
  /** Absent: the provider's own model. */
  readonly model?: string;
  /** `models.<id>` of the team file for this model. */
  readonly override?: ModelOverride | undefined;
  readonly secret: SecretReader;
  readonly egress: Egress;
  readonly now?: () => number;
  /** Path of the section in the team file (`providers[0]`), for errors. */
  readonly field?: string;
  /** Provider kinds of the team's extensions. */
  readonly extensions?: readonly Profile[];
}

/**
 * The completer of one provider section and model. It is cheap and stateless but for the SDK client, so one can be kept
 * for each lane. Throws for a kind that nobody knows and for a scripted provider without script: the build checks both.
 */
export const createCompleter = (options: CompleterOptions): Completer => {
  const { config, model = config.model, override, extensions = [] } = options;
  const now = options.now ?? (() => Date.now());
  if (config.kind === "scripted") {
    if (config.script === undefined) throw new Error(`provider ${config.name}: scripted needs a script`);
    const price = override?.price;
    return createScriptedCompleter(config.script, {
      provider: config.name,
      model,
      now,
      ...(price === undefined ? {} : { price: () => price }),
    });
  }
  const profile = [...extensions, ...profiles].find(({ kind }) => kind === config.kind);
  if (profile === undefined) throw new Error(`provider ${config.name}: unknown kind ${config.kind}`);
  const { secret, egress, field = `providers.${config.name}` } = options;
  return createWireCompleter({ profile, config, model, override, secret, egress, now, field });
};
