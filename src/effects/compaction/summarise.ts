import type { EffectCall, EffectContext } from "../../agent/definition/effect.ts";
import type { EffectReply } from "../../agent/state/phase.ts";
import { callsOf } from "../../chat/view.ts";
import { textOf } from "../../chat/text.ts";
import type { FinishReason } from "../../model/completer.ts";
import {
  chunkSize,
  groupBySize,
  isQuotable,
  leastBudget,
  splitIntoChunks,
  transcriptBudget,
  truncateToTokens,
} from "./chunks.ts";
import { summaryMessage } from "./message.ts";
import { mergeCall, transcriptCall } from "./prompts.ts";
import type { SummaryForm, SummaryPart, SummaryRequest } from "./prompts.ts";
import type { MessageRange } from "./range.ts";
import { summaryTokens } from "./shadow.ts";
import { pieceOf } from "./transcript.ts";
import type { TranscriptPiece } from "./transcript.ts";

/** Lets a model summarise a range: in one call, or chunk by chunk and merged. */

type SummaryContext = Pick<EffectContext, "complete" | "signal" | "tokens" | "task" | "records" | "run">;

/** Range to summarise; the same job makes the same calls, so that storage can answer them after a crash. */
export interface SummaryJob {
  readonly context: SummaryContext;
  readonly form: SummaryForm;
  readonly range: MessageRange;
  /** Tokens of the range as the model sees it; the summary must be smaller. */
  readonly shown: number;
  readonly window: number;
  readonly instructions: string | null;
  /** Number of the try that a person asked for, from 1. */
  readonly round: number;
}

export type SummaryOutcome =
  | { readonly ok: true; readonly text: string; readonly attempts: number }
  | { readonly ok: false; readonly error: string; readonly attempts: number };

/** Replies within one run of the strategy by their prompt: no prompt is sent twice. */
export type RepliesByPrompt = Map<string, EffectReply>;

const mostOutput = 4_096;
const leastOutput = 512;

/** Makes a call, unless the run was cancelled in the meantime. */
const runCall = ({ context }: SummaryJob, call: EffectCall): Promise<EffectReply> => {
  context.signal.throwIfAborted();
  return context.complete(call);
};

const findUnusable = (text: string, finish: FinishReason): string | null => {
  if (finish !== "stop") return `the summary did not end by itself: ${finish}`;
  return /\S/.test(text) ? null : "the summary is empty";
};

/** Frames a summary as a message; returns null if it is not smaller than the messages that it replaces. */
const frameSummary = (
  { context, form, range, shown }: SummaryJob,
  body: string,
  missing: readonly string[] = [],
): string | null => {
  const text = summaryMessage(context, form, range, body, missing);
  return summaryTokens(context.tokens, text) < shown ? text : null;
};

const tooLarge = "the summary is not smaller than the messages that it replaces";

/** Returns whether a summary can be smaller than its range at all, including its frame. */
export const isWorthwhile = (job: SummaryJob): boolean =>
  job.range.blocks.length > 0 &&
  transcriptBudget(job.window) > leastBudget &&
  frameSummary(job, "-") !== null;

const formerOf = ({ context, range, window }: SummaryJob): string | null => {
  if (range.former.length === 0) return null;
  const text = range.former.map(({ parts }) => textOf(parts)).join("\n\n");
  return truncateToTokens(text, Math.floor(transcriptBudget(window) / 2), context.tokens);
};

const transcriptPieces = ({ context, range }: SummaryJob): readonly TranscriptPiece[] =>
  range.blocks.map((block) => pieceOf(range.view, block, context.tokens));

const totalTokens = (pieces: readonly TranscriptPiece[]): number =>
  pieces.reduce((sum, { tokens }) => sum + tokens, 0);

const transcriptOf = (pieces: readonly TranscriptPiece[]): string =>
  pieces.map(({ text }) => text).join("\n");

const summaryRequestOf = ({ form, instructions, round }: SummaryJob, maxTokens: number): SummaryRequest => ({
  form,
  instructions,
  round,
  maxTokens,
});

/** Returns the tokens of what a model wrote of a former summary: the runtime frames each summary anew. */
const writtenTokens = (job: SummaryJob, former: string): number => {
  const { tokens } = job.context;
  return Math.max(0, tokens(former) - tokens(frameSummary(job, "-") ?? ""));
};

const summaryOutcomeOf = (body: string | null, attempts: number): SummaryOutcome =>
  body === null ? { ok: false, error: tooLarge, attempts } : { ok: true, text: body, attempts };

const summariseWhole = async (
  job: SummaryJob,
  former: string | null,
  pieces: readonly TranscriptPiece[],
  replies: RepliesByPrompt,
): Promise<SummaryOutcome> => {
  const transcript = transcriptOf(pieces);
  const summaries = former === null ? 0 : writtenTokens(job, former);
  const source = { transcript: totalTokens(pieces), summaries };
  const reply = await runCall(job, {
    ...transcriptCall(summaryRequestOf(job, mostOutput), former, transcript, source),
    refuse: (text, finish) =>
      findUnusable(text, finish) ?? (frameSummary(job, text) === null ? tooLarge : null),
  });
  if (reply.ok) return summaryOutcomeOf(frameSummary(job, reply.text), reply.attempts);
  if (former === null) replies.set(transcript, reply);
  return reply;
};

/** Chunk of a transcript; a quoted one needs no model. */
interface Chunk {
  readonly pieces: readonly TranscriptPiece[];
  readonly quoted: boolean;
}

/** Returns the chunks of a transcript, sized for `all` its pieces, of which some may be omitted. */
const chunksOf = (
  { context, window }: SummaryJob,
  pieces: readonly TranscriptPiece[],
  all: readonly TranscriptPiece[] = pieces,
): readonly Chunk[] => {
  const size = chunkSize(all, window);
  const chunks = splitIntoChunks(pieces, size, context.tokens);
  return chunks.map((chunk) => ({ pieces: chunk, quoted: chunks.length > 1 && isQuotable(chunk, size) }));
};

/** Returns the tokens that each chunk's summary may have, so that all parts fit into the call that merges them. */
const chunkOutput = (
  { context, window }: SummaryJob,
  former: string | null,
  chunks: readonly Chunk[],
): number => {
  const quotes = chunks.filter(({ quoted }) => quoted);
  const taken = totalTokens(quotes.flatMap(({ pieces }) => pieces));
  const room = transcriptBudget(window) - taken - (former === null ? 0 : context.tokens(former));
  return Math.min(mostOutput, Math.max(leastOutput, Math.floor(room / (chunks.length - quotes.length))));
};

const summariseChunk = async (
  job: SummaryJob,
  { pieces, quoted }: Chunk,
  maxTokens: number,
  replies: RepliesByPrompt,
): Promise<EffectReply> => {
  const transcript = transcriptOf(pieces);
  if (quoted) return { ok: true, text: transcript, attempts: 0 };
  const known = replies.get(transcript);
  if (known !== undefined) return { ...known, attempts: 0 };
  const source = { transcript: totalTokens(pieces), summaries: 0 };
  const reply = await runCall(job, {
    ...transcriptCall(summaryRequestOf(job, maxTokens), null, transcript, source),
    refuse: findUnusable,
  });
  replies.set(transcript, reply);
  return reply;
};

const formerParts = (former: string | null): readonly SummaryPart[] =>
  former === null ? [] : [{ text: former, quoted: false }];

const joinParts = (parts: readonly SummaryPart[]): string =>
  parts
    .map(({ text, quoted }, index) => {
      const title = `# Part ${index + 1} of ${parts.length}${quoted ? ", word for word" : ""}`;
      return `${title}\n\n${text.trim()}`;
    })
    .join("\n\n");

/** Creates the call that merges parts. */
const mergeCallOf = (job: SummaryJob, parts: readonly SummaryPart[], maxTokens: number): EffectCall => {
  const sizeOf = (quoted: boolean): number =>
    parts.reduce((sum, part) => (part.quoted === quoted ? sum + job.context.tokens(part.text) : sum), 0);
  const source = { transcript: sizeOf(true), summaries: sizeOf(false) };
  return mergeCall(summaryRequestOf(job, maxTokens), parts, source);
};

interface MergedParts {
  readonly parts: readonly SummaryPart[];
  readonly attempts: number;
}

/** Merges parts that are too many for one call in groups, as often as it takes; a group that no model merges stays. */
const mergeGroups = async (job: SummaryJob, parts: readonly SummaryPart[]): Promise<MergedParts> => {
  const budget = transcriptBudget(job.window);
  const groups = groupBySize(parts, budget, ({ text }) => job.context.tokens(text));
  if (groups.length === 1) return { parts, attempts: 0 };
  const merged: SummaryPart[] = [];
  let attempts = 0;
  for (const group of groups) {
    if (group.length === 1) {
      merged.push(...group);
      continue;
    }
    // Two of them fit into the next call.
    const call = mergeCallOf(job, group, Math.min(mostOutput, Math.floor(budget / 2)));
    const reply = await runCall(job, { ...call, refuse: findUnusable });
    attempts += reply.attempts;
    merged.push(...(reply.ok ? [{ text: reply.text, quoted: false }] : group));
  }
  if (merged.length === parts.length) return { parts, attempts };
  const rest = await mergeGroups(job, merged);
  return { parts: rest.parts, attempts: attempts + rest.attempts };
};

/** Merges several summaries into one by the model; if that fails, joins them under headings. */
const mergeParts = async (
  job: SummaryJob,
  all: readonly SummaryPart[],
  missing: readonly string[],
  attemptsBefore: number,
): Promise<SummaryOutcome> => {
  const { parts, attempts: grouping } = await mergeGroups(job, all);
  const attempts = attemptsBefore + grouping;
  const [only] = parts;
  if (only !== undefined && parts.length === 1)
    return summaryOutcomeOf(frameSummary(job, only.text, missing), attempts);
  const reply = await runCall(job, {
    ...mergeCallOf(job, parts, mostOutput),
    refuse: (text, finish) =>
      findUnusable(text, finish) ?? (frameSummary(job, text, missing) === null ? tooLarge : null),
  });
  return summaryOutcomeOf(
    frameSummary(job, reply.ok ? reply.text : joinParts(parts), missing),
    attempts + reply.attempts,
  );
};

/** Summarises the whole range, in one call if it fits. */
export const summariseFull = async (job: SummaryJob, replies: RepliesByPrompt): Promise<SummaryOutcome> => {
  const former = formerOf(job);
  const pieces = transcriptPieces(job);
  const { tokens } = job.context;
  if (totalTokens(pieces) + (former === null ? 0 : tokens(former)) <= transcriptBudget(job.window))
    return summariseWhole(job, former, pieces, replies);
  const chunks = chunksOf(job, pieces);
  const output = chunkOutput(job, former, chunks);
  const parts = [...formerParts(former)];
  let attempts = 0;
  for (const [index, chunk] of chunks.entries()) {
    const reply = await summariseChunk(job, chunk, output, replies);
    attempts += reply.attempts;
    if (!reply.ok) {
      const error = `part ${index + 1} of ${chunks.length}: ${reply.error}`;
      return { ok: false, error, attempts };
    }
    parts.push({ text: reply.text, quoted: chunk.quoted });
  }
  return mergeParts(job, parts, [], attempts);
};

const describeMissing = ({ view }: MessageRange, pieces: readonly TranscriptPiece[], why: string): string => {
  const messages = pieces.flatMap(({ block }) => view.slice(block.start, block.end));
  const tools = new Set(messages.flatMap((message) => callsOf(message).map(({ name }) => name)));
  const used = tools.size === 0 ? "" : `, tools ${[...tools].join(", ")}`;
  const ids = [...new Set([messages[0]?.id, messages.at(-1)?.id])].join(" to ");
  return `${ids} (${messages.length} messages, about ${totalTokens(pieces)} tokens${used}): ${why}`;
};

/** Number of failed chunks without any success after which the stage ends: the model is unavailable. */
const maxFailedChunks = 2;

/** Summarises as much as possible; lists blocks above half the window and failed chunks. */
export const summarisePartial = async (
  job: SummaryJob,
  replies: RepliesByPrompt,
): Promise<SummaryOutcome> => {
  const former = formerOf(job);
  const all = transcriptPieces(job);
  const fitting = all.filter((piece) => piece.tokens <= job.window / 2);
  const chunks = chunksOf(job, fitting, all);
  const output = chunkOutput(job, former, chunks);
  const missing = all
    .filter((piece) => piece.tokens > job.window / 2)
    .map((piece) => describeMissing(job.range, [piece], "larger than half the context window"));
  const parts = [...formerParts(former)];
  let [attempts, succeeded, failed] = [0, 0, 0];
  let error =
    fitting.length === 0
      ? "every message is larger than half the context window"
      : "what fits into the context window is too short to be summarised";
  for (const chunk of chunks) {
    if (succeeded === 0 && failed >= maxFailedChunks) break;
    const reply = await summariseChunk(job, chunk, output, replies);
    attempts += reply.attempts;
    if (reply.ok) {
      succeeded += chunk.quoted ? 0 : 1;
      parts.push({ text: reply.text, quoted: chunk.quoted });
    } else {
      failed += 1;
      error = reply.error;
      missing.push(describeMissing(job.range, chunk.pieces, "no summary could be made"));
    }
  }
  if (succeeded === 0) return { ok: false, error, attempts };
  return mergeParts(job, parts, missing, attempts);
};
