/** Describes how a thread's agent calls others. */

/** What callers see of an agent. */
export interface AgentCard {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly Capability[];
  readonly skills_tags: readonly string[];
  readonly estimated_cost: "cheap" | "medium" | "expensive" | null;
  /** Whether calls to the agent always run in the background. */
  readonly async: boolean;
}

export interface Delegation {
  /** Whether the agent may start children here. */
  readonly allowed: boolean;
  /** Sorted by name, without the agent itself. */
  readonly callable: readonly AgentCard[];
  /** Names every agent of the team. */
  readonly names: readonly string[];
  /** Whether the agent may choose the background for a task. */
  readonly async: boolean;
  /** Providers that the agent may choose for a child. */
  readonly providers: readonly string[];
  /** Folder of the workspace from which the `writable_paths` of a task count. */
  readonly workingDir: string;
  /** Whether children may ask the agent, unless a task says otherwise. */
  readonly interactive: boolean;
  /** Is true if the agent has the tools to manage children that it does not wait for. */
  readonly manages: boolean;
  readonly maxChildrenPerCall: number;
  /** Number of threads that a run may have, including those below its children. */
  readonly maxThreads: number;
  readonly maxConcurrent: number;
  /** Longest context of a task, in characters. */
  readonly maxContextLength: number;
  readonly maxResultLength: number;
  readonly maxHandoffs: number;
  readonly progressUpdates: boolean;
  /** Times are in milliseconds. */
  readonly announce: { readonly timeout: number; readonly retries: number; readonly backoff: number };
}

/** The delegation of an agent that can do nothing; what its children came to is kept for it as it is. */
export const noDelegation: Delegation = {
  allowed: false,
  callable: [],
  names: [],
  async: false,
  providers: [],
  workingDir: ".",
  interactive: false,
  manages: false,
  maxChildrenPerCall: 0,
  maxThreads: 0,
  maxConcurrent: 1,
  maxContextLength: Infinity,
  maxResultLength: Infinity,
  maxHandoffs: 0,
  progressUpdates: false,
  announce: { timeout: 0, retries: 0, backoff: 0 },
};

/** Returns the text for an agent at its depth limit. */
export const depthLimitText = (depth: number): string =>
  `at depth ${depth} no further agent may be called; do it yourself`;

export interface Capability {
  readonly name: string;
  readonly languages: readonly string[];
  /** Strength in (0, 1]. */
  readonly strength: number;
}

interface CapabilityMatch {
  readonly agentId: string;
  /** Score above 0, with four decimals. */
  readonly score: number;
  readonly matchedCap: string;
}

const phraseBonus = 0.5;

const languageBonus = 0.25;

const mostLanguageBonus = 0.5;

const aliases: Readonly<Record<string, string>> = {
  golang: "go",
  javascript: "js",
  typescript: "ts",
  python: "py",
};

/** Replaces the other names of languages by the one that is compared. */
const useOneName = (words: readonly string[]): readonly string[] =>
  words.map((word) => aliases[word] ?? word);

const normalizeText = (text: string): string => text.normalize("NFKC").toLowerCase();

/** Splits a text into words: runs of letters, digits, `+`, `#` and inner dots. */
const wordsOf = (text: string): readonly string[] =>
  normalizeText(text).match(/[\p{L}\p{M}\p{N}+#]+(?:\.[\p{L}\p{M}\p{N}+#]+)*/gu) ?? [];

const partsOf = (name: string): readonly string[] =>
  normalizeText(name)
    .split(/[-_\s]+/u)
    .filter((part) => part !== "");

const isSimilar = (one: string, other: string): boolean => {
  if (one === other) return true;
  if (one.charCodeAt(0) !== other.charCodeAt(0)) return false;
  const [left, right] = [[...one], [...other]];
  const shorter = Math.min(left.length, right.length);
  let common = 0;
  while (common < shorter && left[common] === right[common]) common += 1;
  return common >= Math.max(4, shorter - 1);
};

/** Returns whether the words of `phrase` follow each other in `words`. */
const containsPhrase = (
  words: readonly string[],
  phrase: readonly string[],
  equal: (one: string, other: string) => boolean,
): boolean =>
  phrase.length > 0 &&
  words.some((_, start) =>
    phrase.every((part, offset) => {
      const word = words[start + offset];
      return word !== undefined && equal(part, word);
    }),
  );

const languageWords = (text: string): readonly string[] => useOneName(wordsOf(text));

const countNamedLanguages = (plain: readonly string[], languages: readonly string[]): number => {
  const wanted = new Map(languages.map((each) => [languageWords(each).join(" "), languageWords(each)]));
  return [...wanted.values()].filter((language) => containsPhrase(plain, language, (a, b) => a === b)).length;
};

const scoreOf = (
  words: readonly string[],
  plain: readonly string[],
  { name, languages, strength }: Capability,
): number => {
  const parts = partsOf(name);
  if (parts.length === 0) return 0;
  const matched = parts.filter((part) => words.some((word) => isSimilar(part, word))).length;
  const phrase = containsPhrase(words, parts, isSimilar) ? phraseBonus : 0;
  const language = Math.min(mostLanguageBonus, languageBonus * countNamedLanguages(plain, languages));
  return Math.round((matched / parts.length + phrase + language) * strength * 10_000) / 10_000;
};

/** Ranks agents by how well their capabilities fit a text, then by name; leaves out those that do not fit. */
export const matchCapabilities = (
  agents: readonly { readonly name: string; readonly capabilities: readonly Capability[] }[],
  text: string,
): readonly CapabilityMatch[] => {
  const words = wordsOf(text);
  const plain = useOneName(words);
  return agents
    .flatMap(({ name, capabilities }): CapabilityMatch[] => {
      const scored = capabilities.map((each) => ({
        score: scoreOf(words, plain, each),
        matchedCap: each.name,
      }));
      const best = Math.max(0, ...scored.map(({ score }) => score));
      const first = scored.find(({ score }) => score === best);
      return best === 0 || first === undefined ? [] : [{ agentId: name, ...first }];
    })
    .sort((a, b) => b.score - a.score || (a.agentId < b.agentId ? -1 : 1));
};

/** Formats capabilities like this: `code-review [go, python] (0.9), docs`. */
export const formatCapabilities = (capabilities: readonly Capability[]): string =>
  capabilities
    .map(({ name, languages, strength }) => {
      const spoken = languages.length === 0 ? "" : ` [${languages.join(", ")}]`;
      return `${name}${spoken}${strength === 1 ? "" : ` (${strength})`}`;
    })
    .join(", ");
