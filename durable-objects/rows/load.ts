import { freshCall } from "../../src/agent/state/call.ts";
import type { Run } from "../../src/agent/state/run.ts";
import { freshCounters, freshRun, runNumberOf } from "../../src/agent/state/run.ts";
import { freshSession } from "../../src/agent/state/session.ts";
import type { StoredRun, MessageRow, StoredRow, TurnRow } from "./encode.ts";
import { unpackHistory } from "../../src/agent/context/history.ts";
import type { Ask } from "../../src/agent/state/ask.ts";
import type { StoredTask } from "../../src/agent/state/board.ts";
import type { Input, Thread } from "../../src/agent/state/thread.ts";
import type { ServerTools, Session } from "../../src/agent/state/session.ts";
import { newThread } from "../../src/agent/state/thread.ts";
import type { Message, MessageOverlay } from "../../src/chat/message.ts";
import { sumShownTokens, viewPlaceOf } from "../../src/chat/message.ts";
import {
  askOrder,
  blobOf,
  externalBlob,
  jsonOf,
  loadBlob,
  messageColumns,
  messageJson,
  overlayJson,
  pickFields,
  readMessageRows,
  serverToolsBlob,
  sessionTurnFields,
  turnFields,
  valuesOf,
  readWaitingInputs,
  wholeJson,
} from "./encode.ts";
import { loadOutcome } from "./call-outcomes.ts";
import { readHead } from "./event-log.ts";

/** Reads the newest overlay of each message that is in the view. */
const loadOverlays = (sql: SqlStorage, thread: string): ReadonlyMap<number, MessageOverlay> =>
  new Map(
    sql
      .exec<{ pos: number; edit: number; json: string }>(
        "SELECT pos, edit, o.json FROM overlays o JOIN messages m USING (thread, pos) WHERE thread = ? AND retired = 0 ORDER BY edit",
        thread,
      )
      .toArray()
      .map((row) => [row.pos, JSON.parse(overlayJson(sql, thread, row)) as MessageOverlay]),
  );

const loadChat = (sql: SqlStorage, thread: string): readonly Message[] => {
  const overlays = loadOverlays(sql, thread);
  return sql
    .exec<MessageRow>(
      `SELECT ${messageColumns} FROM messages m WHERE thread = ? AND retired = 0 ORDER BY pos`,
      thread,
    )
    .toArray()
    .map((found): Message => {
      const message = JSON.parse(messageJson(sql, thread, found)) as Message;
      const overlay = overlays.get(found.pos);
      return overlay === undefined ? message : { ...message, overlay };
    })
    .sort((a, b) => viewPlaceOf(a) - viewPlaceOf(b));
};

/** Rows of a thread, apart from its chat and inbox. */
interface ThreadRows {
  readonly row: StoredRow;
  readonly turn: TurnRow;
  readonly history: string;
}

const loadRows = (sql: SqlStorage): readonly ThreadRows[] =>
  sql
    .exec<{ id: string; state: string; json: string; history: string }>(
      "SELECT id, state, json, history FROM threads JOIN turns ON thread = id",
    )
    .toArray()
    .map(({ id, state, json, history }) => ({
      row: JSON.parse(wholeJson(sql, blobOf.thread(id), state)) as StoredRow,
      turn: JSON.parse(wholeJson(sql, blobOf.turn(id), json)) as TurnRow,
      history,
    }));

/** Reads the first input of a thread, of which its row holds only the place. */
const loadFirstInput = (sql: SqlStorage, { id, firstInput }: StoredRow): Message | null => {
  if (firstInput === null) return null;
  const [row] = readMessageRows(sql, id, firstInput.pos, firstInput.pos);
  return row === undefined ? null : (JSON.parse(messageJson(sql, id, row)) as Message);
};

const loadThread = (
  sql: SqlStorage,
  { row, turn, history }: ThreadRows,
  waiting: ReadonlyMap<string, Input>,
): Thread => {
  const { inboxIds, session: _session, ...rest } = row;
  const chat = loadChat(sql, row.id);
  const inbox = inboxIds.flatMap((id) => waiting.get(id) ?? []);
  const tokens = sumShownTokens(chat);
  const fresh = { ...newThread(row.id, row.agent), tokens, seen: chat.at(-1)?.pos ?? -1 };
  return {
    ...fresh,
    ...rest,
    ...pickFields(turn, turnFields),
    firstInput: loadFirstInput(sql, row),
    chat,
    inbox,
    history: unpackHistory(history),
    run: loadRun(sql, row.id, turn.run, chat),
  };
};

const loadRun = (
  sql: SqlStorage,
  id: string,
  stored: StoredRun | null,
  chat: readonly Message[],
): Run | null => {
  if (stored === null) return null;
  const { phase, counters, ...rest } = stored;
  const run = { ...freshRun, ...rest, counters: { ...freshCounters, ...counters } };
  if (phase.at !== "acting") return { ...run, phase };
  const reply = chat.findLast(({ role }) => role === "assistant");
  const args = new Map(
    reply?.parts.flatMap((part) => (part.type === "tool_call" ? [[part.id, part.args] as const] : [])),
  );
  const calls = phase.calls.map((call) => ({
    ...freshCall,
    ...call,
    call: { ...call.call, args: args.get(call.call.id) ?? "" },
    outcome: call.status === "done" ? loadOutcome(sql, id, call.call.id) : null,
  }));
  return { ...run, phase: { at: "acting", calls } };
};

/** Returns the order of threads: by the run that made them; `main` is the first. */
const creationOrder = ({ id, firstInput }: Pick<Thread, "id" | "firstInput">): number =>
  id === "main" ? 0 : typeof firstInput?.run === "string" ? runNumberOf(firstInput.run) : Infinity;

const loadServerTools = (sql: SqlStorage): ServerTools =>
  JSON.parse(loadBlob(sql, serverToolsBlob) ?? "{}") as ServerTools;

/** Loads the live state: what the model will see, what waits, and counters; returns null if there is no session. */
export const loadSession = (sql: SqlStorage): Session | null => {
  const rows = loadRows(sql);
  const main = rows.find(({ row }) => row.id === "main");
  if (main === undefined) return null;
  const { session: own } = main.row as Required<StoredRow>;
  const { session: turned } = main.turn as Required<TurnRow>;
  const waiting = readWaitingInputs(sql);
  const open = `SELECT id, json FROM asks WHERE status = 'open' ORDER BY ${askOrder}`;
  const asks = valuesOf(sql, blobOf.ask, open) as readonly Ask[];
  const tasks = jsonOf(sql, "SELECT json FROM tasks ORDER BY n") as readonly StoredTask[];
  const inputs = new Map(waiting.map((input) => [input.id, input]));
  const threads = rows.map((row) => loadThread(sql, row, inputs));
  const inOrder = threads.toSorted((a, b) => creationOrder(a) - creationOrder(b));
  const { external = null, serverTools = null } = own;
  return {
    ...freshSession,
    ...own,
    ...pickFields(turned, sessionTurnFields),
    external: external && { text: loadBlob(sql, externalBlob) ?? "" },
    serverTools: serverTools && loadServerTools(sql),
    head: readHead(sql),
    threads: Object.fromEntries(inOrder.map((thread) => [thread.id, thread])),
    asks: Object.fromEntries(asks.map((ask) => [ask.id, ask])),
    tasks: Object.fromEntries(tasks.map((task) => [task.id, task])),
  };
};
