import type { Json } from "../../chat/message.ts";
import type { ModelRequest } from "../../model/completer.ts";
import { allowedOutput } from "../budgets/reserve.ts";
import type { Agent, ModelTarget } from "../definition/agent.ts";
import type { ContextSnapshot } from "../state/records.ts";
import type { Phase, Run } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";
import { requestTokens } from "../transaction/estimate.ts";

/** What a request of a turn is made of. */
interface RequestFacts {
  readonly agent: Agent;
  readonly lane: ModelTarget;
  readonly depth: number;
  readonly light: boolean;
  /** Tools that effects took out of the turn. */
  readonly hidden: readonly string[];
  /** Schema of the answer that the input asked for. */
  readonly schema: Json | null;
  /** Newest message of the thread's call before. */
  readonly previous: string | null;
  readonly messages: ModelRequest["messages"];
  readonly maxTokens: number;
  readonly media: ModelRequest["media"];
  readonly context: ModelRequest["context"];
}

/** The request of a turn, a pure function of stored facts and the definition: it can be made again later. */
export const buildTurnRequest = (facts: RequestFacts): ModelRequest => {
  const { agent, lane, depth, light, hidden, schema, previous, messages, maxTokens, media, context } = facts;
  const { text } = agent.system({ depth, light });
  return {
    model: lane.model,
    system: text,
    messages,
    tools: hidden.length === 0 ? agent.specs : agent.specs.filter(({ name }) => !hidden.includes(name)),
    toolChoice: agent.toolsDisabled ? "none" : "auto",
    maxTokens,
    ...lane.sampling,
    ...(agent.responseFormat === null ? {} : { responseFormat: agent.responseFormat }),
    ...(schema === null ? {} : { responseFormat: { type: "json_schema", schema } }),
    cache: lane.cache,
    ...(previous === null ? {} : { previousNewest: previous }),
    media,
    context,
  };
};

/** The session's model override as far as it is a thread's, too. */
export const modelOverrideFor = ({ model, modelScope }: Session, { child }: Thread): string | null =>
  child === null || modelScope === "tree" ? model : null;

/** What the request of an attempt is made of: as it leaves, or as it left, told from what is stored. */
export const createContextSnapshot = (
  agent: Agent,
  thread: Thread,
  run: Run,
  {
    edit,
    override,
    held,
  }: { readonly edit: number; readonly override: string | null; readonly held: number },
): ContextSnapshot => {
  const { depth, nextPos, previousNewest } = thread;
  const { light, hidden, hiders = [], outputSchema, lane } = run;
  const { provider, model, window } = lane;
  const size = requestTokens(agent, thread, run);
  return {
    edit,
    pos: nextPos - 1,
    size,
    window,
    max_tokens: allowedOutput(lane, size, held),
    lane: { provider, model },
    depth,
    light,
    override,
    hidden,
    ...(hidden.length === 0 ? {} : { hiders }),
    previous: previousNewest,
    schema: outputSchema,
    hash: null,
  };
};

/** The same for the attempt under way, though the session may have changed since. */
export const snapshotOfAttempt = (
  session: Session,
  agent: Agent,
  thread: Thread,
  run: Run,
  { from, hold }: Extract<Phase, { at: "thinking" }>,
): ContextSnapshot => {
  const { edit, override } = from ?? {
    edit: session.nextEdit - 1,
    override: modelOverrideFor(session, thread),
  };
  return createContextSnapshot(agent, thread, run, { edit, override, held: hold.output });
};
