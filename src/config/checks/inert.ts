import { actsOf } from "../../tools/acts.ts";
import type { Act } from "../../tools/acts.ts";
import type { Tool } from "../../tools/define-tool.ts";
import { nodeAt } from "../document/located.ts";
import type { AgentShape, TeamDraft } from "../draft.ts";
import { builtInToolboxes } from "../known.ts";
import { toolsOfAgents } from "./agent-tools.ts";

/** Finds options of agents that have no effect without another one, or without a tool. */

interface Reason {
  readonly message: string;
  readonly hint: string;
}

/** Tools and options that an agent's option can act on. */
interface Means {
  readonly options: AgentShape["options"];
  /** Tools of the agent; null if the acts of some of them are unknown. */
  readonly tools: readonly Tool[] | null;
}

interface InertOption {
  readonly key: keyof AgentShape["options"];
  readonly code: "verify_inert" | "key_ignored";
  /** Returns why the option, which is set, has no effect; null if it may have one. */
  readonly explain: (means: Means) => Reason | null;
}

const limitHint = "set max_iterations above 0";

const changes: readonly Act[] = ["write", "delete"];

/** Returns whether an agent may have a tool with one of these acts. */
const mayDo = ({ tools }: Means, acts: readonly Act[]): boolean =>
  tools?.some((tool) => actsOf(tool).some((act) => acts.includes(act))) ?? true;

const inertOptions: readonly InertOption[] = [
  {
    key: "verify_command",
    code: "verify_inert",
    explain: ({ options: { verify_after_edit: edits, verify_on_breach: breach } }) =>
      edits || breach
        ? null
        : {
            message: "nothing runs this command",
            hint: "add verify_after_edit: true or verify_on_breach: true",
          },
  },
  {
    key: "verify_broad_command",
    code: "verify_inert",
    explain: ({ options }) =>
      options.verify_after_edit
        ? null
        : { message: "nothing runs this command", hint: "add verify_after_edit: true" },
  },
  {
    key: "verify_after_edit",
    code: "verify_inert",
    explain: (means) =>
      mayDo(means, changes)
        ? null
        : {
            message: "the agent has no tool that edits files, so nothing is checked",
            hint: "add filesystem to its toolboxes, or remove this",
          },
  },
  {
    key: "verify_on_breach",
    code: "verify_inert",
    explain: ({ options }) => {
      // A command that would have to be detected is not run at the turn limit.
      if (options.verify_command === "") {
        const message = "nothing is checked at the turn limit without a verify_command";
        return { message, hint: "add verify_command, like npm test" };
      }
      if (options.max_iterations > 0) return null;
      return { message: "without a limit of turns, turns are never used up", hint: limitHint };
    },
  },
  {
    key: "checkpoints",
    code: "key_ignored",
    explain: ({ options }) =>
      options.max_iterations > 0
        ? null
        : { message: "without a limit of turns, it has no shares", hint: limitHint },
  },
  {
    key: "response_schema",
    code: "key_ignored",
    explain: ({ options }) =>
      options.response_format === undefined
        ? {
            message: "no answer is held to this schema without a response_format",
            hint: "add response_format: json_schema",
          }
        : null,
  },
  {
    key: "localize",
    code: "key_ignored",
    explain: (means) =>
      mayDo(means, ["read", ...changes, "exec", "delegate"])
        ? null
        : {
            message: "the agent has no tool for the files that it would be shown",
            hint: "add filesystem to its toolboxes, or remove this",
          },
  },
];

/** Returns whether an option is set to something other than off. */
const isOn = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value));

/**
 * Returns the tools of an agent; null if a toolbox of an MCP server or an extension may reach files by its own
 * means.
 */
const knownTools = (draft: TeamDraft, { toolboxes }: AgentShape, names: ReadonlySet<string>) =>
  toolboxes.every(({ name }) => Object.hasOwn(builtInToolboxes, name))
    ? [...draft.definitions.values()].filter(({ name }) => names.has(name))
    : null;

/** Reports options without effect; one in `defaults` may be meant for those agents where it has one. */
export const checkInert = (draft: TeamDraft): void => {
  const toolsOf = toolsOfAgents(draft);
  for (const { key, code, explain } of inertOptions) {
    const found = draft.agents
      .filter(({ value }) => isOn(value.options[key]))
      .map(({ index, value }) => {
        const tools = knownTools(draft, value, toolsOf.get(value.name) ?? new Set());
        const path = ["agents", index, "options", key] as const;
        return { path, reason: explain({ options: value.options, tools }) };
      });
    const acts = found.some(({ reason }) => reason === null);
    for (const { path, reason } of found) {
      if (reason === null || (acts && nodeAt(draft.written, path) === undefined)) continue;
      draft.report(code, path, reason.message, { which: "key", hint: reason.hint });
    }
  }
};
