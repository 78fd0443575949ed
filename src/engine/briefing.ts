import type { BriefingRules } from "../agent/definition/memory.ts";
import type { Team } from "../config/team.ts";

/** Returns the rules of briefings; the curated context stays whole, whatever context the workspace adds. */
export const briefingOf = ({ context, context_text: curated, reflections }: Team): BriefingRules => ({
  context: context.external
    ? {
        fileBytes: context.max_external_file_size,
        // A blank line separates the two contexts.
        characters: Math.max(0, context.max_chars - (curated === "" ? 0 : [...curated].length + 2)),
      }
    : null,
  reflections: reflections === undefined ? null : { scope: reflections.scope, ttlMs: reflections.ttl },
});
