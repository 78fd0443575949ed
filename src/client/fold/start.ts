import type { Ask } from "../../agent/state/ask.ts";
import type { Input } from "../../agent/state/thread.ts";
import type { RunRecord } from "../../agent/state/records.ts";
import type { Usage } from "../../model/completer.ts";
import type { TranscriptInput, TranscriptSession, TranscriptThread, TranscriptUsage } from "../transcript.ts";
import { pickDefined } from "../plain.ts";
import type { FoldState } from "./draft.ts";
import { emptyTranscript, noUsage } from "./draft.ts";

/** This file begins a transcript with a snapshot. */

interface ThreadRow {
  readonly id: string;
  readonly agent: string;
  readonly parent: NonNullable<TranscriptThread["parent"]> | null;
  readonly depth: number;
  readonly run: string | null;
  readonly last_run: string | null;
  readonly status: "idle" | "running" | "waiting" | "ended";
  readonly state?: "completed" | "failed" | "cancelled" | null;
  readonly label?: string;
  readonly task?: string;
  readonly usage?: (Usage & Partial<TranscriptUsage>) | null;
  readonly started_at?: number | null;
  readonly ended_at?: number | null;
}

/** A snapshot as the API sends it, as far as a transcript uses it. */
export interface SnapshotBody {
  readonly seq: number;
  readonly session: TranscriptSession & { readonly usage: TranscriptUsage; readonly head_seq: number };
  readonly threads: readonly ThreadRow[];
  readonly asks: readonly Ask[];
  readonly inputs: readonly Input[];
  readonly runs: readonly RunRecord[];
}

const threadOf = ({ session }: SnapshotBody, row: ThreadRow): TranscriptThread => ({
  id: row.id,
  agent: row.agent,
  prefix: row.parent === null ? session.prefix : "",
  ...pickDefined({ label: row.label, task: row.task }),
  ...(row.parent && { parent: row.parent }),
  depth: row.depth,
  state: row.status === "ended" ? (row.state ?? "completed") : row.status,
  waiting_for: [],
  run: row.run,
  started_at: row.started_at ?? null,
  ended_at: row.ended_at ?? null,
  usage: row.usage == null ? noUsage : { ...noUsage, cost_usd: null, ...row.usage },
  entries: [],
});

/** Called threads follow `main` in the order in which they began; of those that began together, by their first runs. */
const inOrder = (one: ThreadRow, other: ThreadRow): number =>
  (one.started_at ?? 0) - (other.started_at ?? 0) || runNumber(one) - runNumber(other);

const runNumber = ({ run, last_run }: ThreadRow): number => Number((last_run ?? run)?.slice(4));

/** An input as the server has it, without what a transcript does not say of it. */
export const showInput = ({
  id,
  thread,
  content,
  on_busy,
  sender,
  at,
}: Omit<TranscriptInput, "state">): TranscriptInput => ({
  id,
  thread,
  content,
  on_busy,
  sender,
  state: "accepted",
  at,
});

/**
 * Begins with what a snapshot says of now, and with the entries of no event: those after `from` are to be folded next.
 * Events up to the snapshot bring entries and turns, and end where the snapshot stands.
 */
export const startFold = (snapshot: SnapshotBody, from: number): FoldState => {
  const { seq, session, threads, asks, inputs, runs } = snapshot;
  const { usage, head_seq: _, ...shown } = session;
  return {
    transcript: {
      ...emptyTranscript,
      seq: from,
      session: shown,
      threads: threads.toSorted(inOrder).map((row) => threadOf(snapshot, row)),
      asks: asks.map((ask) => ({ ...ask, closed_at: null })),
      inputs: inputs.map(showInput),
      runs: runs.map((run) => ({ ...run, timeline: [] })).reverse(),
      usage,
      earlier: from > 0,
    },
    items: new Map(),
    counted: seq,
  };
};

/** A fold of a log from its first event; its usage is that of the events. */
export const emptyFold: FoldState = { transcript: emptyTranscript, items: new Map(), counted: 0 };
