import type { Call } from "../agent/state/call.ts";
import type { StoredBlob } from "../agent/transaction/draft.ts";
import type { ContentPart, ResultStatus } from "../chat/message.ts";
import { syntheticResults } from "../chat/results.ts";
import { utf8Length } from "../chat/tokens.ts";
import { toBase64 } from "../tools/base64.ts";
import type { Parked, ToolContext, ToolOutput } from "../tools/define-tool.ts";
import { toolError } from "../tools/errors.ts";
import { readPark, outputProblem } from "../tools/result-check.ts";

/** Outcomes of tool calls: what a tool may return, and what stands for it when it is cancelled or takes too long. */

/** How a call ended: with an output, or with a wait. */
export type ToolOutcome =
  | {
      readonly kind: "output";
      readonly output: ToolOutput;
      readonly status: ResultStatus;
      /** What the cache answered; null means that it was not asked. */
      readonly cache: "hit" | "miss" | null;
      /** Stored bytes that the output shows. */
      readonly kept?: readonly StoredBlob[];
    }
  | { readonly kind: "parked"; readonly park: Parked["parked"] };

/** Returns an outcome with a text that the tool did not return itself. */
export const createOutcome = (content: ToolOutput["content"], status: ResultStatus): ToolOutcome => ({
  kind: "output",
  output: { content, isError: status !== "ok" },
  status,
  cache: null,
});

const mostBytes = 5 * 1_048_576;

const mostBytesInAll = 20 * 1_048_576;

/** Bytes that a tool attaches: they are stored in the commit of the outcome that shows them, or not at all. */
export interface Attachments {
  readonly keep: ToolContext["keep"];
  /** Lists the attachments that a result shows; null means that it shows bytes which were never attached. */
  readonly shown: (content: string | readonly ContentPart[]) => readonly StoredBlob[] | null;
}

/** Creates the attachments of a call; `start` identifies one start of that call within its session. */
export const createAttachments = (start: string): Attachments => {
  const kept = new Map<string, string>();
  let size = 0;
  return {
    keep: (bytes) => {
      size += bytes.length;
      if (bytes.length > mostBytes) throw new Error(`more than ${mostBytes} bytes cannot be kept`);
      if (size > mostBytesInAll) throw new Error(`a call keeps at most ${mostBytesInAll} bytes`);
      const id = `m.${start}.${kept.size}`;
      kept.set(id, toBase64(bytes));
      return id;
    },
    shown: (content) => {
      if (typeof content === "string") return [];
      const ids = content.flatMap((part) => (part.type === "text" ? [] : (part.blob ?? [])));
      const blobs = ids.map((id) => ({ id, text: kept.get(id) ?? null }));
      return blobs.every((blob): blob is StoredBlob => blob.text !== null) ? blobs : null;
    },
  };
};

/** Adds to an output the bytes that it shows. */
export const withAttachments = (attachments: Attachments, outcome: ToolOutcome): ToolOutcome => {
  if (outcome.kind === "parked") return outcome;
  const kept = attachments.shown(outcome.output.content);
  if (kept === null) return refuseOutput("an image that it did not attach");
  return kept.length === 0 ? outcome : { ...outcome, kept };
};

export const cancelledOutcome: ToolOutcome = createOutcome(syntheticResults.cancelledRunning, "cancelled");

/** Returns the outcome of a timeout: a call that must not be made twice may have taken effect before. */
export const timeoutOutcome = ({ call: { name }, plan }: Call, ms: number): ToolOutcome => {
  const stopped = `${name} took longer than ${ms / 1000} s and was stopped`;
  return plan.safety === "unsafe"
    ? createOutcome(`unknown: ${stopped}. It may have taken effect: check before repeating it.`, "unknown")
    : createOutcome(toolError("timeout", stopped).content, "error");
};

/** Keeps the tool's own report of its end after a cancel: only the tool knows what it did before it stopped. */
export const asCancelled = (outcome: ToolOutcome): ToolOutcome => {
  if (outcome.kind === "parked") return cancelledOutcome;
  if (outcome.status === "ok") return outcome;
  const { content } = outcome.output;
  const notice: ContentPart = { type: "text", text: syntheticResults.cancelledRunning };
  return {
    ...outcome,
    output: {
      ...outcome.output,
      content: typeof content === "string" ? `${notice.text}\n${content}` : [notice, ...content],
      isError: true,
    },
    status: "cancelled",
  };
};

const longestDetails = 65_536;

/** Refuses what a tool returned, as if it had thrown. */
export const refuseOutput = (what: string): never => {
  throw new Error(`the tool returned ${what}`);
};

/** Names what a tool returned: an object that can be stored, or something that is no output. */
const shapeOf = (result: unknown): string => {
  if (result === undefined || result === null) return "nothing";
  if (Array.isArray(result)) return "a list";
  if (Object(result) !== result) return typeof result === "string" ? "a text" : `a ${typeof result}`;
  try {
    return typeof JSON.stringify(result) === "string" ? "object" : "no JSON";
  } catch {
    return "no JSON";
  }
};

/** Checks that a tool returned what tools may return: text or parts, and details that are JSON. */
export const checkOutcome = (result: ToolOutput | Parked): ToolOutcome => {
  const shape = shapeOf(result);
  if (shape !== "object") return refuseOutput(`${shape}; its run returns an object like { content: "…" }`);
  if ("parked" in result) {
    const park = readPark(result.parked);
    return park === null ? refuseOutput("a `parked` value that is no wait") : { kind: "parked", park };
  }
  const problem = outputProblem(result);
  if (problem !== null) return refuseOutput(problem);
  const { details } = result;
  if (details !== undefined && utf8Length(JSON.stringify(details)) > longestDetails)
    return refuseOutput("details of more than 64 KiB");
  const status = result.status ?? (result.isError === true ? "error" : "ok");
  return { kind: "output", output: result, status, cache: null };
};
