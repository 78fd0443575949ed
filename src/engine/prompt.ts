import { formatCapabilities } from "../agent/definition/delegation.ts";
import type { AgentCard } from "../agent/definition/delegation.ts";
import { estimateText } from "../chat/tokens.ts";
import { escapeTags } from "../chat/render.ts";
import type { TeamAgent as AgentConfig, Team } from "../config/team.ts";

/** Builds the system prompt, a pure function of the definition and the agent's place in the call tree. */

export interface Prompt {
  readonly text: string;
  readonly tokens: number;
}

/** An agent's place in the call tree; what varies by depth comes last, so that threads share the beginning. */
export interface PromptFacts {
  readonly tools: ReadonlySet<string>;
  readonly callable: readonly AgentCard[];
  /** Whether another agent called this one. */
  readonly called: boolean;
  /** Instructions of a nameless agent, which replace the caller's. */
  readonly nameless: string | null;
  /** Project context of the workspace. */
  readonly external: string;
}

const sectionOf = (name: string, body: string): readonly string[] =>
  body === "" ? [] : [`<${name}>\n${body}\n</${name}>`];

const identityLine = ({ name, description }: AgentConfig): string =>
  description === "" ? `You are ${name}.` : `You are ${name}: ${description}`;

const createPrompt = (sections: readonly string[]): Prompt => {
  const text = sections.join("\n\n");
  return { text, tokens: estimateText(text) };
};

/** Formats a card on one line, whatever its author wrote. */
const cardLine = (card: AgentCard): string => {
  const fields = [
    `- ${card.name}: ${card.description}`,
    ...(card.capabilities.length === 0 ? [] : [`can: ${formatCapabilities(card.capabilities)}`]),
    ...(card.skills_tags.length === 0 ? [] : [`tags: ${card.skills_tags.join(", ")}`]),
    ...(card.estimated_cost === null ? [] : [`cost: ${card.estimated_cost}`]),
  ];
  return escapeTags(fields.join(" | ").replaceAll(/\s+/g, " "));
};

/** Explains how to use notes, if the agent has any. */
const notesProtocol = (tools: ReadonlySet<string>): string => {
  if (!tools.has("list_notes")) return "";
  const said = [
    "Notes outlast your context, and everyone who shares them can read them.",
    `Before you begin, look at the existing notes with list_notes${tools.has("read_note") ? " and read_note" : ""}.`,
    ...(tools.has("write_note")
      ? [
          "With write_note, record what will be needed later: decisions, findings, what is done and what is left.",
        ]
      : []),
  ];
  return said.join("\n");
};

/** Lists the agents that an agent may call, if it can call any. */
const availableAgents = ({ tools, callable }: PromptFacts): string =>
  ["delegate_to_agent", "spawn_agents", "dispatch_tasks"].some((name) => tools.has(name))
    ? callable.map(cardLine).join("\n")
    : "";

/** Explains how a called agent ends. */
const completionProtocol = ({ tools, called }: PromptFacts): string => {
  if (!called) return "";
  const said = [
    "Another agent gave you this task and reads your result; it sees nothing else of your work.",
    tools.has("task_complete")
      ? "When the task is done, or cannot be done, call task_complete with the status and a summary that stands on its own."
      : "Your last message is your result: let it stand on its own.",
    ...(tools.has("request_input")
      ? ["If you lack something that only your caller knows, ask it with request_input."]
      : []),
    ...(tools.has("handoff")
      ? ["If another agent fits the task better, hand it over with handoff instead of finishing it."]
      : []),
  ];
  return said.join("\n");
};

const identityOf = (agent: AgentConfig, { nameless }: PromptFacts): string =>
  nameless === null ? identityLine(agent) : "You are an agent that works on one task.";

/** Puts the external context first and the curated one last. */
const projectContext = ({ context_text }: Team, { external }: PromptFacts): string =>
  [external, context_text].filter((text) => text !== "").join("\n\n");

/** Builds the whole prompt in its fixed order; empty sections are left out. */
export const buildPrompt = (team: Team, agent: AgentConfig, facts: PromptFacts): Prompt => {
  const skills = team.skills.filter(({ name }) => agent.skills.includes(name));
  const inlined = skills.filter(({ description }) => description === null);
  const offered = skills.filter(({ description }) => description !== null);
  return createPrompt([
    ...sectionOf("identity", identityOf(agent, facts)),
    ...sectionOf("instructions", facts.nameless === null ? agent.instructions : escapeTags(facts.nameless)),
    ...sectionOf("notes_protocol", notesProtocol(facts.tools)),
    ...sectionOf("project_context", escapeTags(projectContext(team, facts))),
    ...sectionOf("skills", inlined.map(({ name, body }) => `### ${name}\n${escapeTags(body)}`).join("\n\n")),
    ...sectionOf(
      "available_skills",
      offered.length === 0
        ? ""
        : `${offered.map(({ name, description }) => `- ${name}: ${escapeTags(description ?? "")}`).join("\n")}\nUse load_skill to read one before you rely on it.`,
    ),
    ...sectionOf("available_agents", availableAgents(facts)),
    ...sectionOf("completion_protocol", completionProtocol(facts)),
  ]);
};

/** Builds the minimal prompt of a `light` input: identity and the heartbeat text. */
export const buildLightPrompt = (team: Team, agent: AgentConfig): Prompt =>
  createPrompt([
    ...sectionOf("identity", identityLine(agent)),
    ...sectionOf("project_context", escapeTags(team.heartbeat_text)),
  ]);
