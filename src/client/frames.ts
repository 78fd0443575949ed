import type { StoredEvent } from "../agent/state/events.ts";
import type { FoldFrame } from "./fold/index.ts";
import type { WholeMessage } from "./fold/whole.ts";
import type { ProblemBody } from "./transcript.ts";

/** This file names the frames of a stream, and how one ends. */

/** A frame that the server sends; a client leaves alone what it does not know. */
export type StreamFrame =
  | Exclude<FoldFrame, WholeMessage>
  | { readonly type: "welcome"; readonly head_seq: number }
  | { readonly type: "live"; readonly seq: number }
  | { readonly type: "lag" }
  | { readonly type: "bye"; readonly code: number }
  | { readonly type: "error"; readonly problem: ProblemBody };

/** What a stream is to show. */
export interface StreamQuery {
  /** Events after this number. */
  readonly after: number;
  readonly deltas: "all" | "none";
  readonly types?: readonly StoredEvent["type"][] | undefined;
}

/** How a stream ended: a close code of the server, 1006 for a broken connection. */
export interface StreamEnd {
  readonly code: number;
  /** The server has welcomed the client. */
  readonly opened: boolean;
  readonly problem?: ProblemBody | undefined;
}

/** Takes frames; the promise that it may return says when they are done with, and only then more are asked for. */
export type TakeFrames = (frames: readonly StreamFrame[]) => void | Promise<void>;
