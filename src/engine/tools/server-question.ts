import * as z from "zod";
import { fieldsOf, isJsonObject, parseJson } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { firstCharacters } from "../../chat/text.ts";
import type { Park, QuestionSpec } from "../../tools/define-tool.ts";
import { findSchemaErrors } from "../../tools/schema/json-schema.ts";

/** Asks a person the questions of an MCP server, one at a time, and reads the answers. */

const requestSchema = z.object({
  method: z.string(),
  params: z.object({
    mode: z.enum(["form", "url"]).optional(),
    message: z.string(),
    url: z.string().optional(),
    requestedSchema: z.json().optional(),
  }),
});

type ServerRequest = z.output<typeof requestSchema>["params"];

/** State of a call whose server waits: the questions, the server's own state, and the answers so far. */
export const waitSchema = z.object({
  requests: z.record(z.string(), z.json()),
  state: z.string().nullable(),
  answers: z.record(z.string(), z.json()),
  rounds: z.number(),
});

export interface ServerWait {
  readonly requests: Readonly<Record<string, Json>>;
  readonly state: string | null;
  readonly answers: Readonly<Record<string, Json>>;
  /** Number of times that the server has asked before. */
  readonly rounds: number;
}

/** Number of times that a server may ask again, since it could go on for ever. */
const mostRounds = 5;

/** Number of questions that a server may ask at once. */
const mostQuestions = 10;

/** Number of times that a person is asked a question before the call ends. */
const mostTries = 5;

const answeredSchema = z.object({
  asked: z.object({ wait: waitSchema, key: z.string(), tries: z.number() }),
  answer: z.string().nullable(),
});

/** Memo of a call whose server asks nobody anything, but wants to be called again. */
const pausedSchema = z.object({ wait: waitSchema });

const longestText = 4_000;

const hidden = /(?![\n\t])[\p{Cc}\p{Cf}]/gu;

const shownText = (text: string): string => firstCharacters(text.replace(hidden, ""), longestText);

const propertiesOf = ({ requestedSchema }: ServerRequest): readonly (readonly [string, JsonObject])[] =>
  Object.entries(fieldsOf(fieldsOf(requestedSchema)["properties"])).map(([name, value]) => [
    name,
    fieldsOf(value),
  ]);

const textsIn = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.flatMap((each: Json) => (typeof each === "string" ? [each] : [])) : [];

const constantsIn = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.flatMap((each: Json) => textsIn([fieldsOf(each)["const"] ?? null])) : [];

/** Number of choices, and of characters of one, that a person can be shown. */
const mostChoices = 100;
const longestChoice = 200;

const isShowable = (choice: string): boolean =>
  choice.length <= longestChoice && choice === choice.replace(hidden, "");

/** Returns the choices of a field; none if they cannot be shown as they are, so that it is answered in words. */
const choicesOf = (field: JsonObject): readonly string[] => {
  if (field["type"] === "boolean") return ["yes", "no"];
  const found = [...textsIn(field["enum"]), ...constantsIn(field["oneOf"]), ...constantsIn(field["anyOf"])];
  const choices = [...new Set(found)];
  return choices.length <= mostChoices && choices.every(isShowable) ? choices : [];
};

const describeField = ([name, field]: readonly [string, JsonObject]): string => {
  const title = typeof field["title"] === "string" ? field["title"] : name;
  const about = typeof field["description"] === "string" ? `: ${field["description"]}` : "";
  const choices = choicesOf(field);
  const type = typeof field["type"] === "string" ? field["type"] : "any";
  const listed = choices.length === 0 ? type : choices.join(", ");
  return `- ${name === title ? name : `${name} (${title})`}${about} [${listed}]`;
};

/** Option by which a person does not answer a form, and the server is told so. */
const declineOption = "Decline to answer";

/** Returns a form of one field as a plain question; a longer form is answered by a JSON object. */
const questionOf = (server: string, request: ServerRequest, problem: string): QuestionSpec => {
  const fields = propertiesOf(request);
  const [only] = fields;
  const plain = { header: server, multi_select: false };
  const head = [...(problem === "" ? [] : [problem]), request.message];
  if (only === undefined)
    return { ...plain, text: shownText(head.join("\n")), options: ["accept", "decline"], strict: true };
  // A long message is cut by itself: what a person must answer stays.
  const text = (more: readonly string[]): string =>
    [head, more].map((lines) => shownText(lines.join("\n"))).join("\n");
  if (fields.length > 1)
    return {
      ...plain,
      text: text(["Answer with a JSON object of these fields:", ...fields.map(describeField)]),
      options: [declineOption],
      strict: false,
    };
  const [, field] = only;
  if (field["type"] === "array") {
    const options = [...choicesOf(fieldsOf(field["items"])), declineOption];
    return { ...plain, text: text([describeField(only)]), options, multi_select: true, strict: true };
  }
  const choices = choicesOf(field);
  const options = [...choices, declineOption];
  return { ...plain, text: text([describeField(only)]), options, strict: choices.length > 0 };
};

const valueOf = (field: JsonObject, answer: string): Json => {
  if (field["type"] === "boolean") return answer === "yes" || answer === "true";
  if (field["type"] === "array") return parseJson(answer) ?? answer;
  if (field["type"] !== "number" && field["type"] !== "integer") return answer;
  const number = Number(answer.trim());
  return answer.trim() === "" || Number.isNaN(number) ? answer : number;
};

/** Reads the content of a form from a person's answer, or returns what does not fit. */
const contentOf = (request: ServerRequest, answer: string): JsonObject | string => {
  const fields = propertiesOf(request);
  const [only] = fields;
  const content =
    fields.length === 1 && only !== undefined
      ? { [only[0]]: valueOf(only[1], answer) }
      : (parseJson(answer) ?? answer);
  if (!isJsonObject(content)) return "The answer is not a JSON object.";
  const problems = findSchemaErrors(request.requestedSchema ?? {}, content, "answer");
  return problems.length === 0 ? content : `The answer does not fit: ${problems.slice(0, 5).join("; ")}`;
};

/** Returns the reply for the server, or a sentence about what does not fit. */
const replyTo = (request: ServerRequest, answer: string | null): JsonObject | string => {
  if (answer === null) return { action: "cancel" };
  if (request.mode === "url") return { action: answer === "approve" ? "accept" : "decline" };
  if (propertiesOf(request).length === 0) return { action: answer === "decline" ? "decline" : "accept" };
  if ([answer, ...textsIn(parseJson(answer) ?? [])].includes(declineOption)) return { action: "decline" };
  const content = contentOf(request, answer);
  return typeof content === "string" ? content : { action: "accept", content };
};

const longestAddress = 8_192;

/** Returns an address as a person can judge it: its host in plain letters and nothing before it; null for others. */
const addressToOpen = (given = ""): string | null => {
  const url = URL.parse(given);
  const isPlain = url?.protocol === "https:" && url.username === "" && url.password === "";
  return isPlain && url.href.length <= longestAddress ? url.href : null;
};

const readRequest = (value: Json | undefined): ServerRequest | null => {
  const read = requestSchema.safeParse(value);
  if (!read.success || read.data.method !== "elicitation/create") return null;
  const { params } = read.data;
  if (params.mode !== "url") return params;
  const url = addressToOpen(params.url);
  return url === null ? null : { ...params, url };
};

/** Next step of a call about its server's questions: ask a person, call again with all answers, or give up. */
export type NextQuestion =
  | { readonly do: "ask"; readonly park: Extract<Park, { readonly on: "answer" }> }
  | { readonly do: "call"; readonly wait: ServerWait }
  | { readonly do: "refuse" };

const askNext = (server: string, wait: ServerWait, problem = "", tries = 0): NextQuestion => {
  const key = Object.keys(wait.requests).find((each) => !Object.hasOwn(wait.answers, each));
  if (key === undefined) return { do: "call", wait };
  const request = readRequest(wait.requests[key]);
  if (request === null || tries >= mostTries) return { do: "refuse" };
  const subject =
    request.mode === "url"
      ? { authorization: { server, url: request.url ?? "" } }
      : { question: questionOf(server, request, problem) };
  const memo = { wait: { ...wait }, key, tries };
  return { do: "ask", park: { on: "answer", subject, memo } };
};

/** Returns the next step about the questions that a server has just asked. */
export const startQuestions = (
  server: string,
  {
    requests,
    state,
    rounds,
  }: { readonly requests: Json; readonly state: string | null; readonly rounds: number },
): NextQuestion => {
  const asked = fieldsOf(requests);
  if (rounds >= mostRounds || Object.keys(asked).length > mostQuestions) return { do: "refuse" };
  return askNext(server, { requests: asked, state, answers: {}, rounds });
};

/** Returns the next step of a call that waited, by its memo; null if the call has not waited. */
export const continueQuestions = (server: string, memo: Json): NextQuestion | null => {
  const paused = pausedSchema.safeParse(memo).data;
  if (paused !== undefined) return { do: "call", wait: paused.wait };
  const read = answeredSchema.safeParse(memo);
  if (!read.success) return null;
  const { asked, answer } = read.data;
  const { wait, key, tries } = asked;
  const request = readRequest(wait.requests[key]);
  if (request === null) return { do: "refuse" };
  const reply = replyTo(request, answer);
  if (typeof reply === "string") return askNext(server, wait, reply, tries + 1);
  return askNext(server, { ...wait, answers: { ...wait.answers, [key]: reply } });
};
