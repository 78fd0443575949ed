import type { ToolOutput } from "../../tools/define-tool.ts";
import type { Call } from "../state/call.ts";
import type { BackgroundCommands } from "../state/records.ts";
import { noBackgroundCommands } from "../state/records.ts";
import { callsOfRun } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Draft } from "../transaction/draft.ts";
import { emit, runOf, threadOf } from "../transaction/draft.ts";

/** Background commands of the sandbox outlive their call; others have to end with their run. */

/** A command that could not be ended in so many tries, over a quarter of an hour, has met its own time-out. */
const mostTries = 10;

const firstPause = 1_000;

const changeCommands = (draft: Draft, change: Partial<BackgroundCommands>): void => {
  const commands = { ...noBackgroundCommands, ...draft.state.commands, ...change };
  const none = commands.running.length + commands.ending.length === 0;
  draft.state.commands = none ? null : commands;
};

/** The commands that a call's outcome leaves in the background are recorded. */
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

/** It tells whether a background command may be changing the workspace. */
export const hasRunningCommands = ({ commands = null }: Session, now: number): boolean =>
  commands !== null && (commands.ending.length > 0 || commands.running.some(({ until }) => until > now));

/** A call's command is the one that its tool noted before it began. */
const execOf = ({ memo }: Call): readonly string[] =>
  typeof memo === "object" && memo !== null && "exec" in memo && typeof memo["exec"] === "string"
    ? [memo["exec"]]
    : [];

/** It tells whether a call's command may be alive though the call is ending or has ended. */
const isCutOff = ({ status, outcome }: Call): boolean =>
  status !== "done" || outcome?.result.status === "cancelled";

/** The command of a call that may not go on is ended. */
export const stopCommand = (draft: Draft, call: Call): void => stopExecs(draft, execOf(call));

/** These commands are ended. */
export const stopExecs = (draft: Draft, cut: readonly string[]): void => {
  if (cut.length === 0) return;
  const { ending, at } = draft.state.commands ?? noBackgroundCommands;
  changeCommands(draft, {
    ending: [...new Set([...ending, ...cut])],
    at: ending.length === 0 ? draft.context.now : at,
  });
};

/** An ending run ends the commands of cut-off calls; if it is cancelled, also those in the background. */
export const stopCommands = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { running, ending, at } = draft.state.commands ?? noBackgroundCommands;
  const own = running.filter((command) => run.cancel !== null && command.run === run.id);
  const cut = callsOfRun(run).filter(isCutOff).flatMap(execOf);
  if (own.length + cut.length === 0) return;
  changeCommands(draft, {
    running: running.filter((command) => !own.includes(command)),
    ending: [...new Set([...ending, ...cut, ...own.map(({ exec }) => exec)])],
    at: ending.length === 0 ? draft.context.now : at,
  });
};

/** A called agent's run has ended by itself: its background commands now belong to its caller. */
export const inheritCommands = (draft: Draft, threadId: string): void => {
  const { parent, run } = threadOf(draft, threadId);
  const heir = draft.state.threads[parent?.thread ?? ""]?.run?.id;
  const running = draft.state.commands?.running ?? [];
  if (heir === undefined || !running.some((command) => command.run === run?.id)) return;
  changeCommands(draft, {
    running: running.map((command) => (command.run === run?.id ? { ...command, run: heir } : command)),
  });
};

/** The next try to end commands is due then; null if there are none. */
export const commandsEndDueAt = ({ commands = null }: Session): number | null =>
  commands === null || commands.ending.length === 0 ? null : commands.at;

/** The key names the try that is due; null if there is none. */
export const commandsEndKey = (session: Session, now: number): string | null => {
  const at = commandsEndDueAt(session);
  return at === null || at > now ? null : `commands:${session.commands?.tries}`;
};

/** Commands that could not be ended are reported at the first failure and when they are given up. */
const reportLiveCommands = (draft: Draft, alive: readonly string[], tries: number): void => {
  const last = tries >= mostTries;
  if (tries > 1 && !last) return;
  const further = last ? "they end by their own time-outs" : "it is tried again";
  const message = `the sandbox could not be told to end commands, which may still run: ${alive.join(", ")}; ${further}`;
  emit(draft, "main", "error", { code: "kill_failed", message, retryable: !last });
};

export const recordEndTry = (draft: Draft, ended: ReadonlySet<string>): void => {
  const { ending, tries: before } = draft.state.commands ?? noBackgroundCommands;
  const alive = ending.filter((exec) => !ended.has(exec));
  const tries = alive.length === 0 ? 0 : before + 1;
  if (tries > 0) reportLiveCommands(draft, alive, tries);
  const at = draft.context.now + firstPause * 2 ** before;
  changeCommands(draft, tries >= mostTries ? { ending: [], tries: 0 } : { ending: alive, tries, at });
};
