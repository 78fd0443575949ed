import * as z from "zod";
import type { EventType } from "../../../agent/state/events.ts";
import { askEvents, limitEvents, modelEvents, storeEvents, toolEvents } from "./call-events.ts";
import { contextEvents } from "./context-events.ts";
import type { EventEntry } from "./event-data.ts";
import { inputEvents, runEvents, sessionEvents } from "./run-events.ts";
import { nameSchema, time } from "./schema-of.ts";

/** Joins the descriptions of all events, and describes their envelope. */

/** Events by the moment at which they occur. */
export const eventGroups = {
  "A session": sessionEvents,
  "A message that arrives": inputEvents,
  "Runs, agents and turns": runEvents,
  "A model call": modelEvents,
  "A tool call": toolEvents,
  "A question to the outside": askEvents,
  "What the model is shown": contextEvents,
  Limits: limitEvents,
  "Shared stores": storeEvents,
} as const;

/** All events; does not compile while a type of event has no description, or has other data. */
export const eventEntries = {
  ...sessionEvents,
  ...inputEvents,
  ...runEvents,
  ...modelEvents,
  ...toolEvents,
  ...askEvents,
  ...contextEvents,
  ...limitEvents,
  ...storeEvents,
} as const satisfies { readonly [Type in EventType]: EventEntry<Type> };

export const eventTypes = Object.keys(eventEntries) as readonly EventType[];

/** Fields of data above 64 KiB, whose longest texts are cut. */
const cutFields = {
  truncated: z.exactOptional(z.literal(true)).describe("Longer than 64 KiB: texts were cut."),
  input_sha256: z.exactOptional(z.string()).describe("Of the whole input, if it was cut."),
};

const eventData = (type: EventType): z.ZodType => {
  const { data } = eventEntries[type];
  if (!(data instanceof z.ZodObject)) return data;
  return "truncated" in data.shape
    ? data.extend({ input_sha256: cutFields.input_sha256 })
    : data.extend(cutFields);
};

const envelopeOf = (type: EventType) =>
  z.strictObject({
    v: z.literal(1),
    seq: z.int().min(1).describe("Counts 1, 2, 3 … in the session, without gaps."),
    id: z.string().describe("`<session>:<seq>`."),
    at: time.describe("Milliseconds since the epoch."),
    session: z.string(),
    type: z.literal(type),
    thread: z.string().describe("`main`, or the thread of a called agent."),
    agent: z.strictObject({ name: z.string(), prefix: z.string() }),
    run: z.exactOptional(z.string()),
    turn: z.exactOptional(z.int()),
    attempt: z.exactOptional(z.int()),
    call: z.exactOptional(z.string()),
    item: z.exactOptional(z.string()).describe("The open item that the event begins or closes."),
    node: z.exactOptional(z.string()).describe("A task of a dispatched graph."),
    data: eventData(type),
  });

/** Returns the name of an event's schema: `run_end` is `RunEndEvent`. */
const schemaNameOf = (type: EventType): string =>
  `${type.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`;

/** Each event with its envelope. */
export const eventSchemas: ReadonlyMap<string, z.ZodType> = new Map(
  eventTypes.map((type) => [type, nameSchema(schemaNameOf(type), eventEntries[type].says, envelopeOf(type))]),
);

/** Event of any type. */
export const eventSchema = nameSchema(
  "Event",
  "A durable record of the session.",
  z.union([...eventSchemas.values()]),
);
