import { pauseAfter } from "../state/wait.ts";
import type { ToolOutput } from "../../tools/define-tool.ts";
import type { Call } from "../state/call.ts";
import type { BackgroundCommands, EndingCommand } from "../state/records.ts";
import { noBackgroundCommands } from "../state/records.ts";
import { callsOfRun } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Draft } from "../transaction/draft.ts";
import { emit, runOf, threadOf } from "../transaction/draft.ts";

/** Background commands of the sandbox outlive their call; others have to end with their run. */

/** Number of tries to end a command, over a quarter of an hour, after which its own time-out has ended it. */
const mostTries = 10;

const firstPause = 1_000;

const changeCommands = (draft: Draft, change: Partial<BackgroundCommands>): void => {
  const commands = { ...noBackgroundCommands, ...draft.state.commands, ...change };
  const none = commands.running.length + commands.ending.length === 0;
  draft.state.commands = none ? null : commands;
};

/** Records the commands that a call's outcome leaves in the background. */
export const recordCommands = (
  draft: Draft,
  threadId: string,
  { background, ended }: Pick<ToolOutput, "background" | "ended">,
): void => {
  if (background === undefined && ended === undefined) return;
  const { now } = draft.context;
  const running = (draft.state.commands?.running ?? []).filter(
    ({ exec, until }) => exec !== ended && exec !== background?.exec && until > now,
  );
  const begun = background === undefined ? [] : [{ ...background, run: runOf(draft, threadId).id }];
  changeCommands(draft, { running: [...running, ...begun] });
};

/** Returns whether a background command may be changing the workspace. */
export const hasRunningCommands = ({ commands = null }: Session, now: number): boolean =>
  commands !== null && (commands.ending.length > 0 || commands.running.some(({ until }) => until > now));

/** Returns the command of a call, which its tool noted before it began. */
const execOf = ({ memo }: Call): readonly string[] =>
  typeof memo === "object" && memo !== null && "exec" in memo && typeof memo["exec"] === "string"
    ? [memo["exec"]]
    : [];

/** Returns whether a call's command may be alive though the call is ending or has ended. */
const isCutOff = ({ status, outcome }: Call): boolean =>
  status !== "done" || outcome?.result.status === "cancelled";

/** Ends the command of a call that may not go on. */
export const stopCommand = (draft: Draft, call: Call): void => stopExecs(draft, execOf(call));

/** Ends commands. */
export const stopExecs = (draft: Draft, cut: readonly string[]): void => {
  const { ending } = draft.state.commands ?? noBackgroundCommands;
  const added = new Set(cut).difference(new Set(ending.map(({ exec }) => exec)));
  if (added.size === 0) return;
  const at = draft.context.now;
  changeCommands(draft, { ending: [...ending, ...[...added].map((exec) => ({ exec, tries: 0, at }))] });
};

/**
 * Ends the commands of an ending run's cut-off calls; if the run is cancelled, also those in the background.
 */
export const stopCommands = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { running } = draft.state.commands ?? noBackgroundCommands;
  const own = running.filter((command) => run.cancel !== null && command.run === run.id);
  stopExecs(draft, [...callsOfRun(run).filter(isCutOff).flatMap(execOf), ...own.map(({ exec }) => exec)]);
  if (own.length > 0) changeCommands(draft, { running: running.filter((command) => !own.includes(command)) });
};

/** Passes the background commands of a called run that ended by itself to its caller. */
export const inheritCommands = (draft: Draft, threadId: string): void => {
  const { parent, run } = threadOf(draft, threadId);
  const heir = draft.state.threads[parent?.thread ?? ""]?.run?.id;
  const running = draft.state.commands?.running ?? [];
  if (heir === undefined || !running.some((command) => command.run === run?.id)) return;
  changeCommands(draft, {
    running: running.map((command) => (command.run === run?.id ? { ...command, run: heir } : command)),
  });
};

/** Returns when the next try to end a command is due; null if there is none to end. */
export const commandsEndDueAt = ({ commands = null }: Session): number | null =>
  commands === null || commands.ending.length === 0 ? null : Math.min(...commands.ending.map(({ at }) => at));

/** Returns the commands that are to be ended now. */
export const dueCommands = ({ commands = null }: Session, now: number): readonly EndingCommand[] =>
  (commands?.ending ?? []).filter(({ at }) => at <= now);

/** Returns a key that names the tries that are due; null if there are none. */
export const commandsEndKey = (session: Session, now: number): string | null => {
  const due = dueCommands(session, now).map(({ exec, tries }) => `${exec}.${tries}`);
  return due.length === 0 ? null : `commands:${due.join()}`;
};

/** Commands that could not be ended are reported at the first failure and when they are given up. */
const reportLiveCommands = (draft: Draft, alive: readonly EndingCommand[], last: boolean): void => {
  if (alive.length === 0) return;
  const execs = alive.map(({ exec }) => exec).join(", ");
  const further = last ? "they end by their own time-outs" : "it is tried again";
  const message = `the sandbox could not be told to end commands, which may still run: ${execs}; ${further}`;
  emit(draft, "main", "error", { code: "kill_failed", message, retryable: !last });
};

/** Records for each command of a try whether it has ended; one that has not is tried again later. */
export const recordEndTries = (draft: Draft, tried: ReadonlyMap<string, boolean>): void => {
  const { ending } = draft.state.commands ?? noBackgroundCommands;
  const untried = ending.filter(({ exec }) => !tried.has(exec));
  const failed = ending
    .filter(({ exec }) => tried.get(exec) === false)
    .map(({ exec, tries }) => ({
      exec,
      tries: tries + 1,
      at: draft.context.now + pauseAfter(tries, firstPause),
    }));
  const after = (count: number): readonly EndingCommand[] => failed.filter(({ tries }) => tries === count);
  reportLiveCommands(draft, after(1), false);
  reportLiveCommands(draft, after(mostTries), true);
  changeCommands(draft, { ending: [...untried, ...failed.filter(({ tries }) => tries < mostTries)] });
};
