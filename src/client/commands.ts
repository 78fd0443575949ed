import type { AnswerOf, CallOptions, CallWithin, ClientOperationName } from "./call.ts";
import { answerWithin, LimpetError } from "./http.ts";
import { delayAfter, newCommandId, pause } from "./retry.ts";

/** This file sends the commands of a session, again under the same key until they are answered. */

/** A command that reached nobody is sent this often, unless the session is open: then until it is answered. */
const mostTries = 4;

/** Another try may be answered, whatever was sent. */
const passingCodes = ["unreachable", "server_silent", "unreadable_answer", "overloaded"];

/** It tells whether a command may have reached nobody, so that it is sent again. */
export const isPassing = (fault: unknown): boolean =>
  fault instanceof LimpetError && fault.problem.retryable && passingCodes.includes(fault.problem.code);

export interface SessionCommands {
  readonly perform: <N extends ClientOperationName>(
    operation: N,
    params: object,
    options?: CallOptions,
    /** Ends the tries, but not the one under way, which the signal of the options ends. */
    stop?: AbortSignal,
  ) => Promise<AnswerOf<N>>;
  /** Sends what waits at once, since the server may be there again. */
  readonly wake: () => void;
}

export const createCommands = (call: CallWithin, session: string, isOpen: () => boolean): SessionCommands => {
  let waker = new AbortController();
  return {
    perform: async (operation, params, options = {}, stop = options.signal) => {
      const { key = newCommandId() } = options;
      for (let tries = 1; ; tries += 1) {
        try {
          return await call(operation, { session, ...params }, { ...options, key }, answerWithin);
        } catch (fault) {
          if (!isPassing(fault) || (tries >= mostTries && !isOpen())) throw fault;
          await pause(delayAfter(tries), AbortSignal.any([waker.signal, stop ?? waker.signal]));
          if (stop?.aborted === true) throw fault;
        }
      }
    },
    wake: () => {
      waker.abort();
      waker = new AbortController();
    },
  };
};
