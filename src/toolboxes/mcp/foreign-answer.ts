import type { FetchLike } from "@modelcontextprotocol/client";
import { fieldsOf, parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { firstCharacters } from "../../chat/text.ts";
import { removeHidden } from "./hidden-text.ts";
import type { RequestId } from "./tidy.ts";
import { tidyMessage } from "./tidy.ts";

/** Finds answers that do not come from an MCP server, as of a proxy that asks people to sign in. */

/** Characters of an answer in its error, which is cut further after secrets are taken out. */
const longestBeginning = 4_096;

const describeAnswer = (type: string | null, text: string): string => {
  const beginning = removeHidden(firstCharacters(text, longestBeginning).replaceAll(/\s+/g, " ")).trim();
  const sent = type ?? "an answer without a content type";
  return beginning === "" ? `${sent}, and nothing in it` : `${sent}, beginning with ${beginning}`;
};

/** Error of a successful answer that is no message of MCP. */
export class ForeignAnswer extends Error {
  constructor(type: string | null, text: string) {
    super(`what answered does not speak MCP: it sent ${describeAnswer(type, text)}`);
    this.name = "ForeignAnswer";
  }
}

interface SentRequest {
  readonly id: RequestId;
  /** Whether it calls a tool, which may act whatever the answer is. */
  readonly isCall: boolean;
}

/** Returns the request that is sent; null for other messages. */
const sentRequestOf = ({ method, body }: RequestInit): SentRequest | null => {
  if (method !== "POST" || typeof body !== "string") return null;
  const { id, method: asked } = fieldsOf(parseJson(body) ?? null);
  if (asked === undefined || (typeof id !== "number" && typeof id !== "string")) return null;
  return { id, isCall: asked === "tools/call" };
};

const isMessage = (value: Json): boolean => fieldsOf(value)["jsonrpc"] === "2.0";

/** Returns the messages in an answer; null if it holds something else. */
const messagesIn = (text: string): readonly Json[] | null => {
  const value = parseJson(text, Infinity) ?? null;
  const values: readonly Json[] = Array.isArray(value) ? value : [value];
  return values.every(isMessage) ? values : null;
};

/** Returns the type of a body without its parameters. */
const mediaTypeOf = (type: string | null): string => (type ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/**
 * Wraps a fetch so that a successful answer to a request that is neither messages nor a stream rejects, and so does one
 * without the answer to it, unless it calls a tool. Messages are repaired which the library would not take.
 */
export const requireMessages =
  (fetch: FetchLike): FetchLike =>
  async (url, init) => {
    const response = await fetch(url, init);
    const { ok, status, statusText, headers } = response;
    const type = headers.get("content-type");
    const media = mediaTypeOf(type);
    const sent = sentRequestOf(init ?? {});
    if (!ok || media === "text/event-stream" || sent === null || (status === 202 && sent.isCall))
      return response;
    const text = await response.text();
    const messages = media === "application/json" ? messagesIn(text) : null;
    if (messages === null) throw new ForeignAnswer(type, text);
    const tidied = messages.map((message) => tidyMessage(message, sent.id));
    if (!sent.isCall && !tidied.some((message) => fieldsOf(message)["id"] === sent.id))
      throw new ForeignAnswer(type, text);
    const isTidy = tidied.every((message, at) => message === messages[at]);
    return new Response(isTidy ? text : JSON.stringify(tidied), { status, statusText, headers });
  };
