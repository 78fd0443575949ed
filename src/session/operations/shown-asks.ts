import type { Ask } from "../../agent/state/ask.ts";
import { eventHeadOf } from "../event-lines.ts";
import { answerScopeOf } from "../rpc.ts";
import type { Principal } from "../rpc.ts";

/**
 * Shows asks and events to a caller. Only a caller who may decide about an authorization sees its address,
 * since opening it acts for a person; others see that it is asked for, and by which server.
 */

type Caller = Pick<Principal, "scopes">;

const maySignIn = ({ scopes }: Caller): boolean => scopes.includes(answerScopeOf("authorization"));

const hideAddress = ({ authorization, ...ask }: Ask): object => {
  if (authorization === undefined) return ask;
  const { url: _, ...shown } = authorization;
  return { ...ask, authorization: shown };
};

/** Returns the text of an ask as a caller may see it. */
export const showAsk = (json: string, caller: Caller): string =>
  maySignIn(caller) ? json : JSON.stringify(hideAddress(JSON.parse(json) as Ask));

const isAsk = (line: string): boolean => eventHeadOf(line).type === "ask_user";

/** Returns whether every caller may see these lines of events as they are. */
export const isShownToAll = (lines: readonly string[]): boolean => !lines.some(isAsk);

const showEvent = (line: string): string => {
  if (!isAsk(line)) return line;
  const event = JSON.parse(line) as { readonly data: { readonly ask: Ask } };
  return JSON.stringify({ ...event, data: { ...event.data, ask: hideAddress(event.data.ask) } });
};

/** Returns the lines of events as a caller may see them. */
export const showEvents = (lines: readonly string[], caller: Caller): readonly string[] =>
  maySignIn(caller) ? lines : lines.map(showEvent);
