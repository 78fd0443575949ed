import { fieldsOf, isJsonObject, parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";

/** Servers in many languages write a field that is not set as null, which the library refuses; this file leaves such fields out. */

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

/** Leaves out the fields of an object that are null, and no others. */
const withoutNulls = (value: Json): Readonly<Record<string, Json>> =>
  Object.fromEntries(Object.entries(fieldsOf(value)).filter(([, field]) => field !== null));

const withoutAnyNulls = (value: Json): Json => {
  if (isList(value)) return value.map(withoutAnyNulls);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(withoutNulls(value)).map(([key, field]) => [key, withoutAnyNulls(field)]),
  );
};

/** Tidies a result of a request; what a tool gives as its structured content stays as it is. */
export const tidyResult = (result: Json): Readonly<Record<string, Json>> => {
  const { content, ...rest } = withoutNulls(result);
  return content === undefined ? rest : { ...rest, content: withoutAnyNulls(content) };
};

/** Tidies the answer of an authorization server, if it is an object in JSON. */
export const tidyAnswer = async (response: Response): Promise<Response> => {
  if (!response.ok || response.body === null) return response;
  const text = await response.text();
  const value = parseJson(text);
  return new Response(isJsonObject(value) ? JSON.stringify(withoutNulls(value)) : text, {
    status: response.status,
    headers: { "content-type": response.headers.get("content-type") ?? "application/json" },
  });
};
