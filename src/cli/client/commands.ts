import type { AnswerOf, LimpetClient, ParamsOf } from "../../client/index.ts";
import { LimpetError } from "../../client/index.ts";
import type { ExitCode } from "../usage.ts";
import { exitCodes } from "../usage.ts";
import { commandLines, readChoice } from "./asks.ts";
import { chat } from "./chat.ts";
import type { CommandFlags, RemoteContext, WriteCommand } from "./context.ts";
import { UsageError } from "./context.ts";
import { eventLine } from "./event-line.ts";
import { manageKeys } from "./keys.ts";
import { awaitFirstLine, createConnectionTeller } from "./person.ts";
import type { Person } from "./person.ts";
import { pageLimit, readToEnd } from "./pages.ts";
import { toPlainText } from "./plain.ts";
import { sessionLines } from "./session-rows.ts";

/** Commands for a running deployment. */

interface RemoteCommand {
  /** Least and greatest number of names. */
  readonly names: readonly [number, number];
  readonly run: (context: RemoteContext) => Promise<ExitCode>;
}

const rowsOf = ({ limit = "50" }: CommandFlags): number => {
  const rows = Number(limit);
  if (Number.isInteger(rows) && rows >= 1 && rows <= pageLimit) return rows;
  throw new UsageError(`--limit is how many sessions are shown: a number from 1 to ${pageLimit}`);
};

/** Returns the line about the rest of a list, and how to show it. */
const moreLine = (write: WriteCommand, { agent, limit }: CommandFlags, cursor: string): string => {
  const flags = Object.entries({ agent, limit, cursor }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${value}`],
  );
  return `There are more sessions: ${write(`sessions ${flags.join(" ")}`)} shows the next; --limit up to ${pageLimit} shows more at once.`;
};

const listSessions = async (context: RemoteContext): Promise<ExitCode> => {
  const { client, flags, show, person, writeCommand } = context;
  const { agent, cursor } = flags;
  const page = await client.sessions.list({
    limit: rowsOf(flags),
    ...(agent === undefined ? {} : { agent }),
    ...(cursor === undefined ? {} : { cursor }),
  });
  show(page.data, () =>
    page.data.length === 0
      ? ["There are no sessions; limpet chat begins one."]
      : sessionLines(page.data, Date.now()),
  );
  if (page.next_cursor !== null) person.warn(moreLine(writeCommand, flags, page.next_cursor));
  return exitCodes.fine;
};

/** Returns a list, which is empty for a key that may not read it. */
const unlessForbidden = async <T>(list: Promise<readonly T[]>): Promise<readonly T[]> => {
  try {
    return await list;
  } catch (fault) {
    if (fault instanceof LimpetError && fault.problem.status === 403) return [];
    throw fault;
  }
};

/** Lists the sessions that wait for anything. */
const waitingSessions = async (client: LimpetClient): Promise<readonly string[]> => {
  const { data } = await client.sessions.list({ status: "waiting", limit: pageLimit });
  return data.map(({ id }) => id);
};

/** Returns the lines for a key without asks, and how to see what sessions wait for. */
const nothingAskedLines = (write: WriteCommand, waiting: readonly string[]): readonly string[] => {
  const [one] = waiting;
  const nobody =
    "Nobody is asked anything that this key may answer; a new question is listed after some seconds.";
  if (one === undefined) return [nobody];
  const count = waiting.length === 1 ? "A session waits" : `${waiting.length} sessions wait`;
  return [
    `${nobody} ${count} all the same; what for is shown by`,
    ...waiting.map((id) => `  ${write(`asks ${id}`)}`),
  ];
};

const openAsks = (client: LimpetClient, session: string) =>
  readToEnd((page) => client.call("asks", { session, status: "open", ...page }));

const listAsks = async (context: RemoteContext): Promise<ExitCode> => {
  const { client, names, flags, show, writeCommand } = context;
  const [session] = names;
  const data =
    session === undefined
      ? await readToEnd((page) => client.call("list_asks", page))
      : await openAsks(client, session);
  // The list over all sessions omits what the key may not answer; that of one session does not.
  const isForAll = session === undefined && data.length === 0 && flags.json !== true;
  const nothing = isForAll
    ? nothingAskedLines(writeCommand, await unlessForbidden(waitingSessions(client)))
    : ["Nobody is asked anything in this session."];
  show(data, () =>
    data.length === 0
      ? nothing
      : data.flatMap((ask) =>
          commandLines(writeCommand, "session" in ask ? String(ask.session) : (session ?? ""), ask),
        ),
  );
  return exitCodes.fine;
};

const decisions = ["approve", "deny", "edit", "answer", "result", "cancel"] as const;

type JsonValue = Exclude<ParamsOf<"answer">["input"], undefined>;

/** Returns the value of a text, which is parsed if it is JSON. */
const valueOf = (text: string): JsonValue => {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
};

/** Reads the arguments that replace those of a call. */
const inputOf = (text: string): JsonValue => {
  const input = valueOf(text);
  if (typeof input === "object" && input !== null) return input;
  throw new UsageError('write the new input as JSON after edit, such as {"path":"a.md"}');
};

type Decision = (typeof decisions)[number];

/** Reads an answer to a question, in which numbers stand for options. */
const choiceOf = async ({ client, names }: RemoteContext, text: string) => {
  const [session = "", ask = ""] = names;
  const asks = await openAsks(client, session);
  const question = asks.find(({ id }) => id === ask)?.question;
  const choice = question === undefined ? { text } : readChoice(question, text);
  if (typeof choice === "string") throw new UsageError(choice);
  return choice;
};

const numberOf = (option: string, given: string): number => {
  const number = given.trim() === "" ? Number.NaN : Number(given);
  if (Number.isFinite(number)) return number;
  throw new UsageError(`${option} takes a number, not ${given}`);
};

/** Puts the text after the decision into its field. */
const saidFields = async (
  context: RemoteContext,
  decision: Decision,
  text: string,
): Promise<Partial<ParamsOf<"answer">>> => {
  switch (decision) {
    case "answer":
      return choiceOf(context, text);
    case "edit":
      return { input: inputOf(text) };
    case "result":
      return { output: valueOf(text) };
    case "approve":
    case "deny":
    case "cancel":
      return { message: text };
  }
};

const reaches = ["session", "agent"] as const;

/** Returns how far an approval is remembered. */
const reachOf = (given: string): (typeof reaches)[number] => {
  const reach = reaches.find((each) => each === given);
  if (reach === undefined) throw new UsageError(`--remember takes ${reaches.join(" or ")}, not ${given}`);
  return reach;
};

const answerAsk = async (context: RemoteContext): Promise<ExitCode> => {
  const { client, names, flags, show } = context;
  const [session = "", ask = "", given, text] = names;
  const decision = decisions.find((each) => each === given);
  if (decision === undefined)
    throw new UsageError(`${String(given)} is not a decision; use ${decisions.join(", ")}`);
  const answered = await client.sessions.get(session).answer(ask, {
    decision,
    ...(text === undefined ? {} : await saidFields(context, decision, text)),
    ...(flags.limit === undefined ? {} : { limit: numberOf("--limit", flags.limit) }),
    ...(flags.remember === undefined ? {} : { remember: reachOf(flags.remember) }),
  });
  show(answered, () => [`${answered.id} is ${answered.status}`]);
  return exitCodes.fine;
};

const modes = ["reject", "queue", "steer", "interrupt", "rollback"] as const;

const modeOf = ({ "on-busy": given }: CommandFlags): (typeof modes)[number] | undefined => {
  const mode = modes.find((each) => each === given);
  if (given !== undefined && mode === undefined)
    throw new UsageError(`${given} is not a mode; use ${modes.join(", ")}`);
  return mode;
};

/** Returns the answer of a run, or why it has none. */
const endText = (result: { readonly text: string; readonly error: string | null } | null) =>
  result?.error ?? result?.text;

type OpenAsks = Awaited<ReturnType<typeof openAsks>>;

/** Returns whether no run takes up a message any more. */
const isGone = (answer: AnswerOf<"send">): boolean =>
  "status" in answer && (answer.status === "withdrawn" || answer.status === "returned");

/** Returns the lines about a message without the end of a run in time: what it waits for, and how to continue. */
const goingOnLines = (
  write: WriteCommand,
  session: string,
  asks: OpenAsks,
  answer: AnswerOf<"send">,
): readonly string[] => {
  if ("status" in answer && isGone(answer)) return [`the message was ${answer.status}; no run answers it`];
  if (asks.length > 0)
    return ["the session waits for an answer:", ...asks.flatMap((ask) => commandLines(write, session, ask))];
  return "asks" in answer
    ? ["the session waits for an answer that this key may not see"]
    : [`it goes on: ${write(`chat ${session}`)}`];
};

const agentOf = ({ agent }: CommandFlags): { readonly agent?: string } =>
  agent === undefined ? {} : { agent };

/** Refuses an agent for a session that exists, since that has its own. */
const refuseAgent = ({ agent }: CommandFlags, session: string): void => {
  if (agent === undefined) return;
  throw new UsageError(`--agent is the agent of a new session; ${toPlainText(session)} has its own`);
};

/** Returns the named session; `new` creates one and reports it. */
const sessionFor = async ({ client, flags, person }: RemoteContext, given: string): Promise<string> => {
  if (given !== "new") {
    refuseAgent(flags, given);
    return given;
  }
  const { id } = await client.sessions.create(agentOf(flags));
  person.warn(id);
  return id;
};

/**
 * Returns the exit code of a command that waited for a run: if the run has not ended, the answer is a receipt
 * without a state.
 */
const codeOf = (answer: AnswerOf<"send">): ExitCode => {
  const state = "state" in answer ? answer.state : null;
  if (state === "completed") return exitCodes.fine;
  const isLost = state === "failed" || state === "cancelled" || isGone(answer);
  return isLost ? exitCodes.diagnostics : exitCodes.unfinished;
};

type SessionInput = Omit<ParamsOf<"send">, "session" | "wait">;

/** Seconds of one request that waits for a run, shorter than proxies allow, and how many of them make 300 s. */
const waitAtOnce = 50;
const waits = 6;

/** Sends an input and waits for its run: each further request with its id waits on. */
const sendAndWait = async (
  client: LimpetClient,
  session: string,
  input: SessionInput,
): Promise<AnswerOf<"send">> => {
  const sent = { ...input, id: crypto.randomUUID(), wait: waitAtOnce };
  for (let count = 1; ; count += 1) {
    // A caller that waits gets the run if it has ended in time, otherwise the receipt.
    const answer = await client.sessions.get(session).send(sent);
    const isOver = "result" in answer || "asks" in answer || isGone(answer);
    if (isOver || count === waits) return answer;
  }
};

/** Sends an input and prints the answer of its run; if the run goes on, also reports what it waits for. */
const awaitAnswer = async (
  context: RemoteContext,
  session: string,
  input: SessionInput,
): Promise<ExitCode> => {
  const { client, flags, show, person, writeCommand } = context;
  const answer = await sendAndWait(client, session, input);
  const said = "result" in answer ? endText(answer.result) : undefined;
  const asks = said === undefined ? await unlessForbidden(openAsks(client, session)) : [];
  show({ session, ...answer, ...(asks.length > 0 && { asks }) }, () =>
    said === undefined ? [] : [toPlainText(said)],
  );
  if (said === undefined && flags.json !== true)
    goingOnLines(writeCommand, session, asks, answer).forEach(person.warn);
  return codeOf(answer);
};

const sendInput = async (context: RemoteContext): Promise<ExitCode> => {
  const { client, names, flags, show } = context;
  const [given = "", content = ""] = names;
  const mode = modeOf(flags);
  const session = await sessionFor(context, given);
  const input = { content, ...(mode === undefined ? {} : { on_busy: mode }) };
  if (flags.wait === true) return awaitAnswer(context, session, input);
  const receipt = await client.sessions.get(session).send(input);
  show({ session, ...receipt }, () => [`${receipt.input} ${receipt.status} in ${session}`]);
  return exitCodes.fine;
};

/** Waits for the message that begins a session, since a session without one is empty; returns null if there is none. */
const awaitBeginning = async (client: LimpetClient, caller: Person): Promise<Person | null> => {
  // A missing server is reported at once, and not after a message was typed.
  await client.call("agents", {});
  if (caller.isTerminal) caller.warn("Type a message, which begins a session; Ctrl-D leaves.");
  const person = await awaitFirstLine(caller);
  if (person === null && !caller.isTerminal)
    throw new UsageError("There is nothing to send: the input is empty, and no session was made.");
  return person;
};

const talk = async (context: RemoteContext): Promise<ExitCode> => {
  const { client, names, flags, person: caller } = context;
  const [given] = names;
  if (given !== undefined) refuseAgent(flags, given);
  const person = given === undefined ? await awaitBeginning(client, caller) : caller;
  if (person === null) return exitCodes.fine;
  const id =
    given === undefined
      ? (await client.call("create", agentOf(flags))).id
      : (await client.call("get", { session: given })).id;
  if (flags.json !== true) person.warn(`session ${id}; Ctrl-C cancels a run, Ctrl-D leaves`);
  return chat(client.sessions.get(id), { ...context, person });
};

const tail = async ({ client, names, flags, person }: RemoteContext): Promise<ExitCode> => {
  const [session = ""] = names;
  const { head_seq, status } = await client.call("get", { session });
  const stopped = new AbortController();
  const stop = person.onInterrupt(() => stopped.abort());
  if (flags.after === undefined)
    person.warn(`the session is ${status}; events are shown as they come, --after 0 shows those before, too`);
  const after = flags.after === undefined ? head_seq : numberOf("--after", flags.after);
  try {
    const changed = createConnectionTeller(person);
    for await (const event of client.sessions
      .get(session)
      .events({ after, signal: stopped.signal, changed })) {
      const line = flags.json === true ? JSON.stringify(event) : eventLine(event, flags.all === true);
      if (line !== null) person.write(`${line}\n`);
    }
  } finally {
    stop();
  }
  return exitCodes.fine;
};

const cancel = async ({ client, names, flags, show }: RemoteContext): Promise<ExitCode> => {
  const [session = ""] = names;
  const mode = flags["after-turn"] === true ? "after_turn" : "now";
  const { run } = await client.sessions.get(session).cancel({ mode });
  show({ run }, () => [run === null ? "No run is active." : `${run} is being cancelled`]);
  return exitCodes.fine;
};

const exportEvents = async ({ client, names, person }: RemoteContext): Promise<ExitCode> => {
  const [session = ""] = names;
  for (let after = 0; ;) {
    const { data, next_after, head_seq } = await client.call("events", { session, after, limit: 1_000 });
    for (const event of data) person.write(`${JSON.stringify(event)}\n`);
    if (next_after >= head_seq || next_after === after) return exitCodes.fine;
    after = next_after;
  }
};

/** Commands by their names. */
export const remoteCommands: Readonly<Record<string, RemoteCommand>> = {
  chat: { names: [0, 1], run: talk },
  send: { names: [2, 2], run: sendInput },
  tail: { names: [1, 1], run: tail },
  sessions: { names: [0, 0], run: listSessions },
  asks: { names: [0, 1], run: listAsks },
  answer: { names: [3, 4], run: answerAsk },
  cancel: { names: [1, 1], run: cancel },
  export: { names: [1, 1], run: exportEvents },
  keys: { names: [0, 2], run: manageKeys },
};
