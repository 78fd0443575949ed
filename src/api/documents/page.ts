import { allScopes } from "../../session/rpc.ts";
import { streamLimits } from "../../session/frames.ts";
import { problemKinds } from "../../session/problems.ts";
import { documentPath } from "../route.ts";
import { examples } from "./examples.ts";
import { collectSchemas } from "./json-schema.ts";
import type { SchemaObject, SchemaCollection } from "./json-schema.ts";
import { describedRoutes } from "./routes.ts";
import type { DescribedRoute } from "./routes.ts";
import { fieldText, fieldTexts, tableText, typeText } from "./schema-text.ts";
import { clientFrames } from "./schemas/client-frames.ts";
import { eventEntries, eventGroups } from "./schemas/events.ts";
import { closeCodeSentences, serverFrames, serverFrameSentences } from "./schemas/frames.ts";
import { problemSentences, scopeEntries } from "./schemas/problems.ts";
import type { ShownCall, TaskGroup } from "./tasks.ts";
import { tasks } from "./tasks.ts";

/** Writes `src/api/reference.md`, one page for people. */

const shortPath = (path: string): string => documentPath(path).replace("/v1/sessions/{session}", "S");

const isSession = (path: string): boolean => path.startsWith("/v1/sessions/:session");

const scopeText = ({ route: { scope } }: DescribedRoute): string =>
  scope === "open" ? "open" : scope === "any" ? "any key" : [scope].flat().join(" or ");

/** Routes that the client reaches in another way than by name: they have bytes, sockets, or bodies for hand-written requests. */
const unnamed: ReadonlySet<string> = new Set([
  "read_file",
  "write_file",
  "unpack",
  "upload",
  "read_upload",
  "send_and_wait",
  "respond",
  "connect",
]);

const routeRow = (described: DescribedRoute): readonly string[] => {
  const { method, path, scope } = described.route;
  return [
    `\`${method} ${isSession(path) ? shortPath(path) : documentPath(path)}\``,
    scope === "open" || unnamed.has(described.id) ? "–" : `\`${described.id}\``,
    described.says,
    scopeText(described),
  ];
};

/** Lists the fields of a body or a query, without those of pages with a cursor, which are the same everywhere. */
const fieldsLine = (label: string, schema: SchemaObject): readonly string[] => {
  const all = fieldTexts(schema);
  const isPaged = all.some(({ name }) => name === "cursor");
  const fields = isPaged ? all.filter(({ name }) => name !== "limit" && name !== "cursor") : all;
  if (fields.length === 0) return [];
  const texts = fields.map(
    (field) => (field.isRequired ? "**" : "") + fieldText(field) + (field.isRequired ? "**" : ""),
  );
  return [`  - ${label}: ${texts.join("; ")}.`];
};

/** Names whose fields have a section of their own below. */
const nouns = [
  "Session",
  "Limit",
  "Run",
  "RunResult",
  "Message",
  "Part",
  "Input",
  "Receipt",
  "Ask",
  "Thread",
  "Snapshot",
  "Usage",
  "WaitReason",
  "Problem",
];

const answerText = (schemas: SchemaCollection, { answers, media }: DescribedRoute): string =>
  [
    ...Object.entries(answers).map(([status, schema]) =>
      schema === null ? status : `${status} ${answerName(schemas, schemas.place(schema, "output"))}`,
    ),
    ...Object.entries(media).map(([type, says]) => `${type} (${says.replace(/\.$/, "")})`),
  ].join(", ");

const fieldNames = (schema: SchemaObject): string => {
  const names = fieldTexts(schema).map(({ name }) => name);
  return names.length === 0 ? "" : `{${names.join(", ")}}`;
};

/** Adds the fields of a named object, or of the objects of a list, that no section describes. */
const describeType = (schemas: SchemaCollection, type: string): string => {
  const name = type.replace("list of ", "");
  return [type, nouns.includes(name) ? "" : fieldNames(schemas.all()[name] ?? {})].join(" ").trim();
};

/** Names the answer; an object without a name is described by its fields. */
const answerName = (schemas: SchemaCollection, schema: SchemaObject): string => {
  const row = fieldTexts(schema).find(({ name }) => name === "data");
  if (row !== undefined) return `page: ${describeType(schemas, row.type)}`;
  return fieldNames(schema) || describeType(schemas, typeText(schema));
};

const detailsOf = (schemas: SchemaCollection, described: DescribedRoute): readonly string[] => {
  const { route, query, body, bodies } = described;
  const { method, path } = route;
  const lines = [
    ...(described.id === "send_and_wait" ? ["  - body: that of `POST S/messages`."] : []),
    ...(query === null ? [] : fieldsLine("query", schemas.place(query, "input"))),
    ...(body === null || described.id === "send_and_wait"
      ? []
      : fieldsLine("body", schemas.place(body.schema, "input"))),
    ...Object.entries(bodies).map(([type, says]) => `  - body as ${type}: ${says}`),
  ];
  const answer = answerText(schemas, described);
  const address = isSession(path) ? shortPath(path) : documentPath(path);
  return [`- \`${method} ${address}\`${answer === "" ? "" : ` → ${answer}`}`, ...lines];
};

const curlText = ({ route: id, query = "", body }: ShownCall): string => {
  const found = describedRoutes.find((each) => each.id === id);
  if (found === undefined) throw new Error(`there is no route ${id}`);
  const { method, path } = found.route;
  const address = documentPath(path).replace("{session}", "$SESSION").replace("{ask}", "$ASK");
  const data =
    body === undefined ? "" : ` \\\n  -H "Content-Type: application/json" -d '${JSON.stringify(body)}'`;
  const verb = method === "GET" || (method === "POST" && body !== undefined) ? "" : ` -X ${method}`;
  const streams = query.includes("live=sse") ? " -N" : "";
  return `curl -s${streams}${verb} "$LIMPET${address}${query}" -H "Authorization: Bearer $KEY"${data}`;
};

const taskText = (schemas: SchemaCollection, { title, says, routes, calls }: TaskGroup): string => {
  const described = routes.flatMap((id) => describedRoutes.find((each) => each.id === id) ?? []);
  return [
    `### ${title}`,
    says,
    tableText(["route", "name", "what it does", "scope"], described.map(routeRow)),
    ...(calls.length === 0 ? [] : [`\`\`\`sh\n${calls.map(curlText).join("\n\n")}\n\`\`\``]),
    described.flatMap((each) => detailsOf(schemas, each)).join("\n"),
  ].join("\n\n");
};

const dataText = (schemas: SchemaCollection, type: keyof typeof eventEntries): string => {
  const schema = schemas.place(eventEntries[type].data, "output");
  const fields = fieldTexts(schema).filter(({ name }) => !["truncated", "input_sha256"].includes(name));
  if (fields.length > 0) return fields.map(fieldText).join("; ");
  return typeText(schema) === "{}" ? "–" : typeText(schema);
};

const eventsText = (schemas: SchemaCollection): string =>
  Object.entries(eventGroups)
    .map(([title, group]) => {
      const types = Object.keys(group) as (keyof typeof eventEntries)[];
      const rows = types.map((type) => [`\`${type}\``, eventEntries[type].says, dataText(schemas, type)]);
      return [`### ${title}`, tableText(["type", "when", "data"], rows)].join("\n\n");
    })
    .join("\n\n");

const frameFields = (schema: SchemaObject): string =>
  fieldTexts(schema)
    .filter(({ name }) => name !== "type")
    .map(fieldText)
    .join("; ") || "–";

const resolved = (schemas: SchemaCollection, placed: SchemaObject): SchemaObject => {
  const { $ref: ref } = placed;
  return typeof ref === "string" ? (schemas.all()[ref.split("/").at(-1) ?? ""] ?? {}) : placed;
};

const socketText = (schemas: SchemaCollection): readonly string[] => [
  tableText(
    ["you send", "what it does", "fields"],
    [...clientFrames].map(([type, { says, schema }]) => [
      `\`${type}\``,
      says,
      frameFields(schemas.place(schema, "input")),
    ]),
  ),
  tableText(
    ["you get", "what it says", "fields"],
    [...serverFrames].map(([type, schema]) => [
      `\`${type}\``,
      serverFrameSentences.get(type) ?? "",
      frameFields(resolved(schemas, schemas.place(schema, "output"))),
    ]),
  ),
];

const nounText = (name: string, schema: SchemaObject): string => {
  const { description } = schema;
  const fields = fieldTexts(schema);
  const choices = [...((schema["oneOf"] ?? schema["anyOf"] ?? []) as readonly SchemaObject[])];
  const rows = fields.map(({ name: field, type, says }) => [`\`${field}\``, type, says]);
  const texts =
    rows.length > 0
      ? tableText(["field", "kind", "what it is"], rows)
      : choices.map((choice) => `- ${fieldTexts(choice).map(fieldText).join("; ")}.`).join("\n");
  return [`### ${name}`, String(description), texts].join("\n\n");
};

const problemRows = Object.entries(problemKinds).map(([code, { status, retryable }]) => [
  String(status),
  `\`${code}\``,
  problemSentences[code as keyof typeof problemSentences],
  retryable ? "yes" : "no",
]);

const jsonText = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

const heading = `# The API

Made from the code that serves it; \`npm run unit -- test/api/documents -u\` writes it anew. Programs read the same as
\`GET /v1/openapi.json\` and \`GET /v1/asyncapi.json\`; coding agents read \`GET /llms.txt\`.

Every request has \`Authorization: Bearer <key>\`, and the examples have it in \`KEY\`, the address in \`LIMPET\` and the id
of a session in \`SESSION\`. \`npm start\` needs no key. \`S\` stands for \`/v1/sessions/{session}\`. Bodies are JSON, times are
milliseconds since the epoch, costs are in USD. Below, a field without a kind is a text, and one in bold must be there.

- **Nothing is done twice.** Send a command again with the same \`Idempotency-Key\` (or the body's \`id\`) as often as you
  like, for 7 days: it is carried out once, and the answer is the same, with \`Idempotent-Replayed: true\`. Another
  body under a key is 422. A key counts in its session: creations with two \`ref\`s are two, also under one key.
- **Accepted is stored.** A 2xx to a command is sent after the commit. Its \`seq\` is an event that later reads show.
- **Lists come in pages**: \`limit\` (50, at most 200) and \`cursor\`, which \`next_cursor\` of the page before gives.
- **Nobody overwrites unseen.** Commands that change or take away what was read take \`If-Match\` with its \`ETag\` or
  version; 412 means that it changed since. Where nothing would look at it, it is refused.
- **v1 only grows.** Ignore fields, events and frames that you do not know.`;

const streamText = `## Follow a session live

A session is a log of events, numbered \`seq\` 1, 2, 3 … without gaps. Whoever names the last one that they have seen gets
every later one, once and in order, over any of three ways: \`GET S/events?after=N\` page by page, the same address as
server-sent events (\`Accept: text/event-stream\`; the id of each is its \`seq\`, so browsers resume by themselves), or the
WebSocket, which also takes commands. As server-sent events come its frames, too, such as
\`welcome\`, \`live\`, \`delta\` and \`bye\`, without an id; each 15 s there is a \`heartbeat\`, and who hears nothing for longer
connects again.

Text in the making comes as *deltas*, live only: an event opens an item (\`llm_text\`, \`llm_reasoning\`, \`llm_tool_prepare\`,
\`tool_call_start\`), deltas grow it, and the event that closes it (\`message_added\`, \`tool_call_end\`) has the whole. Who
shows text as it comes keeps three rules:

1. \`off\` says how many UTF-16 units of the item came before the piece. If you have another number, you missed some:
   wait for the closing event, or for \`item_state\`, which replaces what you have.
2. \`attempt_aborted\` names items whose attempt failed: throw their text away. The next attempt writes new ones.
3. The closing event is the truth: replace what the deltas came to.

## The WebSocket

Open \`S/ws\` with the subprotocol \`limpet.v1\`. The credential is the \`Authorization\` header or, in browsers, a second
subprotocol \`bearer.<token>\`, or a first frame \`auth\`. Send \`hello\`; with \`after\` come \`welcome\`, the events after it, an
\`item_state\` for each open item and \`live\`; without it a \`snapshot\` takes the place of the events. A message is one frame
or an array of frames.

**Acknowledge.** Send \`{"type":"ack","frames":N}\`, where N counts all frames of this connection, at least each 100
frames or 256 KiB. Above ${streamLimits.unacked / 2 ** 20} MiB without one deltas stop, \`lag\` comes, and events follow as you acknowledge; after
${streamLimits.patience / 1_000} s the server says \`bye\` and closes with 4413. A client that has never acknowledged gets ${streamLimits.pace / 1_024} KiB a second, ${streamLimits.silent / 2 ** 20} MiB
in all, and no deltas. The \`hint\` of both frames says what to send.

**Stay connected.** Send \`{"type":"ping"}\` each ${streamLimits.heartbeat / 1_000} s: \`pong\` comes without waking the session. After a cut connect again
with \`after\`: the last \`seq\` that you have. Commands that were not answered go again with their \`id\`.`;

/** Writes the page. */
export const createReference = (): string => {
  const schemas = collectSchemas();
  const groups = tasks.map((task) => taskText(schemas, task));
  const events = eventsText(schemas);
  const socket = socketText(schemas);
  const named = schemas.all();
  const closes = Object.entries(closeCodeSentences).map(([code, says]) => [code, says]);
  return [
    heading,
    "## What to call",
    "`call` of the [client](../client/README.md) takes the name of a route, with the parameters of its path, query and body in one object.",
    ...groups,
    streamText,
    ...socket,
    "When the server closes, the code says why:",
    tableText(["code", "why, and what to do"], closes),
    "## Events",
    "Every event has this envelope; `thread` is `main` or that of a called agent, and `data` is what the tables below say. Data above 64 KiB come with their texts cut and `truncated: true`; the messages have them whole.",
    jsonText(examples.events["turn_end"]),
    events,
    "## Nouns",
    ...nouns.flatMap((name) => (named[name] === undefined ? [] : [nounText(name, named[name])])),
    "## Scopes",
    "A key has the scopes that it was created with. A browser token has `sessions:read`, `sessions:write` and `asks:answer` unless others are asked for, for one session.",
    tableText(
      ["scope", "allows to", "who needs it"],
      allScopes.map((scope) => [`\`${scope}\``, scopeEntries[scope].says, scopeEntries[scope].who]),
    ),
    "## Errors",
    "Errors are `application/problem+json`. `code` is for programs, `detail` for people, `errors` names fields by JSON pointer. Where *again* is yes the same request may succeed later, after `retry_after_ms` if it is there.",
    jsonText(examples.problems["invalid_request"]),
    tableText(["status", "code", "what to do", "again"], problemRows),
    "A run that fails says so in `run_end`: `reason` is one of `EndReason` in openapi.json, and `error` a problem with the same code.",
    "",
  ].join("\n\n");
};
