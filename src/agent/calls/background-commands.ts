import type { ToolOutput } from "../../tools/define-tool.ts";
import type { Call } from "../state/call.ts";
import type { BackgroundCommands, EndingCommand } from "../state/records.ts";
import { noBackgroundCommands } from "../state/records.ts";
import { mostSandboxTries, postpone } from "../state/ask.ts";
import { callsOfRun } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { emit, runOf, selectCaller, selectThread } from "../transaction/draft.ts";

/** Background commands of the sandbox outlive their call; others have to end with their run. */

const changeCommands = (draft: Draft, change: Partial<BackgroundCommands>): void => {
  const commands = { ...draft.state.commands, ...change };
  const none = commands.running.length + commands.ending.length === 0;
  draft.state.commands = none ? noBackgroundCommands : commands;
};

/** Records the commands that a call's outcome leaves in the background. */
export const recordCommands = (
  draft: ThreadDraft,
  { background, ended }: Pick<ToolOutput, "background" | "ended">,
): void => {
  if (background === undefined && ended === undefined) return;
  const { now } = draft.context;
  const running = draft.state.commands.running.filter(
    ({ exec, until }) => exec !== ended && exec !== background?.exec && until > now,
  );
  const begun = background === undefined ? [] : [{ ...background, run: runOf(draft).id }];
  changeCommands(draft, { running: [...running, ...begun] });
};

/** Returns whether a background command may be changing the workspace. */
export const hasRunningCommands = ({ commands: { running, ending } }: Session, now: number): boolean =>
  ending.length > 0 || running.some(({ until }) => until > now);

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
  const { ending } = draft.state.commands;
  const added = new Set(cut).difference(new Set(ending.map(({ exec }) => exec)));
  if (added.size === 0) return;
  const until = draft.context.now;
  changeCommands(draft, { ending: [...ending, ...[...added].map((exec) => ({ exec, tries: 0, until }))] });
};

/** Ends the commands of an ending run's cut-off calls; if the run is cancelled, also those in the background. */
export const stopCommands = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  const { running } = draft.state.commands;
  const own = running.filter((command) => run.cancel !== null && command.run === run.id);
  stopExecs(draft, [...callsOfRun(run).filter(isCutOff).flatMap(execOf), ...own.map(({ exec }) => exec)]);
  if (own.length > 0) changeCommands(draft, { running: running.filter((command) => !own.includes(command)) });
};

/** Passes the background commands of a called run that ended by itself to its caller. */
export const inheritCommands = (draft: ThreadDraft): void => {
  const { run } = draft.thread;
  const heir = selectCaller(draft)?.thread.run?.id;
  const running = draft.state.commands.running;
  if (heir === undefined || !running.some((command) => command.run === run?.id)) return;
  changeCommands(draft, {
    running: running.map((command) => (command.run === run?.id ? { ...command, run: heir } : command)),
  });
};

/** Reports a command that could not be ended, at the first failure and when it is given up. */
const reportLiveCommand = (draft: Draft, { exec, tries }: EndingCommand): void => {
  if (tries !== 1 && tries !== mostSandboxTries) return;
  const retryable = tries < mostSandboxTries;
  const further = retryable ? "it is tried again" : "it ends by its own time-out";
  const message = `the sandbox could not be told to end a command, which may still run: ${exec}; ${further}`;
  emit(selectThread(draft, "main"), "error", { code: "kill_failed", message, retryable });
};

/** Records whether a command has ended; one that has not is tried again later, unless it was often enough. */
export const recordEndTry = (draft: Draft, command: EndingCommand, hasEnded: boolean): void => {
  const failed = postpone(command, draft.context.now);
  if (!hasEnded) reportLiveCommand(draft, failed);
  const left = hasEnded || failed.tries === mostSandboxTries ? [] : [failed];
  const { ending } = draft.state.commands;
  changeCommands(draft, { ending: ending.flatMap((each) => (each.exec === command.exec ? left : each)) });
};
