import type { FetchLike } from "@modelcontextprotocol/client";
import { fieldsOf, parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { firstCharacters } from "../../chat/text.ts";
import { removeHidden } from "./hidden-text.ts";

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

const isRequest = ({ method, body }: RequestInit): boolean => {
  if (method !== "POST" || typeof body !== "string") return false;
  const message = fieldsOf(parseJson(body) ?? null);
  return message["id"] !== undefined && message["method"] !== undefined;
};

const isMessage = (value: Json): boolean => fieldsOf(value)["jsonrpc"] === "2.0";

const holdsMessages = (text: string): boolean => {
  const value = parseJson(text, Infinity) ?? null;
  return Array.isArray(value) ? value.every(isMessage) : isMessage(value);
};

/** Returns the type of a body without its parameters. */
const mediaTypeOf = (type: string | null): string => (type ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/** Wraps a fetch so that a successful answer to a request that is neither messages nor a stream rejects. */
export const requireMessages =
  (fetch: FetchLike): FetchLike =>
  async (url, init) => {
    const response = await fetch(url, init);
    const { ok, status, statusText, headers } = response;
    const type = headers.get("content-type");
    const media = mediaTypeOf(type);
    if (!ok || status === 202 || media === "text/event-stream" || !isRequest(init ?? {})) return response;
    const text = await response.text();
    if (media !== "application/json" || !holdsMessages(text)) throw new ForeignAnswer(type, text);
    return new Response(text, { status, statusText, headers });
  };
