import { toPlainText } from "./plain.ts";

/** Makes requests of commands, and tells an answer that comes from no Limpet, or not whole, as a problem. */

/** Returns a problem in place of an answer. */
const refuse = (detail: string, retryable: boolean): Response =>
  Response.json({ code: "unreadable_answer", detail, status: 0, retryable }, { status: 502 });

/** Returns the fields of a JSON object; undefined if the text is none. */
const fieldsOf = (text: string): object | undefined => {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Returns whether an answer is a Limpet's: each has an id, and a refusal says why. */
const isLimpet = ({ ok, status, headers }: Response, text: string): boolean => {
  const fields = fieldsOf(text);
  if (!ok) return fields !== undefined && "code" in fields && "detail" in fields;
  return headers.has("Request-Id") && (status === 204 || fields !== undefined);
};

/** Returns what is wrong where a server answers that is no Limpet, or does not let one answer. */
const describeForeign = (url: string, { status, headers }: Response, text: string): string => {
  const way = "give the right address by --url or LIMPET_URL";
  // What npm start serves answers for a Limpet that is not there with a sentence.
  const isSaid = status >= 500 && headers.get("Content-Type")?.startsWith("text/plain") === true;
  if (isSaid && /^[^\n]{1,300}\n?$/.test(text))
    return `${url} answers ${status}: ${toPlainText(text.trim())}`;
  return status >= 500
    ? `${url} answers ${status} without saying why: try again, or, if no Limpet is there, ${way}.`
    : `What answers at ${url} is no Limpet: ${way}.`;
};

/** Creates a `fetch` whose answers are a Limpet's; a stream of events is given on as it comes. */
export const createFetch =
  (url: string): typeof fetch =>
  async (...given) => {
    const response = await fetch(...given);
    const { ok, status, headers } = response;
    if (ok && headers.get("Content-Type")?.startsWith("text/event-stream") === true) return response;
    let text: string;
    try {
      text = await response.text();
    } catch {
      return refuse(`The answer from ${url} broke off before its end; try again.`, true);
    }
    return isLimpet(response, text)
      ? new Response(status === 204 ? null : text, { status, headers })
      : refuse(describeForeign(url, response, text), status >= 500);
  };
