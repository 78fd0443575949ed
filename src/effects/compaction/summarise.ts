import type { EffectCall, EffectContext } from "../../agent/definition/effect.ts";
import type { EffectReply } from "../../agent/state/run.ts";
import { callsOf } from "../../chat/view.ts";
import { textOf } from "../../chat/text.ts";
import type { FinishReason } from "../../model/completer.ts";
import { budgetOf, chunked, chunkSize, cutToTokens, leastBudget } from "./chunks.ts";
import { summaryMessage } from "./message.ts";
import { mergeCall, transcriptCall } from "./prompts.ts";
import type { Asking, SummaryForm } from "./prompts.ts";
import type { Range } from "./range.ts";
import { summaryTokens } from "./shadow.ts";
import { pieceOf } from "./transcript.ts";
import type { Piece } from "./transcript.ts";

/** A range told by a model: in one call, or chunk by chunk and merged. */

type Outside = Pick<EffectContext, "complete" | "signal" | "tokens" | "task" | "records" | "run">;

/** What is to be summarised; the same job always makes the same calls, so that after a crash they answer from storage. */
export interface Job {
  readonly context: Outside;
  readonly form: SummaryForm;
  readonly range: Range;
  /** Tokens of the range as the model is shown it: the summary must be smaller. */
  readonly shown: number;
  readonly window: number;
  readonly instructions: string | null;
  /** 1, 2 …: the tries that a person asked for. */
  readonly round: number;
}

export type Written =
  | { readonly ok: true; readonly text: string; readonly attempts: number }
  | { readonly ok: false; readonly error: string; readonly attempts: number };

/** Replies of this run of the ladder by their prompt: what was told once is not asked again. */
export type Replies = Map<string, EffectReply>;

const mostOutput = 4_096;
const leastOutput = 512;

/** Makes a call, unless the run was cancelled meanwhile. */
const complete = ({ context }: Job, call: EffectCall): Promise<EffectReply> => {
  context.signal.throwIfAborted();
  return context.complete(call);
};

const unusable = (text: string, finish: FinishReason): string | null => {
  if (finish !== "stop") return `the summary did not end by itself: ${finish}`;
  return /\S/.test(text) ? null : "the summary is empty";
};

/** The summary as a message; null if it is not smaller than what it stands for. */
const framed = (
  { context, form, range, shown }: Job,
  body: string,
  missing: readonly string[] = [],
): string | null => {
  const text = summaryMessage(context, form, range, body, missing);
  return summaryTokens(context.tokens, text) < shown ? text : null;
};

const tooLarge = "the summary is not smaller than what it stands for";

/** Whether a summary can be smaller than its range at all, its frame included. */
export const isWorthwhile = (job: Job): boolean =>
  job.range.blocks.length > 0 && budgetOf(job.window) > leastBudget && framed(job, "-") !== null;

const formerOf = ({ context, range, window }: Job): string | null => {
  if (range.former.length === 0) return null;
  const text = range.former.map(({ parts }) => textOf(parts)).join("\n\n");
  return cutToTokens(text, Math.floor(budgetOf(window) / 2), context.tokens);
};

const piecesOf = ({ context, range }: Job): readonly Piece[] =>
  range.blocks.map((block) => pieceOf(range.view, block, context.tokens));

const total = (pieces: readonly Piece[]): number => pieces.reduce((sum, { tokens }) => sum + tokens, 0);

const transcriptOf = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join("\n");

const asking = ({ form, instructions, round }: Job, maxTokens: number): Asking => ({
  form,
  instructions,
  round,
  maxTokens,
});

const told = (body: string | null, attempts: number): Written =>
  body === null ? { ok: false, error: tooLarge, attempts } : { ok: true, text: body, attempts };

const toldWhole = async (
  job: Job,
  former: string | null,
  pieces: readonly Piece[],
  replies: Replies,
): Promise<Written> => {
  const transcript = transcriptOf(pieces);
  const reply = await complete(job, {
    ...transcriptCall(asking(job, mostOutput), former, transcript, total(pieces)),
    refuse: (text, finish) => unusable(text, finish) ?? (framed(job, text) === null ? tooLarge : null),
  });
  if (reply.ok) return told(framed(job, reply.text), reply.attempts);
  if (former === null) replies.set(transcript, reply);
  return reply;
};

/** Tokens that each of several summaries may have, so that all fit into the call that merges them. */
const chunkOutput = ({ context, window }: Job, former: string | null, chunks: number): number => {
  const room = budgetOf(window) - (former === null ? 0 : context.tokens(former));
  return Math.min(mostOutput, Math.max(leastOutput, Math.floor(room / chunks)));
};

const toldChunk = async (
  job: Job,
  chunk: readonly Piece[],
  maxTokens: number,
  replies: Replies,
): Promise<EffectReply> => {
  const transcript = transcriptOf(chunk);
  const known = replies.get(transcript);
  if (known !== undefined) return { ...known, attempts: 0 };
  const reply = await complete(job, {
    ...transcriptCall(asking(job, maxTokens), null, transcript, total(chunk)),
    refuse: (text, finish) =>
      unusable(text, finish) ??
      (job.context.tokens(text) < total(chunk) ? null : "the summary is not smaller than its part"),
  });
  replies.set(transcript, reply);
  return reply;
};

const joined = (parts: readonly string[]): string =>
  parts.map((part, index) => `# Part ${index + 1} of ${parts.length}\n\n${part.trim()}`).join("\n\n");

/** One summary of several: merged by the model, or else joined under headings. */
const merged = async (
  job: Job,
  parts: readonly string[],
  missing: readonly string[],
  attempts: number,
): Promise<Written> => {
  const { context } = job;
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return told(framed(job, only, missing), attempts);
  const size = parts.reduce((sum, part) => sum + context.tokens(part), 0);
  const reply = await complete(job, {
    ...mergeCall(asking(job, mostOutput), parts, size),
    refuse: (text, finish) =>
      unusable(text, finish) ?? (framed(job, text, missing) === null ? tooLarge : null),
  });
  return told(framed(job, reply.ok ? reply.text : joined(parts), missing), attempts + reply.attempts);
};

/** Rung 3: the whole range is told, in one call if it fits. */
export const full = async (job: Job, replies: Replies): Promise<Written> => {
  const former = formerOf(job);
  const pieces = piecesOf(job);
  const { tokens } = job.context;
  if (total(pieces) + (former === null ? 0 : tokens(former)) <= budgetOf(job.window))
    return toldWhole(job, former, pieces, replies);
  const chunks = chunked(pieces, chunkSize(pieces, job.window), tokens);
  const output = chunkOutput(job, former, chunks.length);
  const parts = former === null ? [] : [former];
  let attempts = 0;
  for (const [index, chunk] of chunks.entries()) {
    const reply = await toldChunk(job, chunk, output, replies);
    attempts += reply.attempts;
    if (!reply.ok) {
      const error = `part ${index + 1} of ${chunks.length}: ${reply.error}`;
      return { ok: false, error, attempts };
    }
    parts.push(reply.text);
  }
  return merged(job, parts, [], attempts);
};

const describe = ({ view }: Range, pieces: readonly Piece[], why: string): string => {
  const messages = pieces.flatMap(({ block }) => view.slice(block.start, block.end));
  const tools = new Set(messages.flatMap((message) => callsOf(message).map(({ name }) => name)));
  const used = tools.size === 0 ? "" : `, tools ${[...tools].join(", ")}`;
  const ids = [...new Set([messages[0]?.id, messages.at(-1)?.id])].join(" to ");
  return `${ids} (${messages.length} messages, about ${total(pieces)} tokens${used}): ${why}`;
};

/** Without any success so many failed chunks end the rung: the model is not there. */
const hopeless = 2;

/** Rung 4: what can be told is told; blocks above half the window and chunks that failed are listed. */
export const partial = async (job: Job, replies: Replies): Promise<Written> => {
  const former = formerOf(job);
  const all = piecesOf(job);
  const { tokens } = job.context;
  const fitting = all.filter((piece) => piece.tokens <= job.window / 2);
  const chunks = chunked(fitting, chunkSize(all, job.window), tokens);
  const output = chunkOutput(job, former, chunks.length);
  const missing = all
    .filter((piece) => piece.tokens > job.window / 2)
    .map((piece) => describe(job.range, [piece], "larger than half the context window"));
  const parts: string[] = [];
  let [attempts, failed, error] = [0, 0, "every message is larger than half the context window"];
  for (const chunk of chunks) {
    if (parts.length === 0 && failed >= hopeless) break;
    const reply = await toldChunk(job, chunk, output, replies);
    attempts += reply.attempts;
    if (reply.ok) parts.push(reply.text);
    else {
      failed += 1;
      error = reply.error;
      missing.push(describe(job.range, chunk, "no summary could be made"));
    }
  }
  if (parts.length === 0) return { ok: false, error, attempts };
  return merged(job, former === null ? parts : [former, ...parts], missing, attempts);
};
