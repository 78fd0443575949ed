import type { JsonObject } from "../../chat/json.ts";
import { fieldsOf, isJsonObject, parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { firstCharacters } from "../../chat/text.ts";

/** Repairs messages that the library refuses: unset fields that are null, and unknown kinds of content. */

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

/** Removes the fields of an object that are null, and no others. */
const withoutNulls = (value: Json): Readonly<Record<string, Json>> =>
  Object.fromEntries(Object.entries(fieldsOf(value)).filter(([, field]) => field !== null));

const withoutAnyNulls = (value: Json): Json => {
  if (isList(value)) return value.map(withoutAnyNulls);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(withoutNulls(value)).map(([key, field]) => [key, withoutAnyNulls(field)]),
  );
};

const knownKinds: ReadonlySet<Json | undefined> = new Set([
  "text",
  "image",
  "audio",
  "resource",
  "resource_link",
]);

/** Names a block of an unknown kind; returns any other as it is. */
const readableBlock = (block: Json): Json => {
  const { type } = fieldsOf(block);
  if (typeof type !== "string" || knownKinds.has(type)) return block;
  return { type: "text", text: `[content of the unknown kind ${firstCharacters(type, 40)} was omitted]` };
};

/** Fields that the library reads field by field; a null within a schema or a structured content has a meaning. */
const readFields: ReadonlySet<string> = new Set(["content", "capabilities", "serverInfo"]);

/** Repairs the result of a request; the structured content of a tool stays as it is. */
export const tidyResult = (result: Json): Readonly<Record<string, Json>> => {
  const fields = Object.entries(withoutNulls(result)).map(([name, value]): [string, Json] => [
    name,
    readFields.has(name) ? withoutAnyNulls(value) : value,
  ]);
  const tidied: Readonly<Record<string, Json>> = Object.fromEntries(fields);
  const { content } = tidied;
  return content !== undefined && isList(content)
    ? { ...tidied, content: content.map(readableBlock) }
    : tidied;
};

/** Code of an error whose own is not a number. */
const internalError = -32_603;

/** Returns an error as the library takes it: with a number and a text. */
const tidyError = (error: Json): JsonObject => {
  const { code, message, ...rest } = fieldsOf(error);
  const text = typeof error === "string" ? error : JSON.stringify(error);
  return {
    ...rest,
    code: typeof code === "number" && Number.isSafeInteger(code) ? code : internalError,
    message: typeof message === "string" ? message : text,
  };
};

export type RequestId = string | number;

/** Returns whether the library takes an answer as it is. */
const isTidyAnswer = (message: JsonObject, request: RequestId): boolean => {
  const { id, error } = message;
  const { code, message: text } = fieldsOf(error);
  const isError = Number.isSafeInteger(code) && typeof text === "string";
  const isAddressed = id !== undefined && id !== String(request);
  return isAddressed && !Object.values(message).includes(null) && (error === undefined || isError);
};

/**
 * Repairs a message in the answer to a request: fields that are null are none, and where the id is missing or became a
 * text, it is that of the request. Other messages than answers stay as they are.
 */
export const tidyMessage = (message: Json, request: RequestId): Json => {
  const { result, error, method, ...rest } = withoutNulls(message);
  const isAnswer = isJsonObject(message) && ("result" in message || "error" in message);
  if (!isAnswer || method !== undefined || isTidyAnswer(message, request)) return message;
  const { id = request } = rest;
  // What comes beside a result is no error, since the call was made.
  const isError = result === undefined && error !== undefined;
  const answer = isError ? { error: tidyError(error) } : { result: result ?? {} };
  return { ...rest, id: id === String(request) ? request : id, ...answer };
};

/** Repairs the answer of an authorization server, if it is an object in JSON. */
export const tidyAnswer = async (response: Response): Promise<Response> => {
  if (!response.ok || response.body === null) return response;
  const text = await response.text();
  const value = parseJson(text);
  return new Response(isJsonObject(value) ? JSON.stringify(withoutNulls(value)) : text, {
    status: response.status,
    headers: { "content-type": response.headers.get("content-type") ?? "application/json" },
  });
};

const codePattern = /^[\w.-]{1,64}$/;

/** Reduces a refusal of an authorization server to its code: other text of the server would appear in the library's warnings. */
export const tidyRefusal = async (response: Response): Promise<Response> => {
  const { error } = (await response.json().catch(() => ({}))) as { readonly error?: unknown };
  const code = typeof error === "string" && codePattern.test(error) ? error : "server_error";
  const { status } = response;
  return new Response(JSON.stringify({ error: code }), {
    status,
    headers: { "content-type": "application/json" },
  });
};
