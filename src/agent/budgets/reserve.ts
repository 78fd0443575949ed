import type { Usage } from "../../model/completer.ts";
import type { Agent, Lane } from "../definition/agent.ts";
import { noUsage } from "../state/usage.ts";
import type { Ground, Room, Wanted } from "./bounds.ts";
import { roomFor } from "./bounds.ts";

/** What a model call on a lane may cost at worst, and whether its budgets have room for that. */

/** Tokens that a request leaves free of the window. */
const windowMargin = 256;

/** Tokens that a reply on a lane may have at most. */
const mostOutput = ({ window, maxOutput }: Lane, input: number): number =>
  window === 0 ? maxOutput : Math.max(1, Math.min(maxOutput, window - input - windowMargin));

/** Output tokens that a request may ask for: what its budget and the window leave. */
export const outputFor = ({ window }: Pick<Lane, "window">, input: number, held: number): number =>
  window === 0 ? held : Math.min(held, window - input - windowMargin);

const usageOf = (usage: Partial<Usage>): Usage => ({ ...noUsage, ...usage });

/** Price of so many tokens; what is written to the provider's cache may cost more than what is not. */
const worstCost = (lane: Lane, input: number, output: number): number | null => {
  const total = input + output;
  const plain = lane.cost(usageOf({ input, output, total }));
  if (plain === null || lane.cache.mode === "off") return plain;
  const hourly = lane.cache.ttl === "1h" ? input : 0;
  return Math.max(plain, lane.cost(usageOf({ cacheWrite: input, output, total }), hourly) ?? 0);
};

/** A call on a lane with so many input tokens, and at most `output` for its reply. */
export const wantedOn = (lane: Lane, input: number, output = mostOutput(lane, input)): Wanted => ({
  model: lane.model,
  input,
  output,
  thinking: lane.thinking,
  price: (tokens) => worstCost(lane, input, tokens + lane.thinking),
});

/** Room for a request of a thread's turn; a lane that the agent does not have any more costs nothing. */
export const roomForTurn = (
  ground: Ground,
  threadId: string,
  { lanes }: Agent,
  index: number,
  input: number,
): Room => {
  const lane = lanes[index];
  if (lane === undefined) return { is: "free", hold: { tokens: 0, cost: 0, output: 0, leased: true } };
  return roomFor(ground, threadId, wantedOn(lane, input));
};
