import type * as z from "zod";
import { allScopes } from "../../session/rpc.ts";
import type { Scope } from "../../session/rpc.ts";
import { documentPath } from "../route.ts";
import { examples } from "./examples.ts";
import { collectSchemas } from "./json-schema.ts";
import type { SchemaObject, SchemaCollection } from "./json-schema.ts";
import { describedRoutes } from "./routes.ts";
import type { DescribedRoute } from "./routes.ts";
import { problemSchema, problemSentences, scopeEntries } from "./schemas/problems.ts";
import { tasks } from "./tasks.ts";

/** Creates `GET /v1/openapi.json`. */

const parameterSentences: Readonly<Record<string, string>> = {
  session: "The id of the session.",
  agent: "The name of the agent.",
  ask: "The id of the ask.",
  file: "The id of the uploaded file.",
  grant: "The id of the grant.",
  input: "The id of the input.",
  key: "The id of the key.",
  message: "The id of the message.",
  name: "The name of the MCP server.",
  provider: "The name of the provider.",
  run: "The id of the run.",
  subject: "The person whom the memories are about.",
  turn: "The number of the turn in its run, from 1.",
  path: "A path in the workspace; it may contain slashes.",
};

const pathParameters = ({ route }: DescribedRoute): readonly SchemaObject[] =>
  [...route.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
    description: parameterSentences[name],
  }));

/** Lists the headers that a route accepts. */
const headerParameters = ({ route, headers }: DescribedRoute): readonly SchemaObject[] => [
  ...(route.scope === "open" || route.method === "GET"
    ? []
    : [{ $ref: "#/components/parameters/IdempotencyKey" }]),
  ...Object.entries(headers).map(([name, description]) => ({
    name,
    in: "header",
    required: false,
    description,
    schema: { type: "string" },
  })),
];

/** Returns the fields of a route's query, with those that it needs. */
const queryFields = ({ query }: DescribedRoute, schemas: SchemaCollection): QueryFields =>
  query === null ? {} : schemas.place(query, "input");

interface QueryFields {
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly required?: readonly string[];
}

const queryParameters = (described: DescribedRoute, schemas: SchemaCollection): readonly SchemaObject[] => {
  const { properties = {}, required = [] } = queryFields(described, schemas);
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    ...(schema["type"] === "object" ? { style: "deepObject", explode: true } : {}),
    schema,
  }));
};

const withExample = (content: SchemaObject, example: unknown): SchemaObject =>
  example === undefined ? content : { ...content, example };

const bytes = { type: "string", format: "binary" };

/** Describes a text, bytes, or a form, whose fields are those of the query besides its file. */
const mediaSchema = (type: string, description: string, fields: QueryFields): SchemaObject =>
  type === "multipart/form-data"
    ? {
        type: "object",
        description,
        properties: { file: { ...bytes, description: "The file." }, ...fields.properties },
        required: ["file"],
      }
    : { ...(type.startsWith("text/") ? { type: "string" } : bytes), description };

const mediaOf = (kinds: Readonly<Record<string, string>>, fields: QueryFields = {}): SchemaObject =>
  Object.fromEntries(
    Object.entries(kinds).map(([type, description]) => [
      type,
      { schema: mediaSchema(type, description, fields) },
    ]),
  );

const requestBody = (described: DescribedRoute, schemas: SchemaCollection): SchemaObject => {
  const { id, body, bodies } = described;
  if (body === null && Object.keys(bodies).length === 0) return {};
  const json =
    body === null
      ? {}
      : {
          "application/json": withExample(
            { schema: schemas.place(body.schema, "input") },
            examples.requests[id],
          ),
        };
  const content = { ...json, ...mediaOf(bodies, queryFields(described, schemas)) };
  return { requestBody: { required: body?.isOptional !== true, content } };
};

const statusSentences: Readonly<Record<string, string>> = {
  200: "Done.",
  201: "Created.",
  202: "Accepted: the request is stored and will be carried out.",
  204: "Done; there is no body.",
  206: "The part that `Content-Range` names.",
  101: "The connection is a WebSocket now.",
};

/** Returns the JSON of an answer, which may differ by the query. */
const withOtherJson = (json: SchemaObject, media: DescribedRoute["media"]): SchemaObject => {
  const says = media["application/json"];
  return says === undefined
    ? json
    : { ...json, schema: { anyOf: [json["schema"], { type: "object", description: says }] } };
};

const headersOf = (tag: string | null): SchemaObject =>
  tag === null ? {} : { headers: { ETag: { description: tag, schema: { type: "string" } } } };

const answerOf = (
  { id, media, tag }: DescribedRoute,
  status: string,
  schema: z.ZodType | null,
  schemas: SchemaCollection,
): SchemaObject => {
  const description = statusSentences[status] ?? "Done.";
  if (schema === null) return { description };
  const json = withExample({ schema: schemas.place(schema, "output") }, examples.answers[`${id} ${status}`]);
  const content =
    status === "200"
      ? { ...mediaOf(media), "application/json": withOtherJson(json, media) }
      : { "application/json": json };
  return { description, ...headersOf(tag), content };
};

const answersOf = (described: DescribedRoute, schemas: SchemaCollection): SchemaObject => {
  const { answers, media, others, id } = described;
  const problem = { $ref: "#/components/responses/Problem" };
  const more = Object.entries(others).map(([status, kinds]) => [
    status,
    { description: statusSentences[status] ?? "Refused.", content: mediaOf(kinds) },
  ]);
  const failures = { ...Object.fromEntries(more), "4XX": problem, "5XX": problem };
  if (id === "connect") return { 101: { description: statusSentences[101] }, ...failures };
  if (Object.keys(answers).length === 0)
    return { 200: { description: statusSentences[200], content: mediaOf(media) }, ...failures };
  const answered = Object.entries(answers).map(([status, schema]) => [
    status,
    answerOf(described, status, schema, schemas),
  ]);
  return { ...Object.fromEntries(answered), ...failures };
};

/** Returns the scopes that admit a caller: each alone suffices; open routes need none. */
const securityOf = ({ route: { scope } }: DescribedRoute): readonly SchemaObject[] =>
  scope === "open" ? [] : [scope].flat().map((each) => ({ key: each === "any" ? [] : [each] }));

const operationOf = (described: DescribedRoute, schemas: SchemaCollection): SchemaObject => {
  const { id, says } = described;
  const parameters = [
    ...pathParameters(described),
    ...queryParameters(described, schemas),
    ...headerParameters(described),
  ];
  const task = tasks.find(({ routes }) => routes.includes(id));
  return {
    operationId: id,
    summary: says,
    tags: [task?.title ?? "Other"],
    security: securityOf(described),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(described, schemas),
    responses: answersOf(described, schemas),
  };
};

const pathsOf = (schemas: SchemaCollection): SchemaObject => {
  const paths: Record<string, Record<string, SchemaObject>> = {};
  for (const described of describedRoutes) {
    const { method, path } = described.route;
    const item = (paths[documentPath(path)] ??= {});
    item[method.toLowerCase()] = operationOf(described, schemas);
  }
  return paths;
};

/** Returns an example of a scope's use: a route that accepts no other scope. */
const scopeExample = (scope: Scope): string => {
  const route = describedRoutes
    .map((each) => each.route)
    .find((each) => [each.scope].flat().join() === scope);
  return route === undefined
    ? "the frames `llm_provider_raw` of a WebSocket"
    : `\`${route.method} ${documentPath(route.path)}\``;
};

const scopeText = allScopes
  .map((scope) => `- \`${scope}\`: ${scopeEntries[scope].says} For example ${scopeExample(scope)}.`)
  .join("\n");

const problemExamples = Object.fromEntries(
  Object.entries(problemSentences).map(([code, summary]) => [
    code,
    { summary, ...(examples.problems[code] === undefined ? {} : { value: examples.problems[code] }) },
  ]),
);

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "1 to 128 printable characters: the same request with the same key is carried out once, for 7 days.",
  schema: { type: "string", minLength: 1, maxLength: 128 },
};

/** Creates the document, which depends on the code alone. */
export const createOpenapi = (): SchemaObject => {
  const schemas = collectSchemas();
  const paths = pathsOf(schemas);
  const problem = schemas.place(problemSchema, "output");
  return {
    openapi: "3.1.0",
    info: {
      title: "Limpet",
      version: "1",
      summary: "The HTTP API of a deployment.",
      description:
        "Errors are `application/problem+json`. Clients ignore fields and event types that they do not know; v1 only grows.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The deployment that serves this document." }],
    tags: tasks.map(({ title, says }) => ({ name: title, description: says })),
    paths,
    components: {
      securitySchemes: {
        key: {
          type: "http",
          scheme: "bearer",
          description: `An API key or a browser token. Scopes:\n\n${scopeText}`,
        },
      },
      parameters: { IdempotencyKey: idempotencyKey },
      responses: {
        Problem: {
          description: "The request was refused, or failed.",
          content: { "application/problem+json": { schema: problem, examples: problemExamples } },
        },
      },
      schemas: schemas.all(),
    },
  };
};
