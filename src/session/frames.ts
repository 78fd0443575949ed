import * as z from "zod";
import { fieldsOf } from "../chat/json.ts";
import { isBodyOptional, pathParametersOf } from "./define-operation.ts";
import type { EventFilter } from "./event-lines.ts";
import { operations } from "./operations.ts";
import { describeUnknownType, findUnknownType } from "./event-lines.ts";

/** Defines the frames of the session's WebSocket. A message is one frame or an array of frames. */

const nameListSchema = z.array(z.string().max(64)).max(64);

/** Accepts the types of events, and that of providers' frames, which sockets alone are sent. */
const typeListSchema = nameListSchema.superRefine((types, issues) => {
  const unknown = findUnknownType(types.filter((type) => type !== "llm_provider_raw"));
  if (unknown !== undefined) issues.addIssue({ code: "custom", message: describeUnknownType(unknown) });
});

const deltasSchema = z.enum(["all", "text", "none"]);

const commandIdSchema = z.string().regex(/^[\x21-\x7e]{1,128}$/, "1 to 128 printable ASCII characters");

const bodySchema = z.record(z.string(), z.unknown());

/** Frames of the commands: ids of the path are fields of their own, and the body is one field. */
const commandFrames = operations.flatMap((operation) => {
  if (operation.kind === "read" || operation.frame === undefined) return [];
  const { name: op, frame } = operation;
  const ids = pathParametersOf(operation);
  const body = isBodyOptional(operation) ? bodySchema.default({}) : bodySchema;
  return z
    .strictObject({
      type: z.literal(op),
      id: commandIdSchema,
      ...Object.fromEntries(ids.map((name) => [name, z.string()])),
      ...(frame.body === null ? {} : { [frame.body]: body }),
    })
    .transform((command) => {
      const fields = fieldsOf(command);
      const given = frame.body === null ? {} : fieldsOf(fields[frame.body]);
      const params = { ...given, ...Object.fromEntries(ids.map((name) => [name, fields[name]])) };
      return { type: "command" as const, id: command.id, op, params };
    });
});

export const clientFrameSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("auth"), token: z.string().max(4_096) }),
  z.strictObject({
    type: z.literal("hello"),
    after: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER - 1)
      .optional(),
    deltas: deltasSchema.default("all"),
    types: typeListSchema.optional(),
    threads: nameListSchema.optional(),
  }),
  z.strictObject({ type: z.literal("ack"), frames: z.int().min(0) }),
  z.strictObject({
    type: z.literal("set"),
    deltas: deltasSchema.optional(),
    types: typeListSchema.nullable().optional(),
    threads: nameListSchema.nullable().optional(),
  }),
  z.strictObject({ type: z.literal("ping") }),
  ...commandFrames,
]);

/** Returns the id of a frame's command, whatever else is wrong with the frame; undefined if it has none. */
export const commandIdOf = (frame: unknown): string | undefined =>
  commandIdSchema.safeParse(fieldsOf(frame)["id"]).data;

export type ClientFrame = z.output<typeof clientFrameSchema>;

/** Codes that say why a socket is closed. */
export const closeCodes = {
  overload: 1013,
  bad_frame: 4400,
  unauthenticated: 4401,
  forbidden: 4403,
  not_found: 4404,
  timeout: 4408,
  deleted: 4410,
  slow: 4413,
  rate: 4429,
} as const;

export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes];

export const streamLimits = {
  /** Most bytes of an incoming frame. */
  frame: 262_144,
  /** Frames per second and in one burst; acknowledgements and pings do not count. */
  rate: 30,
  burst: 60,
  sockets: 32,
  /** Milliseconds after the last of its pings before a socket counts as gone where another needs its place. */
  quiet: 120_000,
  /** Bytes sent but not acknowledged, above which deltas are shed and events come from the log. */
  unacked: 1_048_576,
  /** Milliseconds without an acknowledgement before a lagging reader is closed. */
  patience: 30_000,
  /** Bytes that a lagging reader gets in a second, and in all, if it has never acknowledged anything. */
  pace: 262_144,
  silent: 16_777_216,
  /** Events that a lagging reader gets at a time. */
  page: 200,
  /** Milliseconds until the first `auth` where one is needed, and until `hello`. */
  authentication: 5_000,
  hello: 10_000,
  heartbeat: 15_000,
} as const;

/** What a socket wants to see. */
export interface StreamFilter extends EventFilter {
  readonly deltas: "all" | "text" | "none";
}

/**
 * Joins serialised frames into one WebSocket message; returns undefined if there is nothing to send. The text grows by
 * concatenation, which copies nothing: a message is copied once, when it is sent.
 */
export const joinFrames = (frames: readonly string[]): string | undefined =>
  frames.length < 2 ? frames[0] : `[${frames.reduce((text, frame) => `${text},${frame}`)}]`;

/** Builds the frame of a stored event line. */
export const eventFrame = (line: string): string => `{"type":"event","event":${line}}`;
