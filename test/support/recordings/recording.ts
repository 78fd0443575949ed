import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "../../../src/chat/message.ts";
import type { FinishReason } from "../../../src/model/completer.ts";
import type { Kind } from "../fake-provider-fields.ts";

/** A part of the reply as the recording's author expects it: type, then its text, or a call's name and arguments. */
export type ExpectedPart =
  | readonly ["text", string]
  | readonly ["reasoning", string, (Json | undefined)?]
  | readonly ["call", string, string, (Json | undefined)?];

export type Expected =
  | {
      readonly finish: FinishReason;
      readonly parts: readonly ExpectedPart[];
      readonly usage?: readonly number[];
    }
  | { readonly error: string };

/** First line of a recording: what it is, which deviations apply, and how it must be read. */
interface Header {
  readonly name: string;
  readonly kind: Kind;
  readonly compat?: { readonly [key: string]: Json };
  /** Input, output, cacheRead, cacheWrite, total. */
  readonly expect: Expected;
}

/** A network read: milliseconds since the request, and its bytes as text or base64. */
type Chunk =
  | { readonly at: number; readonly text: string }
  | { readonly at: number; readonly base64: string };

export interface Recording extends Header {
  readonly chunks: readonly Chunk[];
}

/** A recording as JSON lines: the header, then the network reads in their order. */
export const writeRecording = ({ chunks, ...header }: Recording): string =>
  [header, ...chunks].map((line) => `${JSON.stringify(line)}\n`).join("");

const readRecording = (text: string): Recording => {
  const [header, ...chunks] = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
  return { ...(header as Header), chunks: chunks as Chunk[] };
};

/** All bytes of a recording. */
export const bytesOf = ({ chunks }: Recording): Uint8Array =>
  Buffer.concat(
    chunks.map((chunk) =>
      "text" in chunk ? Buffer.from(chunk.text, "utf8") : Buffer.from(chunk.base64, "base64"),
    ),
  );

export const recordingsFolder = join(import.meta.dirname, "streams");

export const loadRecordings = (): readonly Recording[] =>
  readdirSync(recordingsFolder)
    .toSorted()
    .map((name) => readRecording(readFileSync(join(recordingsFolder, name), "utf8")));
