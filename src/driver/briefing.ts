import type { Embedder, Memory, MemoryVector, RecallExclusions } from "../agent/definition/memory.ts";
import type { BriefingResult, BriefingMemory } from "../agent/hooks/briefing.ts";
import { applyBriefing } from "../agent/hooks/briefing.ts";
import { isPreparing, preparingPhaseOf } from "../agent/hooks/preparing.ts";
import type { ServerAnswer, WantedServer } from "../agent/hooks/servers.ts";
import { keepConnection, wantedServers } from "../agent/hooks/servers.ts";
import { memoryOwnerOf } from "../agent/memory/memories.ts";
import { pruneReflections, matchReflections } from "../agent/memory/reflections.ts";
import type { Reflection } from "../agent/state/records.ts";
import type { BriefingTopic } from "../agent/state/run.ts";
import { firstCharacters, textOf, wordsOf } from "../chat/text.ts";
import { isLonger, truncateText } from "../chat/truncate.ts";
import type { LocalizedFile, Sandbox } from "../sandbox/contract.ts";
import { localizeTermsOf } from "../sandbox/localize-terms.ts";
import { readOrDefault, readText } from "./workspace-files.ts";
import type { WorkContext } from "./host.ts";
import { withTimeout } from "./host.ts";
import { selectThread } from "../agent/transaction/draft.ts";

/** Fetches what the model learns about its surroundings before the first turn of a run. */

/** Milliseconds for each fetch. */
const topicTimeoutMs: Readonly<Record<BriefingTopic, number>> = {
  context: 10_000,
  reflections: 2_000,
  memory: 2_000,
  localize: 10_000,
  servers: 20_000,
};

/** Milliseconds for the embedding within that time; the rest is left for a search by words. */
const embeddingMs = 1_200;

/** Milliseconds for a look at the approvals of a server's tools. */
const approvalsMs = 2_000;

/** Milliseconds for all fetches, with their repetitions after crashes. */
const longestMs = 60_000;

/** Characters of an input that memory is searched by. */
const longestQuery = 8_000;

const fetchProjectContext = async ({ host }: WorkContext): Promise<string> => {
  const { context } = host.briefing;
  if (context === null) return "";
  return host.redactor.text(await readExternalContext(host.sandbox(), context));
};

/** Returns the newest message of the chat: the input or task of the run. */
const newestTextOf = ({ host }: WorkContext, threadId: string): string =>
  textOf(host.read().threads[threadId]?.chat.at(-1)?.parts ?? []);

const fetchReflections = async (work: WorkContext, threadId: string): Promise<readonly Reflection[]> => {
  const { host } = work;
  const { reflections } = host.briefing;
  if (reflections === null) return [];
  const task = newestTextOf(work, threadId);
  const { scope, ttlMs } = reflections;
  if (scope === "tenant") return host.redactor.value(await host.reflections.find(task, ttlMs));
  const { entries } = host;
  const rows = entries
    .heads("reflections")
    .flatMap(({ key }) => (entries.entry("reflections", key)?.value ?? []) as unknown as Reflection);
  return matchReflections(pruneReflections(rows, { now: host.now(), ttlMs }), task);
};

/** Lists what the chat already holds, so that it is not recalled: its own runs and the memories it has seen. */
const recallExclusionsOf = ({ host }: WorkContext, threadId: string): RecallExclusions => {
  const { id, threads } = host.read();
  const chat = threads[threadId]?.chat ?? [];
  const runs = new Set(chat.flatMap(({ run }) => run ?? []));
  return { session: id, runs: [...runs], told: chat.flatMap(({ memories }) => memories ?? []) };
};

const embedQuery = async (
  work: WorkContext,
  embedder: Embedder | null,
  text: string,
): Promise<MemoryVector | null> => {
  if (embedder === null) return null;
  const vectors = await withTimeout(work, embeddingMs, (ending) => embedder.embed([text], ending.signal()));
  return vectors?.[0] ?? null;
};

const fetchMemory = async (work: WorkContext, threadId: string, late: boolean): Promise<BriefingMemory> => {
  const { host } = work;
  const { memory, name } = host.agent(threadId);
  const none = { recent: [], recalled: [], wordsOnly: false };
  if (memory === null) return none;
  if (late) return { ...none, recent: null, recalled: null };
  const { limit, threshold, recent: beyond } = memory;
  const owner = memoryOwnerOf(memory, host.read());
  const seen = recallExclusionsOf(work, threadId);
  const text = host.redactor.text(firstCharacters(newestTextOf(work, threadId), longestQuery));
  const recalls = limit > 0 && wordsOf(text).length >= memory.minWords;
  const embedder = recalls ? host.embedder(name) : null;
  let vector: MemoryVector | null = null;
  const recall = async (): Promise<readonly Memory[]> => {
    vector = await embedQuery(work, embedder, text);
    return host.memory.recall(owner, { text, vector, limit, threshold, seen, beyond });
  };
  const [recent, recalled] = await Promise.all([
    beyond === 0
      ? []
      : withTimeout(work, topicTimeoutMs.memory, () => host.memory.recent(owner, beyond, seen)),
    recalls ? withTimeout(work, topicTimeoutMs.memory, recall) : [],
  ]);
  const wordsOnly = embedder !== null && vector === null;
  return host.redactor.value({ recent, recalled, wordsOnly });
};

/** Finds the files that the run's input may be about; null if rules close the workspace to the agent. */
const fetchLocalized = async (
  work: WorkContext,
  threadId: string,
): Promise<readonly LocalizedFile[] | null> => {
  const { host } = work;
  const { localize, workingDir: directory } = host.agent(threadId);
  const closed = localize?.() ?? null;
  const terms = localizeTermsOf(host.redactor.text(newestTextOf(work, threadId)));
  if (closed === null || terms === null) return null;
  const sandbox = host.sandbox().closing(closed);
  return host.redactor.value(await sandbox.localize({ ...terms, directory }));
};

/** Asks a server for its tools; returns null if the session keeps its list. */
const askServer = async (
  work: WorkContext,
  { name: server, over, kept }: WantedServer,
  late: boolean,
): Promise<ServerAnswer | null> => {
  const { host } = work;
  if (kept !== null) {
    const isChanged = late
      ? null
      : await withTimeout(work, approvalsMs, () => host.servers.hasNewApprovals(server, kept));
    if (isChanged !== true) return null;
  }
  const answer = late
    ? null
    : await withTimeout(work, topicTimeoutMs.servers, (ending) =>
        host.servers.list(server, over, {
          signal: ending.signal(),
          sandbox: () => host.sandbox(),
          keep: (connection) => host.update((draft) => keepConnection(draft, server, connection, over)),
        }),
      );
  return answer ?? { server, ok: false, state: "failed", reason: "no answer came in time" };
};

/** Asks the run's MCP servers for their tools, each for itself, so that a slow one holds up no other's list. */
const fetchServers = async (
  work: WorkContext,
  threadId: string,
  late: boolean,
): Promise<readonly ServerAnswer[]> => {
  const { host } = work;
  const wanted = wantedServers(host.read(), threadId, (id) => host.agent(id), host.now());
  const answers = await Promise.all(wanted.map((server) => askServer(work, server, late)));
  return answers.filter((answer) => answer !== null);
};

const fetchTopic = async (
  context: WorkContext,
  threadId: string,
  want: BriefingTopic,
  late: boolean,
): Promise<BriefingResult> => {
  const fetch = <T>(work: () => Promise<T>): Promise<T | null> =>
    late ? Promise.resolve(null) : withTimeout(context, topicTimeoutMs[want], work);
  switch (want) {
    case "context":
      return { context: await fetch(() => fetchProjectContext(context)) };
    case "reflections":
      return { reflections: await fetch(() => fetchReflections(context, threadId)) };
    case "memory":
      return { memory: await fetchMemory(context, threadId, late) };
    case "localize":
      return { localize: await fetch(() => fetchLocalized(context, threadId)) };
    case "servers":
      return { servers: await fetchServers(context, threadId, late) };
  }
};

/** Carries out the stored intent; it may run again after a crash, since it only reads. */
export const fetchBriefing = async (work: WorkContext, threadId: string): Promise<void> => {
  const { host, settle } = work;
  const run = host.read().threads[threadId]?.run ?? null;
  const phase = preparingPhaseOf(run);
  if (run === null || phase === null) return;
  const late = host.now() >= phase.startedAt + longestMs;
  const { briefingTopics } = run;
  const found = await Promise.all(briefingTopics.map((want) => fetchTopic(work, threadId, want, late)));
  settle((draft) => {
    if (isPreparing(draft.state, threadId, phase))
      applyBriefing(selectThread(draft, threadId), Object.assign({}, ...found) as BriefingResult);
  });
};

const contextFiles = ["AGENTS.md", "CLAUDE.md", ".cursorrules"];

const rulesFolder = ".cursor/rules";

const mostRules = 50;

/** Number of characters below which a remainder is not worth adding. */
const leastCharacters = 100;

const stripFrontmatter = (text: string): string =>
  text.replace(/^---[ \t]*\n(?:[\s\S]*?\n)?---[ \t]*(?:\n|$)/, "");

const listRulePaths = async (sandbox: Sandbox): Promise<readonly string[]> => {
  const found = await readOrDefault(sandbox.list(rulesFolder), []);
  return found
    .filter(({ name, type }) => type === "file" && name.endsWith(".mdc"))
    .map(({ name }) => `${rulesFolder}/${name}`)
    .toSorted()
    .slice(0, mostRules);
};

/** Joins AGENTS.md, CLAUDE.md, .cursorrules and .cursor/rules/*.mdc, cut to `characters`. Throws if reading fails. */
const readExternalContext = async (
  sandbox: Sandbox,
  { fileBytes, characters }: { readonly fileBytes: number; readonly characters: number },
): Promise<string> => {
  const texts: string[] = [];
  for (const path of contextFiles) texts.push(await readText(sandbox, path, fileBytes));
  for (const path of await listRulePaths(sandbox))
    texts.push(stripFrontmatter(await readText(sandbox, path, fileBytes)));
  const text = texts
    .map((each) => each.trim())
    .filter((each) => each !== "")
    .join("\n\n");
  const whole = !isLonger(text, characters);
  return whole || characters >= leastCharacters ? truncateText(text, characters) : "";
};
