import * as z from "zod";
import { pathParametersOf } from "../../../session/define-operation.ts";
import { clientFrameSchema } from "../../../session/frames.ts";
import type { ClientFrame } from "../../../session/frames.ts";
import { operations } from "../../../session/operations.ts";

/** Describes the frames that a client sends, with the bodies of its commands. */

type FrameType = Exclude<ClientFrame["type"], "command"> | "send" | "withdraw" | "answer" | "cancel";

/** Purpose of each frame. */
const sentences: Readonly<Record<FrameType, string>> = {
  auth: "Sends a token: first, if the upgrade had none, within 5 s; later, to stay connected after the first one expires.",
  hello:
    "Begins the stream after the event `after`, or with a snapshot if that is absent; once, within 10 s.",
  ack: "Reports the total number of frames received on this connection; due every 100 frames or 256 KiB.",
  set: "Changes which deltas, types of events and threads are sent.",
  ping: "Asks for a `pong`.",
  send: "Sends the session a message: `input` is the body of POST S/messages.",
  withdraw: "Takes back a message that waits.",
  answer: "Answers an ask: `answer` is the body of POST S/asks/{ask}.",
  cancel: "Ends a run: `cancel` is the body of POST S/cancel.",
};

interface ClientFrameEntry {
  readonly says: string;
  readonly schema: z.ZodType;
}

/** Returns the schema of a frame as it is sent; the body of a command is that of its operation. */
const sentSchema = (schema: z.core.$ZodType): z.ZodObject => {
  const frame = schema instanceof z.ZodPipe ? schema.in : schema;
  if (!(frame instanceof z.ZodObject)) throw new Error("a frame is an object");
  const [type] = frame.shape["type"] instanceof z.ZodLiteral ? [...frame.shape["type"].values] : [];
  const operation = operations.find(({ name }) => name === type);
  if (operation?.kind !== "write" || operation.frame == null || operation.frame.body === null) return frame;
  const ids = pathParametersOf(operation);
  const fields = Object.entries(operation.params.shape).filter(([name]) => !ids.includes(name));
  const body = z.strictObject(Object.fromEntries(fields));
  const isOptional = frame.shape[operation.frame.body]?.safeParse(undefined).success === true;
  return frame.extend({ [operation.frame.body]: isOptional ? body.optional() : body });
};

const typeOf = (schema: z.ZodObject): FrameType => {
  const { type } = schema.shape;
  const [value] = type instanceof z.ZodLiteral ? [...type.values] : [];
  const found = Object.keys(sentences).find((name) => name === value);
  if (found === undefined) throw new Error(`the frame ${String(value)} has no description`);
  return found as FrameType;
};

/** Each frame that a client sends. */
export const clientFrames: ReadonlyMap<string, ClientFrameEntry> = new Map(
  clientFrameSchema.options.map((option) => {
    const schema = sentSchema(option);
    const type = typeOf(schema);
    return [type, { says: sentences[type], schema }];
  }),
);
