import * as z from "zod";
import type { Delta, ProviderFrame } from "../../../agent/state/events.ts";
import { purposes } from "../../../model/completer.ts";
import type { CloseCode } from "../../../session/frames.ts";
import { problemSchema } from "./problems.ts";
import { eventSchema } from "./events.ts";
import { json, nameSchema, schemaOf } from "./schema-of.ts";
import { snapshotSchema } from "./session-answers.ts";

/** Describes the frames that the server sends on a session's WebSocket, and its close codes. */

interface FrameEntry {
  readonly says: string;
  readonly schema: z.ZodType;
}

const hint = z.string().describe("What to send so that the stream goes on.");

const item = {
  item: z.string(),
  kind: z.enum(["text", "reasoning", "tool_input", "tool_output"]),
  thread: z.string(),
  attempt: z.int(),
};

const deltaSchema = schemaOf<Delta>()(
  z.strictObject({
    type: z.literal("delta"),
    kind: z.enum(["text_delta", "reasoning_delta", "tool_input_delta", "tool_output_delta"]),
    thread: z.string(),
    item: z.string(),
    attempt: z.int(),
    off: z
      .int()
      .describe(
        "The number of UTF-16 units of the item before this piece; a gap means that pieces were dropped.",
      ),
    data: z.string(),
  }),
);

const rawSchema = schemaOf<ProviderFrame>()(
  z.strictObject({
    type: z.literal("llm_provider_raw"),
    thread: z.string(),
    run: z.string(),
    turn: z.int(),
    purpose: z.enum(purposes),
    attempt: z.int(),
    provider: z.string(),
    model: z.string(),
    data: z.string(),
    truncated: z.exactOptional(z.literal(true)),
  }),
);

const frames = {
  welcome: {
    says: "The answer to `hello`: the events or the snapshot follow.",
    schema: z.strictObject({
      type: z.literal("welcome"),
      session: z.string(),
      head_seq: z.int(),
      heartbeat_ms: z.int().describe("Send a ping this often to notice a dead connection."),
      resume: z.enum(["events", "snapshot"]),
      v: z.literal(1),
    }),
  },
  snapshot: {
    says: "The state at one event, if `hello` named no event to continue from.",
    schema: z.strictObject({ type: z.literal("snapshot"), snapshot: snapshotSchema }),
  },
  event: {
    says: "A durable event, in the order of its `seq`.",
    schema: z.strictObject({ type: z.literal("event"), event: eventSchema }),
  },
  delta: {
    says: "A live piece of an open item. It is never stored; the event that closes the item has the whole text.",
    schema: deltaSchema,
  },
  item_state: {
    says: "An open item so far, which replaces the client's copy.",
    schema: z.strictObject({ type: z.literal("item_state"), ...item, text: z.string() }),
  },
  live: {
    says: "All events up to `seq` were sent; from here they are sent as they happen.",
    schema: z.strictObject({ type: z.literal("live"), seq: z.int() }),
  },
  lag: {
    says: "More than 1 MiB is not acknowledged: deltas stop, and events are sent as acknowledgements allow.",
    schema: z.strictObject({ type: z.literal("lag"), shed: z.literal("deltas"), seq: z.int(), hint }),
  },
  result: {
    says: "A command was carried out: `result` is what HTTP would answer.",
    schema: z.strictObject({
      type: z.literal("result"),
      id: z.string(),
      seq: z.int(),
      replayed: z.boolean().describe("Whether the same command was carried out before."),
      result: json,
    }),
  },
  error: {
    says: "A frame was refused; `id` names its command.",
    schema: z.strictObject({
      type: z.literal("error"),
      id: z.exactOptional(z.string()),
      problem: problemSchema,
    }),
  },
  pong: {
    says: "The answer to `ping`, which does not wake the session.",
    schema: z.strictObject({ type: z.literal("pong") }),
  },
  bye: {
    says: "The connection is about to be closed with this code; go on after `resume_after`, which is missing before `hello`. If the session was deleted nothing says how to go on.",
    schema: z.strictObject({
      type: z.literal("bye"),
      code: z.int(),
      resume_after: z.exactOptional(z.int()),
      retry_ms: z.exactOptional(z.int()),
      hint: z.exactOptional(hint),
    }),
  },
  llm_provider_raw: {
    says: "A frame of the provider's own stream, or its refusal, for keys with `debug:read` where the team sets `debug.raw: events`.",
    schema: rawSchema,
  },
} as const satisfies Readonly<Record<string, FrameEntry>>;

const nameOf = (type: string): string =>
  `${type.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Frame`;

/** Each frame that the server sends. */
export const serverFrames: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries(frames).map(([type, { says, schema }]) => [type, nameSchema(nameOf(type), says, schema)]),
);

/** Purpose of each frame of the server. */
export const serverFrameSentences: ReadonlyMap<string, string> = new Map(
  Object.entries(frames).map(([type, { says }]) => [type, says]),
);

/** Meaning of each close code, and what the client should do. */
export const closeCodeSentences: Readonly<Record<CloseCode | 1000 | 1006 | 1012 | 4426, string>> = {
  1000: "The client left.",
  1006: "The connection broke: connect again after the last event that was seen.",
  1012: "The server restarts, for a deploy: connect again at once.",
  1013: "The server is overloaded: connect again after a second, and wait longer each time.",
  4400: "A frame was invalid; the `error` frame before the close says why. Fix it first.",
  4401: "The credential is missing or has expired: get a new one, then connect again.",
  4403: "The credential may not watch this session. Final.",
  4404: "There is no such session for this credential. Final.",
  4408: "No `auth` arrived within 5 s, no `hello` within 10 s, or no `ping` for 2 minutes while another socket needs the place.",
  4410: "The session was deleted. Final.",
  4413: "Acknowledgements were missing: connect again after `resume_after`, and send `ack`.",
  4426: "Kept for later versions: today an upgrade that offers none of `limpet.v1` is refused with HTTP 426. Final.",
  4429: "More than 30 frames in a second: send fewer.",
};
