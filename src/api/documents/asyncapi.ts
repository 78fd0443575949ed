import * as z from "zod";
import { streamLimits } from "../../session/frames.ts";
import { examples } from "./examples.ts";
import { collectSchemas } from "./json-schema.ts";
import type { SchemaObject, SchemaCollection } from "./json-schema.ts";
import { clientFrames } from "./schemas/client-frames.ts";
import { eventEntries, eventSchemas, eventTypes } from "./schemas/events.ts";
import { closeCodeSentences, serverFrameSentences, serverFrames } from "./schemas/frames.ts";

/** Creates `GET /v1/asyncapi.json`: the WebSocket, and the same events over server-sent events. */

const messageOf = (
  name: string,
  summary: string,
  payload: SchemaObject,
  example: unknown,
): readonly [string, SchemaObject] => [
  name,
  {
    name,
    summary,
    payload,
    ...(example === undefined ? {} : { examples: [{ payload: example }] }),
  },
];

const exampleOf = (sender: "client" | "server", type: string): unknown =>
  examples.frames[`${sender} ${type}`];

const messagesOf = (schemas: SchemaCollection) => ({
  client: [...clientFrames].map(([type, { says, schema }]) =>
    messageOf(`client_${type}`, says, schemas.place(schema, "input"), exampleOf("client", type)),
  ),
  server: [...serverFrames].map(([type, schema]) =>
    messageOf(
      `server_${type}`,
      serverFrameSentences.get(type) ?? "",
      schemas.place(schema, "output"),
      exampleOf("server", type),
    ),
  ),
  events: eventTypes.map((type) =>
    messageOf(
      `event_${type}`,
      eventEntries[type].says,
      schemas.place(eventSchemas.get(type) ?? z.never(), "output"),
      examples.events[type],
    ),
  ),
});

type Messages = readonly (readonly [string, SchemaObject])[];

const channelMessages = (messages: Messages): SchemaObject =>
  Object.fromEntries(messages.map(([name]) => [name, { $ref: `#/components/messages/${name}` }]));

const operationMessages = (channel: string, messages: Messages): readonly SchemaObject[] =>
  messages.map(([name]) => ({ $ref: `#/channels/${channel}/messages/${name}` }));

const parameters = { session: { description: "The id of the session." } };

/** Close codes, each with the `bye` frame before it, or with the reason of the close. */
const closeCodes = Object.entries(closeCodeSentences).map(([code, says]) => ({
  code: Number(code),
  says,
  ...(examples.closes[code] === undefined ? {} : { example: examples.closes[code] }),
}));

const protocol = [
  "A WebSocket message is one frame or an array of frames, as JSON.",
  "The client begins with `hello`, after `auth` if the upgrade had no credential.",
  `It acknowledges with \`ack\` at least each 100 frames or 256 KiB; above ${streamLimits.unacked} unacknowledged bytes deltas stop.`,
  "Close codes are in `x-close-codes`.",
].join(" ");

const channelsOf = ({ client, server, events }: ReturnType<typeof messagesOf>): SchemaObject => ({
  socket: {
    address: "/v1/sessions/{session}/ws",
    title: "The WebSocket of a session",
    description: protocol,
    parameters,
    messages: channelMessages([...client, ...server]),
    bindings: { ws: { method: "GET", bindingVersion: "0.1.0" } },
    "x-subprotocol": "limpet.v1",
    "x-close-codes": closeCodes,
    "x-limits": streamLimits,
  },
  events: {
    address: "/v1/sessions/{session}/events",
    title: "The events of a session",
    description:
      "Each is the `event` of a frame, the data of a server-sent event with `Accept: text/event-stream`, or a row of GET /v1/sessions/{session}/events.",
    parameters,
    messages: channelMessages(events),
  },
});

/** Creates the document, which depends on the code alone. */
export const createAsyncapi = (): SchemaObject => {
  const schemas = collectSchemas();
  const messages = messagesOf(schemas);
  const { client, server, events } = messages;
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Limpet",
      version: "1",
      description:
        "What a session sends and receives live. Clients ignore types and fields that they do not know.",
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    defaultContentType: "application/json",
    channels: channelsOf(messages),
    operations: {
      takeFrames: {
        action: "receive",
        summary: "What a client sends.",
        channel: { $ref: "#/channels/socket" },
        messages: operationMessages("socket", client),
      },
      sendFrames: {
        action: "send",
        summary: "What the session sends.",
        channel: { $ref: "#/channels/socket" },
        messages: operationMessages("socket", server),
      },
      sendEvents: {
        action: "send",
        summary: "What happens in the session.",
        channel: { $ref: "#/channels/events" },
        messages: operationMessages("events", events),
      },
    },
    components: {
      messages: Object.fromEntries([...client, ...server, ...events]),
      schemas: schemas.all(),
    },
  };
};
