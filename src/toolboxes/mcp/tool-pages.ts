import { isJSONRPCResponse } from "@modelcontextprotocol/client";
import type { Transport } from "@modelcontextprotocol/client";
import * as z from "zod";
import { fieldsOf } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { OpenClient } from "./connect.ts";

/** Requests a server's tools page by page, and returns them as the server describes them. */

/** Key under which tools bypass the library, which refuses a whole page for one tool that breaks the rules. */
const unread = "limpet/tools";

const pageSchema = z.object({
  [unread]: z.array(z.custom<Json>((value) => value !== undefined)),
  nextCursor: z.string().optional(),
});

type Message = Parameters<NonNullable<Transport["onmessage"]>>[0];

const moveTools = (message: Message): Message => {
  if (!isJSONRPCResponse(message) || !("result" in message)) return message;
  const { result } = message;
  const { tools } = result;
  return Array.isArray(tools) ? { ...message, result: { ...result, tools: [], [unread]: tools } } : message;
};

const hideTools = (transport: Transport): void => {
  const { onmessage } = transport;
  const hiding: Pick<Transport, "onmessage"> = {
    onmessage: (message, extra) => onmessage?.(moveTools(message), extra),
  };
  Object.assign(transport, hiding);
};

/** Returns the name of a tool; "" if it has none. */
export const nameOf = (tool: Json): string => {
  const { name } = fieldsOf(tool);
  return typeof name === "string" ? name : "";
};

const haveSameNames = (page: readonly Json[], other: readonly Json[]): boolean =>
  page.length === other.length && page.every((tool, at) => nameOf(tool) === nameOf(other[at] ?? null));

interface ToolPage {
  readonly tools: readonly Json[];
  readonly isLast: boolean;
}

/** Requests as many pages as are wanted; stops at a page whose cursor repeats. */
export async function* requestPages(
  { client, lost }: Pick<OpenClient, "client" | "lost">,
  signal: AbortSignal,
): AsyncGenerator<ToolPage> {
  if (client.getServerCapabilities()?.tools === undefined || client.transport === undefined) return;
  hideTools(client.transport);
  let cursor: string | undefined;
  let before: readonly Json[] = [];
  do {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const page = client.request({ method: "tools/list", ...params }, pageSchema, { signal });
    const { [unread]: tools, nextCursor } = await Promise.race([page, lost]);
    if (cursor !== undefined && nextCursor === cursor && haveSameNames(tools, before)) return;
    yield { tools, isLast: nextCursor === undefined };
    before = tools;
    cursor = nextCursor;
  } while (cursor !== undefined);
}
