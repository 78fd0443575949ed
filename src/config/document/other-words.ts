import type { Path } from "./diagnostics.ts";

/** This file knows what other products call the keys of a team file. */

interface Words {
  /** The maps whose keys they are, as text of a path. */
  readonly at: RegExp;
  /** By the key that is meant, with a dot where it stands deeper. */
  readonly byKey: Readonly<Record<string, string>>;
}

export const otherWords: readonly Words[] = [
  {
    at: /^$/,
    byKey: {
      entry_agent: "default_agent main main_agent root_agent start_agent",
      mcp_servers: "mcp mcpServers servers",
      providers: "endpoints llm llms model",
      schedules: "cron crons triggers",
      defaults: "common default settings",
    },
  },
  {
    at: /^providers\.\d+$/,
    byKey: {
      kind: "api api_type type vendor",
      base_url: "api_base endpoint host url",
      api_key: "api_key_env credentials key secret token",
      context_window: "context_length context_size max_context max_input_tokens",
      rate_limit: "limits rpm tpm",
    },
  },
  {
    at: /^(agents\.\d+|defaults)$/,
    byKey: {
      instructions: "backstory goal prompt role system system_message system_prompt",
      toolboxes: "functions mcp mcpServers mcp_servers tools",
      provider: "api_key base_url endpoint llm",
      model: "model_id model_name",
      max_tokens: "max_completion_tokens max_output_tokens",
      reasoning: "effort reasoning_effort thinking",
      delegation: "agents handoffs sub_agents subagents team",
      permissions: "approval approvals human_in_the_loop interrupt_before interrupt_on require_approval",
      guards: "guardrails limits",
      middleware: "callbacks hooks middlewares",
      effects: "compaction context_management summarization",
      "options.max_iterations": "iterations max_iterations max_loops max_rounds max_steps max_turns",
      "options.context_window": "context_length context_size context_window",
      "guards.budget": "budget max_budget max_cost max_cost_usd max_price",
      "guards.budget.max_duration": "deadline max_duration max_time timeout",
    },
  },
];

/** Returns which of the known keys somebody means who writes another product's word for it; null if none. */
export const findMeantKey = (path: Path, key: string, known: readonly string[]): string | null => {
  const place = path.join(".");
  const { byKey = {} } = otherWords.find(({ at }) => at.test(place)) ?? {};
  const isMeant = ([meant, words]: readonly [string, string]): boolean =>
    words.split(" ").includes(key) && known.includes(meant.split(".")[0] ?? "");
  return Object.entries(byKey).find(isMeant)?.[0] ?? null;
};
