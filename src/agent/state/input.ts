import type { ContentPart, Json } from "../../chat/message.ts";
import type { OnBusy } from "./events.ts";

/** Message to a session, as it is stored; `at` is in milliseconds since the epoch. */
export interface Input {
  readonly id: string;
  readonly thread: string;
  readonly content: readonly ContentPart[];
  readonly on_busy: OnBusy;
  readonly sender: string | null;
  readonly origin: "human" | "agent";
  readonly status: "accepted" | "applied" | "withdrawn" | "returned";
  readonly at: number;
  readonly output_schema?: Json;
  readonly light?: boolean;
  readonly prior_episode_summaries?: readonly string[];
  /** The question of a called agent that it carries. */
  readonly question?: string;
  /** Version that each edit changes: the `If-Match` of PATCH. */
  readonly version: number;
}

/** Returns whether other agents report to the person: that is passed on once in any case. */
export const isAgentMessage = ({ origin, thread }: Input): boolean => origin === "agent" && thread === "main";
