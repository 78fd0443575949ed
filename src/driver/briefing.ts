import type { Embedder, Memory, MemoryVector, Seen } from "../agent/definition/memory.ts";
import type { Found, FoundMemory } from "../agent/hooks/briefing.ts";
import { briefed, briefing } from "../agent/hooks/briefing.ts";
import { preparingOf } from "../agent/hooks/preparing.ts";
import { ownerOf, wordsOf } from "../agent/memory/recall.ts";
import { keptReflections, matchingReflections } from "../agent/memory/reflections.ts";
import type { Reflection } from "../agent/state/records.ts";
import type { Want } from "../agent/state/run.ts";
import type { Session } from "../agent/state/session.ts";
import { cleanText, firstCharacters, textOf } from "../chat/text.ts";
import { headAndTail } from "../chat/truncate.ts";
import type { Sandbox } from "../sandbox/contract.ts";
import { SandboxError } from "../sandbox/contract.ts";
import type { Outside } from "./work.ts";

/** Fetches what a run is told before its first turn. */

/** Milliseconds that each may take; with all its repetitions after crashes, `longest`. */
const patience: Readonly<Record<Want, number>> = { context: 10_000, reflections: 2_000, memory: 2_000 };

/** Of which an embedding may take so much: what is left is for a search by words. */
const embeddingMs = 1_200;

const longest = 60_000;

/** Characters of an input that memory is searched by. */
const longestQuery = 8_000;

/** The outcome, or null if it fails, takes too long, or nobody wants it any more. */
const within = async <T>(
  { host, signal }: Outside,
  ms: number,
  work: () => Promise<T>,
): Promise<T | null> => {
  const end = Promise.withResolvers<T | null>();
  const timer = host.after(ms, () => end.resolve(null));
  signal.addEventListener("abort", () => end.resolve(null), { once: true });
  void Promise.try(work).then(end.resolve, () => end.resolve(null));
  const outcome = await end.promise;
  timer.cancel();
  return outcome;
};

const contextOf = async ({ host }: Outside): Promise<string> => {
  const { context } = host.briefing;
  if (context === null) return "";
  return host.redactor.text(await readExternalContext(host.sandbox(), context));
};

/** What the run is about: the newest message of its chat. */
const inputOf = ({ host }: Outside, threadId: string): string =>
  textOf(host.read().threads[threadId]?.chat.at(-1)?.parts ?? []);

const reflectionsOf = async (outside: Outside, threadId: string): Promise<readonly Reflection[]> => {
  const { host } = outside;
  const { reflections } = host.briefing;
  if (reflections === null) return [];
  const task = inputOf(outside, threadId);
  const { scope, ttlMs } = reflections;
  if (scope === "tenant") return host.redactor.value(await host.reflections.find(task, ttlMs));
  const { entries } = host;
  const rows = entries
    .heads("reflections")
    .flatMap(({ key }) => (entries.entry("reflections", key)?.value ?? []) as unknown as Reflection);
  return matchingReflections(keptReflections(rows, { now: host.now(), ttlMs }), task);
};

/** What the chat holds already: its own runs, and what it was told. */
const seenIn = ({ host }: Outside, threadId: string): Seen => {
  const { id, threads } = host.read();
  const chat = threads[threadId]?.chat ?? [];
  const runs = new Set(chat.flatMap(({ run }) => run ?? []));
  return { session: id, runs: [...runs], told: chat.flatMap(({ memories }) => memories ?? []) };
};

const vectorOf = async (
  outside: Outside,
  embedder: Embedder | null,
  text: string,
): Promise<MemoryVector | null> => {
  if (embedder === null) return null;
  const vectors = await within(outside, embeddingMs, () => embedder.embed([text], outside.signal));
  return vectors?.[0] ?? null;
};

const memoryOf = async (outside: Outside, threadId: string, late: boolean): Promise<FoundMemory> => {
  const { host } = outside;
  const { memory, name } = host.agent(threadId);
  const none = { recent: [], recalled: [], wordsOnly: false };
  if (memory === null) return none;
  if (late) return { ...none, recent: null, recalled: null };
  const { limit, threshold, recent: beyond } = memory;
  const owner = ownerOf(memory, host.read());
  const seen = seenIn(outside, threadId);
  const text = host.redactor.text(firstCharacters(inputOf(outside, threadId), longestQuery));
  const recalls = limit > 0 && wordsOf(text).length >= memory.minWords;
  const embedder = recalls ? host.embedder(name) : null;
  let vector: MemoryVector | null = null;
  const recall = async (): Promise<readonly Memory[]> => {
    vector = await vectorOf(outside, embedder, text);
    return host.memory.recall(owner, { text, vector, limit, threshold, seen, beyond });
  };
  const [recent, recalled] = await Promise.all([
    beyond === 0 ? [] : within(outside, patience.memory, () => host.memory.recent(owner, beyond, seen)),
    recalls ? within(outside, patience.memory, recall) : [],
  ]);
  const wordsOnly = embedder !== null && vector === null;
  return host.redactor.value({ recent, recalled, wordsOnly });
};

const fetched = async (outside: Outside, threadId: string, want: Want, late: boolean): Promise<Found> => {
  const fetch = <T>(work: () => Promise<T>): Promise<T | null> =>
    late ? Promise.resolve(null) : within(outside, patience[want], work);
  switch (want) {
    case "context":
      return { context: await fetch(() => contextOf(outside)) };
    case "reflections":
      return { reflections: await fetch(() => reflectionsOf(outside, threadId)) };
    case "memory":
      return { memory: await memoryOf(outside, threadId, late) };
  }
};

/** Carries the stored intent out; a second time after a crash, since it only reads. */
export const brief = async (outside: Outside, threadId: string): Promise<void> => {
  const { host, settle } = outside;
  const run = host.read().threads[threadId]?.run ?? null;
  const phase = preparingOf(run);
  if (run === null || phase === null) return;
  const late = host.now() >= phase.startedAt + longest;
  const { wants = [] } = run;
  const found = await Promise.all(wants.map((want) => fetched(outside, threadId, want, late)));
  const isCurrent = ({ threads }: Session): boolean => {
    const now = threads[threadId]?.run ?? null;
    const at = preparingOf(now);
    return now?.id === run.id && at?.effect === briefing && at.round === phase.round && at.until === null;
  };
  settle((draft) => {
    if (isCurrent(draft.state)) briefed(draft, threadId, Object.assign({}, ...found) as Found);
  });
};

/** Project context that a workspace brings along. */

const named = ["AGENTS.md", "CLAUDE.md", ".cursorrules"];

const rulesFolder = ".cursor/rules";

const mostRules = 50;

/** A shorter rest of a text is worth nothing. */
const leastCharacters = 100;

/** No such path, or a file where a folder should be. */
const absent: readonly string[] = ["workspace_read_not_found", "conflict"];

const orNothing = async <T>(work: Promise<T>, nothing: T): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof SandboxError && absent.includes(error.code)) return nothing;
    throw error;
  }
};

/** The first bytes of a file as text; nothing if there is no such file. */
const textAt = async (sandbox: Sandbox, path: string, bytes: number): Promise<string> => {
  const stat = await orNothing(sandbox.stat(path), null);
  const length = Math.min(stat?.size ?? 0, bytes);
  if (stat?.type !== "file" || length === 0) return "";
  const content = await sandbox.read(path, { offset: 0, length });
  // A character that the limit cuts is left out.
  const text = new TextDecoder().decode(content, { stream: true });
  return cleanText(text.replaceAll("\r\n", "\n"));
};

const withoutFrontmatter = (text: string): string =>
  text.replace(/^---[ \t]*\n(?:[\s\S]*?\n)?---[ \t]*(?:\n|$)/, "");

const rulePaths = async (sandbox: Sandbox): Promise<readonly string[]> => {
  const found = await orNothing(sandbox.list(rulesFolder), []);
  return found
    .filter(({ name, type }) => type === "file" && name.endsWith(".mdc"))
    .map(({ name }) => `${rulesFolder}/${name}`)
    .toSorted()
    .slice(0, mostRules);
};

/** What stands in AGENTS.md, CLAUDE.md, .cursorrules and .cursor/rules/*.mdc, joined by blank lines and cut to `characters`. Throws if the workspace cannot be read. */
const readExternalContext = async (
  sandbox: Sandbox,
  { fileBytes, characters }: { readonly fileBytes: number; readonly characters: number },
): Promise<string> => {
  const texts: string[] = [];
  for (const path of named) texts.push(await textAt(sandbox, path, fileBytes));
  for (const path of await rulePaths(sandbox))
    texts.push(withoutFrontmatter(await textAt(sandbox, path, fileBytes)));
  const text = texts
    .map((each) => each.trim())
    .filter((each) => each !== "")
    .join("\n\n");
  const whole = [...text].length <= characters;
  return whole || characters >= leastCharacters ? headAndTail(text, characters) : "";
};
