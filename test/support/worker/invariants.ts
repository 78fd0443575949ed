import type { StoredEvent } from "../../../src/agent/state/events.ts";
import type { Message } from "../../../src/chat/message.ts";
import { executionsOf } from "./probe.ts";
import type { Session } from "./session.ts";
import type { Watch } from "./watch.ts";
import { finalTexts } from "./watch.ts";
import { invalidity } from "../validity.ts";

/** I1 to I9 of RE §2 on a session at rest, as far as a client and its storage can tell. Answers the broken ones. */

interface Facts {
  readonly session: Session;
  readonly events: readonly StoredEvent[];
  readonly inputs: readonly string[];
  readonly watches: readonly Watch[];
}

const count = (events: readonly StoredEvent[], type: string): number =>
  events.filter((event) => event.type === type).length;

const inputsOnce = ({ events, inputs }: Facts): string | null => {
  const accepted = events.flatMap((event) => (event.type === "input_accepted" ? [event.data.input] : []));
  const wrong = inputs.find((id) => accepted.filter((each) => each === id).length !== 1);
  return wrong === undefined ? null : `I1: input ${wrong} is not there once: ${accepted.join()}`;
};

const seqDense = ({ events }: Facts): string | null =>
  events.every(({ seq }, index) => seq === index + 1) ? null : "I2: seq has gaps";

const seenIsTrue = ({ events, watches }: Facts): string | null => {
  const whole = finalTexts(events);
  for (const watch of watches) {
    for (const event of watch.events)
      if (JSON.stringify(events[event.seq - 1]) !== JSON.stringify(event))
        return `I3: a client saw event ${event.seq} otherwise than the log`;
    for (const [item, text] of watch.texts)
      if (!isVoid(events, item) && whole.get(item)?.startsWith(text) === false)
        return `I3: a client holds text of ${item} that it never had: ${text}`;
    if (watch.faults.length > 0) return `I3: ${watch.faults.join("; ")}`;
  }
  return null;
};

const isVoid = (events: readonly StoredEvent[], item: string): boolean =>
  events.some((event) => event.type === "attempt_aborted" && event.data.items.includes(item));

const replays = async ({ session, events }: Facts): Promise<string | null> => {
  const middle = Math.floor(events.length / 2);
  for (const after of [0, 1, middle, events.length - 1, events.length]) {
    const { body } = await session.call("GET", `/events?after=${after}&limit=1000`);
    if (JSON.stringify(body["data"]) !== JSON.stringify(events.slice(after)))
      return `I4: the replay from ${after} differs from the log`;
  }
  return null;
};

const endsOnce = ({ events }: Facts): string | null => {
  for (const what of ["run", "agent", "turn"])
    if (count(events, `${what}_start`) !== count(events, `${what}_end`))
      return `I5: ${count(events, `${what}_start`)} ${what}_start, ${count(events, `${what}_end`)} ${what}_end`;
  const runs = events.filter(({ type }) => type === "run_end").map(({ run }) => run);
  return new Set(runs).size === runs.length ? null : "I5: a run ended twice";
};

/** An unsafe call once; an idempotent one again under its own key; a result once. */
const toolsBounded = ({ session, events }: Facts): string | null => {
  const ran = executionsOf(session.id);
  const fired = ran.filter(({ tool }) => tool === "fire").map(({ key }) => key);
  if (new Set(fired).size !== fired.length) return "I7: an unsafe call reached its tool twice";
  const ended = events
    .filter(({ type }) => type === "tool_call_end")
    .map(({ run, call }) => `${run}/${call}`);
  if (new Set(ended).size !== ended.length) return "I6: a call ended twice";
  const stray = ran.find(({ key }) => !ended.includes(key));
  return stray === undefined ? null : `I6: ${stray.key} ran and never ended`;
};

const chatValid = async ({ session }: Facts): Promise<string | null> => {
  const { body } = await session.call("GET", "/messages?limit=200");
  const messages = body["data"] as unknown as readonly Message[];
  const [first] = messages;
  if (first === undefined) return null;
  // A chat at rest ends with the assistant; the next input makes it a request.
  const problem = invalidity([...messages, { ...first, id: "next", pos: 1e6 }]);
  return problem === null ? null : `I8: the chat is not valid: ${problem}`;
};

const ledgerOnce = async ({ session, events }: Facts): Promise<string | null> => {
  const [row] = await session.sql<{ n: number }>("SELECT ifnull(sum(answered), 0) AS n FROM usage");
  const finished = count(events, "llm_finish");
  return row?.n === finished ? null : `I9: ${row?.n} answered calls in the ledger, ${finished} finished`;
};

export const brokenInvariants = async (
  session: Session,
  inputs: readonly string[],
  watches: readonly Watch[],
): Promise<string[]> => {
  const facts = { session, inputs, watches, events: await session.events() };
  const checks = [inputsOnce, seqDense, seenIsTrue, replays, endsOnce, toolsBounded, chatValid, ledgerOnce];
  const found: string[] = [];
  for (const check of checks) {
    const broken = await check(facts);
    if (broken !== null) found.push(broken);
  }
  return found;
};
