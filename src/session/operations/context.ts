import * as z from "zod";
import { requestFor, sightUnderWay } from "../../agent/context/request.ts";
import type { Agent, Lane } from "../../agent/definition/agent.ts";
import type { Standing } from "../../agent/state/child.ts";
import type { Sight } from "../../agent/state/records.ts";
import { purposeOf } from "../../agent/state/run.ts";
import { view } from "../../chat/view.ts";
import type { ModelRequest } from "../../model/completer.ts";
import { sha256Hex } from "../../sandbox/sha256.ts";
import type { Answer, Command, ReadContext } from "../command.ts";
import { read } from "../command.ts";
import type { Seen, SeenCall } from "../context-view.ts";
import { sightText, sightView } from "../context-view.ts";
import { refuse, refuseField } from "../problems.ts";

const contextSchema = z.strictObject({
  run: z.string().max(64),
  turn: z.coerce.number().int().min(0),
  call: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe("Which of the turn's model calls; omitted: the newest that is no repair."),
  format: z.enum(["json", "provider", "text"]).default("json"),
});

const laneOf = ({ lanes }: Agent, { lane: { provider, model } }: Sight): Lane | undefined =>
  lanes.find((lane) => lane.provider === provider && lane.model === model);

const seenAt = ({ archive }: ReadContext, row: SeenCall, saw: Sight): Seen => ({
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

/** A call of a turn, and where it stands among all calls of the session. */
interface Placed {
  readonly row: SeenCall;
  readonly n: number;
}

/** The call under way of a turn; empty if there is none. */
const underWay = ({ state, agentOf }: ReadContext, runId: string, turn: number): readonly Placed[] => {
  const thread = Object.values(state.threads).find(({ run }) => run?.id === runId && run.turn === turn);
  if (thread?.run?.phase.at !== "thinking") return [];
  const { run, agent: name } = thread;
  const { phase } = thread.run;
  const agent = agentOf(name, phase.from.override, thread.child?.standing ?? null);
  const row: SeenCall = {
    at: phase.startedAt,
    thread: thread.id,
    agent: name,
    run: run.id,
    turn,
    attempt: phase.attempt,
    purpose: purposeOf(run),
    provider: run.lane.provider,
    model: run.lane.model,
    outcome: "in_flight",
    saw: sightUnderWay(state, agent, thread, run, phase),
  };
  return [{ row, n: Number.MAX_SAFE_INTEGER }];
};

/** What is asked for: a call, all calls of its turn, and the answered one before it. */
interface Asked {
  readonly row: SeenCall;
  readonly saw: Sight;
  readonly calls: readonly SeenCall[];
  readonly before: SeenCall | null;
}

/** The call of a turn by its number, or its newest that is no repair. */
const asked = (parts: ReadContext, run: string, turn: number, number: number | undefined): Asked => {
  const { archive } = parts;
  const calls: readonly Placed[] = [...archive.seen(run, turn), ...underWay(parts, run, turn)];
  const found =
    number === undefined ? calls.findLast(({ row }) => row.purpose !== "repair") : calls[number - 1];
  if (found?.row.saw === undefined)
    return calls.length === 0
      ? refuse("not_found", "no such turn, or none of its requests was sent")
      : refuseField(
          "not_found",
          "/call",
          `the turn has ${calls.length} model call${calls.length === 1 ? "" : "s"}`,
        );
  const { row, n } = found;
  return {
    row,
    saw: found.row.saw,
    calls: calls.map((each) => each.row),
    before: archive.answered(row.thread, n),
  };
};

/** How a call's agent stood; of a run that an older release began, as its thread stands now. */
const standingOf = ({ archive, state }: ReadContext, { run, thread }: SeenCall): Standing | null =>
  archive.standing(run) ?? state.threads[thread]?.child?.standing ?? null;

/** The view of a call with what stood before it, or its wire body. */
const shownAs = (
  parts: ReadContext,
  { row, saw, calls, before }: Asked,
  format: "json" | "provider" | "text",
): Answer => {
  const now = seenAt(parts, row, saw);
  const agent = parts.agentOf(row.agent, saw.override, standingOf(parts, row));
  if (agent.missing !== null)
    return refuse("not_found", `this deployment lacks what this turn was made with: ${agent.missing}`);
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
  const shown = sightView(calls, previous, now, request, verified);
  return { status: 200, value: format === "json" ? shown : { text: sightText(shown) } };
};

/** What the model saw in a turn, and why. */
export const context: Command = read(contextSchema, (parts, { run, turn, call, format }) =>
  shownAs(parts, asked(parts, run, turn, call), format),
);
