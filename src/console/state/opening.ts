import { newCommandId } from "../../client/retry.ts";
import { parseJson } from "../parts/json.ts";
import { createStore } from "./store.ts";
import type { Store } from "./store.ts";
import { untilReached } from "./again.ts";
import { firstPlace, putBackDraft } from "./drafts.ts";
import { keepFiles, keepOrAsk, readFiles } from "./files.ts";
import { inputPlace } from "./kept.ts";
import { keepInTab, ownName, readTab } from "./tab.ts";

/** The first message of a session, kept until the server has created the session, over a reload too. */

export interface KeptOpening {
  /** Sent again under this key, it creates the same session. */
  readonly key: string;
  readonly agent: string | null;
  readonly content: string;
  /** The names of its files; the browser's database has them under `inputPlace`. */
  readonly files: readonly string[];
}

/** A message whose session is being created. */
export interface WaitingOpening extends KeptOpening {
  /** The server was not reached, or did not answer. */
  readonly isMissed: boolean;
}

export interface Opening {
  /** The message that is on its way. */
  readonly waiting: Store<WaitingOpening | null>;
  /** Without an agent it is the team’s entry agent. What is refused stands in the field again. */
  readonly start: (agent: string | null, content: string, files: readonly File[]) => Promise<void>;
  /** Puts the message that waits into the field. */
  readonly withdraw: () => void;
  /** Leaves the message that waits kept where it is, and sends the one that is kept for whoever has the key now. */
  readonly resume: () => void;
}

const nameOpening = (): string => ownName("limpet-opening");

/** The key is another one: nobody waits for the session any more. */
const left = "left";

/** `create` resolves once the session is there and shown. */
export const createOpening = (
  create: (opening: KeptOpening, signal: AbortSignal) => Promise<void>,
  report: (work: Promise<unknown>) => void,
): Opening => {
  const waiting = createStore<WaitingOpening | null>(null);
  let stop = new AbortController();
  let last: { readonly said: string; readonly key: string } | null = null;
  const open = async (opening: KeptOpening): Promise<void> => {
    stop = new AbortController();
    const { signal } = stop;
    const [name, field, place] = [nameOpening(), ownName(firstPlace), inputPlace(opening.key)];
    waiting.set({ ...opening, isMissed: false });
    try {
      await untilReached(
        () => create(opening, signal),
        signal,
        () => waiting.set({ ...opening, isMissed: true }),
      );
      last = null;
    } catch (fault) {
      if (signal.reason === left) return;
      const files = opening.files.length === 0 ? [] : await readFiles(place);
      void keepFiles(place, []);
      await putBackDraft(field, { text: opening.content, files });
      if (!signal.aborted) throw fault;
    } finally {
      if (signal.reason !== left) {
        waiting.set(null);
        keepInTab(name, null);
      }
    }
  };
  return {
    waiting,
    start: async (agent, content, files) => {
      const names = files.map((file) => file.name);
      const said = JSON.stringify([agent, content, names, files.map(({ size }) => size)]);
      // What was refused, or whose answer was lost, may be said again.
      last = last?.said === said ? last : { said, key: newCommandId() };
      const opening = { key: last.key, agent, content, files: names };
      keepInTab(nameOpening(), JSON.stringify(opening));
      const stopAsking = files.length === 0 ? () => undefined : keepOrAsk(inputPlace(last.key), files);
      await open(opening).finally(stopAsking);
    },
    withdraw: () => stop.abort(),
    resume: () => {
      stop.abort(left);
      waiting.set(null);
      last = null;
      const kept = parseJson(readTab(nameOpening()) ?? "") as unknown as KeptOpening | null;
      if (kept !== null) report(open(kept));
    },
  };
};
