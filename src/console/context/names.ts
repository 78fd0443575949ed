import { describeCall } from "../calls/verbs.ts";
import { parseJson } from "../parts/json.ts";
import type { SeenMessage } from "./view.ts";

/** Names messages and calls by what a person would call them. */

/** A call; its arguments stand at the message that asks for it, not at the one that answers it. */
type SeenCall = NonNullable<SeenMessage["calls"]>[number];

export type KnownCalls = ReadonlyMap<string, SeenCall>;

type NamedMessage = Pick<SeenMessage, "role" | "state" | "origin" | "calls">;

/** The calls that messages ask for, by their ids. */
export const callsById = (messages: readonly Pick<SeenMessage, "calls">[]): KnownCalls =>
  new Map(
    messages.flatMap(({ calls = [] }) =>
      calls.filter(({ args }) => args !== undefined).map((call) => [call.id, call] as const),
    ),
  );

/** Names a call by its tool and what it is about: `exec_run npm test`. */
export const nameCall = ({ id, tool, args }: SeenCall, known: KnownCalls): string => {
  const given = args ?? known.get(id)?.args;
  const input = given === undefined ? null : parseJson(given);
  const { subject } = describeCall({ tool, input, state: "done", outcome: "ok" });
  return `${tool} ${subject}`.trim();
};

const userNames: Readonly<Record<string, string>> = { human: "You", agent: "Task" };

/** Names a message; what tools gave back has the names of its calls, as code. */
export const nameMessage = (
  { role, state, origin, calls = [] }: NamedMessage,
  agent: string,
  known: KnownCalls,
): { readonly name: string; readonly isCode: boolean } => {
  if (state === "summary") return { name: "Summary", isCode: false };
  if (state === "note") return { name: "Note to the model", isCode: false };
  if (role === "assistant") return { name: agent, isCode: false };
  if (role === "tool")
    return { name: calls.map((call) => nameCall(call, known)).join(", ") || "tool", isCode: true };
  return { name: userNames[origin] ?? "Runtime", isCode: false };
};
