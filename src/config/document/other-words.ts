import type { Path } from "./diagnostics.ts";

/** This file knows what other products call the keys and names of a team file. */

interface Words {
  /** The maps whose keys they are, or the places of the names, as text of a path. */
  readonly at: RegExp;
  /** By what is meant, with a dot where a key stands deeper. */
  readonly byMeaning: Readonly<Record<string, string>>;
}

export const otherWords: readonly Words[] = [
  {
    at: /^$/,
    byMeaning: {
      entry_agent: "default_agent main main_agent root_agent start_agent",
      mcp_servers: "mcp mcpServers servers",
      providers: "endpoints llm llms model",
      schedules: "cron crons triggers",
      defaults: "common default settings",
    },
  },
  {
    at: /^providers\.\d+$/,
    byMeaning: {
      kind: "api api_type type vendor",
      base_url: "api_base endpoint host url",
      api_key: "api_key_env credentials key secret token",
      context_window: "context_length context_size max_context max_input_tokens",
      rate_limit: "limits rpm tpm",
    },
  },
  {
    at: /^providers\.\d+\.kind$/,
    byMeaning: {
      anthropic: "claude",
      gemini: "google google-genai vertex vertexai",
      grok: "x-ai xai",
      "openai-compatible":
        "azure bedrock deepseek fireworks groq litellm llama lmstudio mistral ollama openrouter together vllm",
    },
  },
  {
    at: /^mcp_servers\.\d+$/,
    byMeaning: { transport: "type", url: "address endpoint serverUrl server_url" },
  },
  {
    at: /^(agents\.\d+|defaults)$/,
    byMeaning: {
      instructions: "backstory goal prompt role system system_message system_prompt",
      toolboxes: "functions mcp mcpServers mcp_servers tools",
      provider: "api_key base_url endpoint llm",
      model: "model_id model_name",
      max_tokens: "max_completion_tokens max_output_tokens",
      reasoning: "effort reasoning_effort thinking",
      delegation: "agents handoffs sub_agents subagents",
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
  {
    at: /^toolboxes$/,
    byMeaning: {
      ask: "human user_input",
      browser: "computer playwright puppeteer web_browser",
      exec: "bash code code_interpreter command commands python shell terminal",
      filesystem: "edit file files fs",
      http: "fetch requests web web_fetch",
      search: "grep",
      tasks: "todo todos",
    },
  },
];

/** Returns which of the known keys or names somebody means by another product's word for it; null if none. */
export const findMeaning = (path: Path, word: string, known: readonly string[]): string | null => {
  const place = path.join(".");
  const { byMeaning = {} } = otherWords.find(({ at }) => at.test(place)) ?? {};
  const isMeant = ([meaning, words]: readonly [string, string]): boolean =>
    words.split(" ").includes(word) && known.includes(meaning.split(".")[0] ?? "");
  return Object.entries(byMeaning).find(isMeant)?.[0] ?? null;
};
