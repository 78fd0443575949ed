import type { Call } from "../../src/agent/state/call.ts";
import type { Thread } from "../../src/agent/state/thread.ts";
import { blobOf, deleteRows, rowJson, valuesOf } from "./encode.ts";
import type { WrittenMessages } from "./results.ts";
import { isResultAt, resultPlaces } from "./results.ts";

/** Outcomes of calls that wait for their siblings have their own rows until the reply's results are messages. */

const findDoneCalls = (thread: Thread | undefined): readonly Call[] =>
  thread?.run?.phase.at === "acting" ? thread.run.phase.calls.filter(({ outcome }) => outcome !== null) : [];

const deleteOutcome = (sql: SqlStorage, thread: string, call: string): void =>
  deleteRows(
    sql,
    (id) => blobOf.outcome(thread, id),
    { key: "call", from: "outcomes WHERE thread = ? AND call = ?" },
    thread,
    call,
  );

/**
 * Writes new outcomes. When a thread leaves its calls behind, deletes those whose results are where events
 * look for them; the others stay for good.
 */
export const writeOutcomes = (
  sql: SqlStorage,
  before: Thread | undefined,
  thread: Thread,
  written: WrittenMessages,
): void => {
  const known = new Set(findDoneCalls(before).map(({ call }) => call.id));
  if (known.size > 0 && thread.run?.phase.at !== "acting") {
    for (const [call, pos] of resultPlaces(before))
      if (known.has(call) && isResultAt(written, thread.id, pos, call)) deleteOutcome(sql, thread.id, call);
    return;
  }
  for (const { call, outcome } of findDoneCalls(thread)) {
    if (known.has(call.id)) continue;
    const json = rowJson(sql, blobOf.outcome(thread.id, call.id), JSON.stringify(outcome));
    sql.exec("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)", thread.id, call.id, json);
  }
};

export const loadOutcome = (sql: SqlStorage, thread: string, call: string): Call["outcome"] => {
  const query = "SELECT call AS id, json FROM outcomes WHERE thread = ? AND call = ?";
  const [found = null] = valuesOf(sql, (id) => blobOf.outcome(thread, id), query, thread, call);
  return found as Call["outcome"];
};
