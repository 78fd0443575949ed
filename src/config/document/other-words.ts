import type { Path } from "./diagnostics.ts";

/** Recognises other products' words for keys and names of a team file. */

interface Words {
  /** Path of a map, for its keys, or of a value that is a name; parts are joined by dots. */
  readonly at: RegExp;
  /** Words by meaning, with a dot before a nested key; case, _ and - do not count. */
  readonly byMeaning: Readonly<Record<string, string>>;
}

/** Path of any entry of a list of toolboxes. */
export const toolboxPlace: Path = ["toolboxes"];

export const otherWords: readonly Words[] = [
  {
    at: /^$/,
    byMeaning: {
      entry_agent: "default_agent main main_agent root_agent start_agent",
      mcp_servers: "mcp servers",
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
      "rate_limit.input_tpm": "tpm",
    },
  },
  {
    at: /^providers\.\d+\.kind$/,
    byMeaning: {
      anthropic: "claude",
      gemini: "google google-genai vertex vertexai",
      grok: "xai",
      "openai-compatible":
        "azure bedrock deepseek fireworks groq litellm llama lmstudio mistral ollama openrouter together vllm",
    },
  },
  { at: /^mcp_servers\.\d+$/, byMeaning: { transport: "type", url: "address endpoint server_url" } },
  {
    at: /^(agents\.\d+|defaults)$/,
    byMeaning: {
      instructions: "backstory goal prompt role system system_message system_prompt",
      toolboxes: "functions mcp mcp_servers tools",
      provider: "llm",
      model: "model_id model_name",
      max_tokens: "max_completion_tokens max_output_tokens",
      reasoning: "thinking",
      "reasoning.effort": "effort reasoning_effort",
      delegation: "agents handoffs subagents",
      permissions: "approval approvals human_in_the_loop interrupt_before interrupt_on require_approval",
      guards: "guardrails",
      middleware: "callbacks hooks middlewares",
      effects: "compaction context_management summarization",
      "options.max_iterations": "iterations max_loops max_rounds max_steps max_turns",
      "options.context_window": "context_length context_size",
      "guards.budget": "budget budgets",
      "guards.budget.max_cost_usd": "max_budget max_cost max_price",
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

/** Returns a word in the form in which spellings are compared: case, _ and - do not count. */
export const plainWord = (word: string): string => word.toLowerCase().replaceAll(/[_-]/g, "");

/** Returns the known key or name for another product's word; null if there is none. */
export const findMeaning = (path: Path, word: string, known: readonly string[]): string | null => {
  const place = path.join(".");
  const given = plainWord(word);
  const { byMeaning = {} } = otherWords.find(({ at }) => at.test(place)) ?? {};
  const isMeant = ([meaning, words]: readonly [string, string]): boolean =>
    words.split(" ").some((each) => plainWord(each) === given) && known.includes(meaning.split(".")[0] ?? "");
  return Object.entries(byMeaning).find(isMeant)?.[0] ?? null;
};
