import * as z from "zod";
import { view } from "../../chat/view.ts";
import type { ModelRequest } from "../../model/completer.ts";
import { sha256Hex } from "../../sandbox/sha256.ts";
import type { Agent, Lane } from "../agent.ts";
import { refuse } from "../problem.ts";
import type { LedgerRow, Sight } from "../records.ts";
import { requestFor } from "../request.ts";
import { sightText } from "../sight-text.ts";
import { sightView } from "../sight.ts";
import type { Seen } from "../sight.ts";
import { read } from "./command.ts";
import type { Answer, Command, ReadContext } from "./command.ts";

const contextSchema = z.strictObject({
  run: z.string().max(64),
  turn: z.coerce.number().int().min(0),
  format: z.enum(["json", "provider", "text"]).default("json"),
});

const laneOf = ({ lanes }: Agent, { lane: { provider, model } }: Sight): Lane | undefined =>
  lanes.find((lane) => lane.provider === provider && lane.model === model);

const seenAt = ({ archive }: ReadContext, row: LedgerRow, saw: Sight): Seen => ({
  row,
  chat: archive.chatThen(row.thread, saw.edit, saw.pos),
});

const requestOf = (
  { archive, state }: ReadContext,
  { row, chat }: Seen,
  saw: Sight,
  agent: Agent,
  lane: Lane,
): ModelRequest => {
  const first = state.threads[row.thread]?.firstInput ?? null;
  return requestFor({
    agent,
    lane,
    depth: saw.depth,
    light: saw.light,
    hidden: saw.hidden,
    schema: saw.schema,
    previous: saw.previous,
    messages: view(chat.shown, first).messages,
    maxTokens: saw.max_tokens,
    media: (blob) => archive.media(blob),
    context: {
      session: state.id,
      agent: row.agent,
      thread: row.thread,
      run: row.run,
      turn: row.turn,
      call: 0,
      attempt: row.attempt,
      purpose: row.purpose,
    },
  });
};

/** The view of a call with what stood before it, or its wire body. */
const shownAs = (
  parts: ReadContext,
  { now, saw, before }: { readonly now: Seen; readonly saw: Sight; readonly before: LedgerRow | undefined },
  format: "json" | "provider" | "text",
): Answer => {
  const agent = parts.agentOf(now.row.thread, now.row.agent, saw.override);
  const lane = laneOf(agent, saw);
  if (lane === undefined) return refuse("not_found", "this deployment no longer has the model of this turn");
  const request = requestOf(parts, now, saw, agent, lane);
  const body = lane.completer.body?.(request) ?? null;
  if (format === "provider")
    return body === null
      ? refuse("not_found", "this provider does not tell its wire format")
      : { status: 200, value: { json: body } };
  const verified = body === null || saw.hash === null ? null : sha256Hex(body) === saw.hash;
  const previous = before?.saw === undefined ? null : seenAt(parts, before, before.saw);
  const shown = sightView(previous, now, request, verified);
  return { status: 200, value: format === "json" ? shown : { text: sightText(shown) } };
};

/** What the model saw in a turn, and why (EF-42). */
export const context: Command = read(contextSchema, (parts, { run, turn, format }) => {
  const [row, before] = parts.archive.seen(run, turn);
  if (row?.saw === undefined)
    return refuse("not_found", "no such turn, or none of its model calls was answered");
  return shownAs(parts, { now: seenAt(parts, row, row.saw), saw: row.saw, before }, format);
});
