import type { Agent } from "../../src/agent/definition/agent.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { ModelRequest } from "../../src/model/completer.ts";
import { invalidity } from "./validity.ts";

/** What left for the model, and whether its answers are held back. */
export interface Sent {
  readonly requests: ModelRequest[];
  readonly invalid: string[];
  holding: boolean;
  waiting: (() => void)[];
}

const waitWhileHeld = (sent: Sent, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (!sent.holding) return resolve();
    sent.waiting.push(resolve);
    signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
  });

/** The same engine, telling of every request that leaves; one that no provider would take fails the test (SE-6). */
export const observeRequests = (engine: Engine, sent: Sent): Engine => {
  const known = new Map<Agent, Agent>();
  const watch = (agent: Agent): Agent => ({
    ...agent,
    targets: agent.targets.map((target) => ({
      ...target,
      completer: {
        ...target.completer,
        complete: async (request, options) => {
          sent.requests.push(request);
          const problem = invalidity(request.messages);
          if (problem !== null) sent.invalid.push(`${problem} in ${JSON.stringify(request.messages)}`);
          const reply = await target.completer.complete(request, options);
          await waitWhileHeld(sent, options.signal);
          return reply;
        },
      },
    })),
  });
  return {
    ...engine,
    agent: (name, session, callerConstraints) => {
      const agent = engine.agent(name, session, callerConstraints);
      const watched = known.get(agent) ?? watch(agent);
      known.set(agent, watched);
      return watched;
    },
  };
};
