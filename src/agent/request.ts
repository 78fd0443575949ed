import type { Json } from "../chat/message.ts";
import type { ModelRequest } from "../model/completer.ts";
import type { Agent, Lane } from "./agent.ts";

/** What a request of a turn is made of. */
export interface RequestFacts {
  readonly agent: Agent;
  readonly lane: Lane;
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

/** The request of a turn, a pure function of stored facts and the definition: it can be made again later (EF-42). */
export const requestFor = (facts: RequestFacts): ModelRequest => {
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
