import type { ExecReason } from "../../contract.ts";
import { sha256Hex } from "../../sha256.ts";
import { fail } from "../errors.ts";
import { blob } from "../files/database.ts";
import type { Disk } from "../files/files.ts";
import { requireEntry } from "../files/locate.ts";
import { createGatherer } from "./gather.ts";
import type { LoggedOutput, OutputLog } from "./output-log.ts";
import { createOutputLog } from "./output-log.ts";
import type { ShellRun, Stream } from "./shell.ts";
import { runShell } from "./shell.ts";

interface CommandRequest extends Omit<ShellRun, "signal" | "emit"> {
  readonly execId: string;
  /** Request as it was sent, which distinguishes a repetition from another command. */
  readonly body: string;
}

export interface CommandEnd {
  readonly exitCode: number;
  readonly reason: ExecReason;
  readonly durationMs: number;
  readonly truncated: boolean;
}

/** Command that runs in this isolate. */
interface LiveCommand {
  readonly log: OutputLog;
  readonly controller: AbortController;
  readonly startedAt: number;
  reason: "timeout" | "killed" | null;
  end: CommandEnd | null;
  /** Wakes all readers that wait for output; replaced at every change. */
  changed: PromiseWithResolvers<void>;
  finished: Promise<void>;
}

/** Readable output of a command. `changed` settles when there is more; null once the command has ended. */
interface CommandView {
  readonly output: readonly LoggedOutput[];
  /** Sequence number of the newest output, kept or not. */
  readonly last: number;
  readonly end: CommandEnd | null;
  readonly changed: Promise<void> | null;
}

/** Commands of one workspace: started once per id, followed by any number of readers, kept after their end. */
export interface Commands {
  /** Starts a command, or attaches to the one with this id and body. */
  readonly start: (request: CommandRequest) => void;
  readonly view: (execId: string, after: number) => CommandView;
  /**
   * Returns the view of a reader that waits for the end: of a running command only what is kept whatever follows, so
   * that all such readers get the same, and no more than the limit of the output.
   */
  readonly viewSettled: (execId: string, after: number) => CommandView;
  /** Returns where a poll by this reader begins: after the events of other readers, or where it began before. */
  readonly position: (execId: string, reader: string) => number;
  readonly kill: (execId: string) => void;
  /** Ends all commands and waits until they have ended. */
  readonly stop: () => Promise<void>;
  readonly running: () => number;
  /** Deletes commands that started before `time`; returns whether there were any. */
  readonly forget: (time: number) => boolean;
}

interface StoredCommand {
  readonly body: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly exit_code: number | null;
  readonly reason: ExecReason | null;
  readonly truncated: number;
  readonly reader: string | null;
  readonly read_from: number;
  readonly read_to: number;
}

interface CommandHost {
  readonly disk: Disk;
  /** Keeps the object alive until the promise settles. */
  readonly waitUntil: (promise: Promise<void>) => void;
}

const stored = (disk: Disk, execId: string): StoredCommand | undefined =>
  disk.database.all<StoredCommand>("SELECT * FROM commands WHERE exec_id = ?", execId)[0];

const exitCodes: Partial<Record<ExecReason, number>> = { timeout: 124, killed: 143, limit: 126, lost: -1 };

function store(disk: Disk, execId: string, live: LiveCommand, end: CommandEnd): void {
  disk.database.transaction(() => {
    for (const { seq, stream, data } of live.log.after(0)) {
      disk.database.all(
        "INSERT INTO outputs (exec_id, seq, stream, data) VALUES (?, ?, ?, ?)",
        execId,
        seq,
        stream,
        Uint8Array.from(data),
      );
    }
    disk.database.all(
      "UPDATE commands SET ended_at = ?, exit_code = ?, reason = ?, truncated = ? WHERE exec_id = ?",
      live.startedAt + end.durationMs,
      end.exitCode,
      end.reason,
      end.truncated ? 1 : 0,
      execId,
    );
  });
}

/** Returns the stored view of a command that does not run here: its outcome, or `lost` if its isolate died. */
function storedView(disk: Disk, execId: string, command: StoredCommand, after: number): CommandView {
  const rows = disk.database.all<{ seq: number; stream: Stream; data: ArrayBuffer }>(
    "SELECT seq, stream, data FROM outputs WHERE exec_id = ? AND seq > ? ORDER BY seq",
    execId,
    after,
  );
  const output = rows.map((row) => ({ seq: row.seq, stream: row.stream, data: blob(row.data) }));
  const last = output.at(-1)?.seq ?? after;
  const end: CommandEnd =
    command.reason === null || command.ended_at === null
      ? { exitCode: -1, reason: "lost", durationMs: 0, truncated: false }
      : {
          exitCode: command.exit_code ?? -1,
          reason: command.reason,
          durationMs: command.ended_at - command.started_at,
          truncated: command.truncated === 1,
        };
  return { output, last, end, changed: null };
}

function notify(live: LiveCommand): void {
  live.changed.resolve();
  live.changed = Promise.withResolvers<void>();
}

async function drive(host: CommandHost, request: CommandRequest, live: LiveCommand): Promise<void> {
  const timeoutMs = Math.min(request.timeoutMs, host.disk.limits().wall);
  const timer = setTimeout(() => {
    live.reason ??= "timeout";
    live.controller.abort();
  }, timeoutMs);
  const gatherer = createGatherer((stream, bytes) => {
    live.log.append(stream, bytes);
    notify(live);
  });
  const outcome = await runShell(host.disk, {
    ...request,
    timeoutMs,
    signal: live.controller.signal,
    emit: gatherer.add,
  });
  gatherer.flush();
  clearTimeout(timer);
  const reason = live.reason ?? (outcome.limited ? "limit" : "exited");
  live.end = {
    reason,
    exitCode: exitCodes[reason] ?? outcome.exitCode,
    durationMs: host.disk.now() - live.startedAt,
    truncated: live.log.truncated(),
  };
  store(host.disk, request.execId, live, live.end);
}

function begin(
  host: CommandHost,
  live: Map<string, LiveCommand>,
  request: CommandRequest,
  hash: string,
): void {
  const { disk } = host;
  const { processes, output } = disk.limits();
  if (live.size >= processes) fail("limit", `${processes} commands run already; wait for one or end it`);
  if (requireEntry(disk, request.cwd).entry.type !== "directory")
    fail("invalid_request", `cwd ${request.cwd} is a file`);
  const command: LiveCommand = {
    log: createOutputLog(Math.floor(output / 2)),
    controller: new AbortController(),
    startedAt: disk.now(),
    reason: null,
    end: null,
    changed: Promise.withResolvers<void>(),
    finished: Promise.resolve(),
  };
  disk.database.all(
    "INSERT INTO commands (exec_id, body, started_at) VALUES (?, ?, ?)",
    request.execId,
    hash,
    command.startedAt,
  );
  live.set(request.execId, command);
  command.finished = drive(host, request, command).finally(() => {
    live.delete(request.execId);
    notify(command);
  });
  host.waitUntil(command.finished);
}

const known = (disk: Disk, execId: string): StoredCommand =>
  stored(disk, execId) ?? fail("exec_unknown", `no command with the id ${execId} is known here`);

function end(command: LiveCommand | undefined): void {
  if (command === undefined) return;
  command.reason ??= "killed";
  command.controller.abort();
}

/** Returns the view of a command that runs here, or ran. */
function viewOf(
  { disk }: CommandHost,
  command: LiveCommand | undefined,
  execId: string,
  after: number,
): CommandView {
  if (command === undefined) return storedView(disk, execId, known(disk, execId), after);
  const { log, end: over, changed } = command;
  return { output: log.after(after), last: log.last(), end: over, changed: changed.promise };
}

export function createCommands(host: CommandHost): Commands {
  const live = new Map<string, LiveCommand>();
  const { disk } = host;
  return {
    start: (request) => {
      const hash = sha256Hex(request.body);
      const before = stored(disk, request.execId);
      if (before === undefined) begin(host, live, request, hash);
      else if (before.body !== hash)
        fail("exec_id_reused", `exec_id ${request.execId} was used for another command`);
    },
    view: (execId, after) => viewOf(host, live.get(execId), execId, after),
    viewSettled: (execId, after) => {
      const command = live.get(execId);
      const view = viewOf(host, command, execId, after);
      return command === undefined || view.end !== null
        ? view
        : { ...view, output: command.log.settledAfter(after) };
    },
    position: (execId, reader) => {
      const command = known(disk, execId);
      const from = command.reader === reader ? command.read_from : command.read_to;
      const to = live.get(execId)?.log.last() ?? storedView(disk, execId, command, from).last;
      if (command.reader !== reader || to !== command.read_to) {
        const values = [reader, from, to, execId] as const;
        disk.database.all(
          "UPDATE commands SET reader = ?, read_from = ?, read_to = ? WHERE exec_id = ?",
          ...values,
        );
      }
      return from;
    },
    kill: (execId) => end(live.get(execId)),
    stop: async () => {
      const all = [...live.values()];
      for (const command of all) end(command);
      await Promise.all(all.map((command) => command.finished));
    },
    running: () => live.size,
    forget: (time) => {
      const [old] = disk.database.all<{ count: number }>(
        "SELECT COUNT(*) AS count FROM commands WHERE started_at < ?",
        time,
      );
      if ((old?.count ?? 0) === 0) return false;
      disk.database.all(
        "DELETE FROM outputs WHERE exec_id IN (SELECT exec_id FROM commands WHERE started_at < ?)",
        time,
      );
      disk.database.all("DELETE FROM commands WHERE started_at < ?", time);
      return true;
    },
  };
}
