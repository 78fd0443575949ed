import { estimateText } from "../chat/tokens.ts";
import { escapeTags } from "../chat/render.ts";
import type { Agent as AgentConfig, Team } from "../config/team.ts";

/** The system prompt (AG-3 to AG-6): a pure function of the definition, equal for every thread of an agent. */

export interface Prompt {
  readonly text: string;
  readonly tokens: number;
}

const section = (name: string, body: string): readonly string[] =>
  body === "" ? [] : [`<${name}>\n${body}\n</${name}>`];

const identity = ({ name, description }: AgentConfig): string =>
  description === "" ? `You are ${name}.` : `You are ${name}: ${description}`;

const prompt = (sections: readonly string[]): Prompt => {
  const text = sections.join("\n\n");
  return { text, tokens: estimateText(text) };
};

/** The whole prompt: identity, instructions, project context, skills inlined and on offer; empty sections are left out. */
export const buildPrompt = (team: Team, agent: AgentConfig): Prompt => {
  const skills = team.skills.filter(({ name }) => agent.skills.includes(name));
  const inlined = skills.filter(({ description }) => description === null);
  const offered = skills.filter(({ description }) => description !== null);
  return prompt([
    ...section("identity", identity(agent)),
    ...section("instructions", agent.instructions),
    ...section("project_context", escapeTags(team.context_text)),
    ...section("skills", inlined.map(({ name, body }) => `### ${name}\n${escapeTags(body)}`).join("\n\n")),
    ...section(
      "available_skills",
      offered.length === 0
        ? ""
        : `${offered.map(({ name, description }) => `- ${name}: ${escapeTags(description ?? "")}`).join("\n")}\nUse load_skill to read one before you rely on it.`,
    ),
  ]);
};

/** The minimal prompt of a `light` input: identity and the heartbeat text (AG-5). */
export const buildLightPrompt = (team: Team, agent: AgentConfig): Prompt =>
  prompt([
    ...section("identity", identity(agent)),
    ...section("project_context", escapeTags(team.heartbeat_text)),
  ]);
