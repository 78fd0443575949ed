import type { Json } from "../../chat/message.ts";
import { firstCharacters } from "../../chat/text.ts";
import { estimateRequest, utf8Length } from "../../chat/tokens.ts";
import { sha256Hex } from "../../sandbox/sha256.ts";
import { classify } from "../classify.ts";
import { collect } from "../collect.ts";
import type { Completer, ModelEvent, ModelRequest } from "../completer.ts";
import { startDeadlines } from "../deadlines.ts";
import type { Deadlines } from "../deadlines.ts";
import { ModelError } from "../error.ts";
import type { AttemptOrigin } from "../failure.ts";
import { modelError } from "../failure.ts";
import type { Price, Timeouts } from "../schema.ts";
import type { ScriptChoice, ScriptReply } from "./match.ts";
import { chooseReply, findMismatch } from "./match.ts";
import type { Script } from "./schema.ts";
import type { ScriptFacts } from "./template.ts";
import { scriptFactsOf, fillJson, fillTemplate } from "./template.ts";

export interface ScriptedOptions {
  readonly provider: string;
  readonly model: string;
  readonly timeouts: Timeouts;
  /** Returns the price; absent if scripted calls cost nothing. */
  readonly price?: (answered: string) => Price | null;
  readonly now?: () => number;
  /** Waits; rejects or returns early once the signal is aborted. A timer by default. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

type ScriptPiece = ScriptReply["reply"][number];

type Fail = ScriptReply["fail"][number];

/** Attempt at a scripted reply. */
interface Play extends ScriptChoice {
  readonly facts: ScriptFacts;
  readonly origin: AttemptOrigin;
  readonly chunk: number;
  readonly fail: Fail | undefined;
}

const waitOrAbort = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(handle);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const handle = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });

/** Returns the failure of this attempt: the list names failures in order, each `times` long. Attempts count from 1. */
const failOf = (fails: readonly Fail[], attempt: number): Fail | undefined => {
  let left = attempt;
  for (const fail of fails) {
    left -= fail.times;
    if (left <= 0) return fail;
  }
  return undefined;
};

/** Throws the error of a protocol: a status as an HTTP answer, the rest as an error of the transport. */
const throwFailure = (fail: Fail, origin: AttemptOrigin): never => {
  if ("error" in fail) throw modelError(fail.error, origin, `The script says ${fail.error}.`);
  const { status, retry_after: seconds } = fail;
  const headers = {
    get: (name: string) => (name === "retry-after" && seconds !== undefined ? String(seconds) : null),
  };
  throw new ModelError(classify({ status, headers, body: "" }, origin, 0));
};

/** Cuts a text into chunks of `size` code points. */
function* chunksOf(text: string, size: number): Generator<string> {
  let from = 0;
  let count = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    if (count === size) {
      yield text.slice(from, at);
      from = at;
      count = 0;
    }
    count++;
  }
  if (from < text.length) yield text.slice(from);
}

const repeatBlockLength = 65_536;

/** Returns the chunks of a text, or of a repeated one, of which only one block exists at a time. */
function* chunksOfSource(
  source: string | { repeat: string; times: number },
  facts: ScriptFacts,
  size: number,
): Generator<string> {
  if (typeof source === "string") return yield* chunksOf(fillTemplate(source, facts), size);
  const once = fillTemplate(source.repeat, facts);
  const perBlock = Math.max(1, Math.floor(repeatBlockLength / Math.max(1, once.length)));
  for (let left = source.times; left > 0; left -= perBlock) {
    yield* chunksOf(once.repeat(Math.min(perBlock, left)), size);
  }
}

/** Returns the events of one piece, one for each chunk. */
function* eventsOf(piece: ScriptPiece, item: number, { facts, chunk }: Play): Generator<ModelEvent> {
  if ("reasoning" in piece) {
    for (const text of chunksOfSource(piece.reasoning, facts, chunk)) yield { type: "reasoning", item, text };
  } else if ("text" in piece) {
    for (const text of chunksOfSource(piece.text, facts, chunk)) yield { type: "text", item, text };
  } else if ("refusal" in piece) {
    for (const text of chunksOfSource(piece.refusal, facts, chunk)) yield { type: "refusal", item, text };
  } else {
    yield { type: "call", item, name: piece.call };
    const args = piece.raw_args ?? JSON.stringify(fillJson(piece.args ?? {}, facts));
    for (const json of chunksOf(args, chunk)) yield { type: "call_input", item, json };
  }
}

const writtenText = (event: ModelEvent): string =>
  "text" in event ? event.text : "json" in event ? event.json : "name" in event ? event.name : "";

/**
 * Returns the default usage: the estimate, with everything that an earlier call sent counted as read from the
 * cache.
 */
const estimateUsage = (request: ModelRequest, output: number): Json => {
  const whole = estimateRequest(request);
  const previous = request.messages.findLastIndex(({ role }) => role === "assistant");
  if (request.context.call === 0 || previous < 0) return { input: whole, output };
  const fresh = request.messages.slice(previous).reduce((sum, { tokens }) => sum + tokens, 0);
  return { input: fresh, output, cacheRead: whole - fresh };
};

const createClosing = ({ reply, facts }: Play, bytes: number): ModelEvent[] => {
  const calls = reply.reply.some((piece) => "call" in piece);
  const reason = reply.finish ?? (calls ? "tool_calls" : "stop");
  const finish: ModelEvent = { type: "finish", reason, raw: reason };
  if (reply.usage === null) return [finish];
  const usage = reply.usage ?? estimateUsage(facts.request, Math.ceil(bytes / 4));
  return [{ type: "usage", raw: usage as Json }, finish];
};

/** Yields the reply as single events. The first content carries its position in the script as opaque data. */
function* playEvents(play: Play): Generator<readonly ModelEvent[]> {
  const { reply, position, fail, origin } = play;
  if (fail !== undefined && failsAtOnce(fail)) throwFailure(fail, origin);
  yield [{ type: "start", model: origin.model }];
  let placed = position === undefined;
  let bytes = 0;
  let left = fail === undefined ? Infinity : afterChars(fail);
  for (const [item, piece] of reply.reply.entries()) {
    for (const event of eventsOf(piece, item, play)) {
      const written = writtenText(event);
      const size = [...written].length;
      if (fail !== undefined && size > left) {
        yield cutEvent(event, left);
        return endEarly(fail, origin);
      }
      bytes += utf8Length(written);
      left -= size;
      yield placed ? [event] : [event, { type: "opaque", item, data: position as unknown as Json }];
      placed = true;
    }
    yield [{ type: "item_end", item }];
  }
  if (fail !== undefined) return endEarly(fail, origin);
  yield createClosing(play, bytes);
}

/** Returns the beginning of a piece; the name of a call is not divided. */
const cutEvent = (event: ModelEvent, count: number): readonly ModelEvent[] => {
  if ("text" in event) return [{ ...event, text: firstCharacters(event.text, count) }];
  return "json" in event ? [{ ...event, json: firstCharacters(event.json, count) }] : [];
};

const afterChars = (fail: Fail): number => ("after_chars" in fail ? (fail.after_chars ?? 0) : 0);

/** Returns whether the attempt fails before its first byte; cut and malformed replies and `after_chars` need one. */
const failsAtOnce = (fail: Fail): boolean => {
  if ("after_chars" in fail && fail.after_chars !== undefined) return false;
  return "status" in fail || fail.error === "network" || fail.error === "timeout";
};

/** Ends a cut stream without an error, since the collector has to detect the cut. */
const endEarly = (fail: Fail, origin: AttemptOrigin): void => {
  if (!("error" in fail) || fail.error !== "truncated_stream") throwFailure(fail, origin);
};

const isDelta = ([event]: readonly ModelEvent[]): boolean =>
  event !== undefined && ("text" in event || "json" in event);

const prepare = (script: Script, request: ModelRequest, provider: string): Play => {
  const facts = scriptFactsOf(request);
  const origin = { provider, model: request.model };
  const choice = chooseReply(script, facts);
  if (choice === undefined) {
    const { agent, turn, call } = request.context;
    const where = `agent ${agent}, turn ${turn}, call ${call}`;
    throw modelError(
      "invalid_request",
      origin,
      `script_exhausted: no reply for ${where}; add a scene or start.`,
    );
  }
  const difference = findMismatch(choice.reply, facts);
  if (difference !== null) {
    throw modelError("invalid_request", origin, `script_mismatch: ${difference}.`);
  }
  const fail = failOf(choice.reply.fail, request.context.attempt);
  return { ...choice, facts, origin, chunk: script.pace.chunk, fail };
};

/** Returns the body that a protocol would get: everything in the request but its origin. */
const bodyOf = ({ context: _context, media: _media, messages, ...rest }: ModelRequest): string =>
  JSON.stringify({ ...rest, messages: messages.map(({ role, parts }) => ({ role, parts })) });

/** Yields the batches of a reply, each at its time: silence before the first, and a pause between deltas. */
async function* pacePlay(
  play: Play,
  delay: number,
  { signal, headers, read }: Deadlines,
  wait: NonNullable<ScriptedOptions["wait"]>,
): AsyncGenerator<readonly ModelEvent[]> {
  headers();
  if (play.reply.stall_ms > 0) await wait(play.reply.stall_ms, signal);
  let deltas = 0;
  for (const batch of playEvents(play)) {
    if (delay > 0 && isDelta(batch) && deltas++ > 0) await wait(delay, signal);
    if (signal.aborted) return;
    read(true);
    yield batch;
  }
}

/**
 * Creates the scripted provider, which has no randomness, no network, and no clock but for its pace and timeouts. The
 * reply is a pure function of script and request, sent through the same collector as that of a protocol.
 */
export const createScriptedCompleter = (script: Script, options: ScriptedOptions): Completer => {
  const { provider, model, timeouts, price = () => ({ input: 0, output: 0 }) } = options;
  const { now = () => Date.now(), wait = waitOrAbort } = options;
  const { delay_ms: delay } = script.pace;
  return {
    provider,
    model,
    complete: async (request, { signal, timers, onDelta }) => {
      const startedAt = now();
      const play = prepare(script, request, provider);
      const deadlines = startDeadlines(timeouts, play.origin, signal, timers);
      const completion = await collect(pacePlay(play, delay, deadlines, wait), {
        request,
        provider,
        price,
        startedAt,
        now,
        signal: deadlines.signal,
        isInstant: delay === 0,
        ...(onDelta !== undefined && { onDelta }),
      }).finally(deadlines.stop);
      return { ...completion, requestHash: sha256Hex(bodyOf(request)) };
    },
    body: bodyOf,
    digest: (request) => sha256Hex(bodyOf(request)),
  };
};
