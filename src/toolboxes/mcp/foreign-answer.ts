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

/** Returns the id of a request; undefined for other messages. */
const requestIdOf = ({ method, body }: RequestInit): Json | undefined => {
  if (method !== "POST" || typeof body !== "string") return undefined;
  const message = fieldsOf(parseJson(body) ?? null);
  return message["method"] === undefined ? undefined : message["id"];
};

const isMessage = (value: Json): boolean => fieldsOf(value)["jsonrpc"] === "2.0";

const holdsMessages = (value: Json): boolean =>
  Array.isArray(value) ? value.every(isMessage) : isMessage(value);

/** Returns whether a message is an error that does not say which request it answers. */
const isUnaddressed = (value: Json): boolean => {
  const { id = null, error } = fieldsOf(value);
  return id === null && error !== undefined;
};

/** Returns the type of a body without its parameters. */
const mediaTypeOf = (type: string | null): string => (type ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/**
 * Wraps a fetch so that a successful answer to a request that is neither messages nor a stream rejects. An error
 * without an id gets the one of the request, since the library knows its answer by nothing else.
 */
export const requireMessages =
  (fetch: FetchLike): FetchLike =>
  async (url, init) => {
    const response = await fetch(url, init);
    const { ok, status, statusText, headers } = response;
    const type = headers.get("content-type");
    const media = mediaTypeOf(type);
    const id = requestIdOf(init ?? {});
    if (!ok || status === 202 || media === "text/event-stream" || id === undefined) return response;
    const text = await response.text();
    const value = parseJson(text, Infinity) ?? null;
    if (media !== "application/json" || !holdsMessages(value)) throw new ForeignAnswer(type, text);
    const addressed = isUnaddressed(value) ? JSON.stringify({ ...fieldsOf(value), id }) : text;
    return new Response(addressed, { status, statusText, headers });
  };
