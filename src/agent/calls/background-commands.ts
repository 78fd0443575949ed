import type { ToolOutput } from "../../tools/define-tool.ts";
import type { Call } from "../state/call.ts";
import type { BackgroundCommands } from "../state/records.ts";
import { noBackgroundCommands } from "../state/records.ts";
import { callsOfRun } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { Draft } from "../transaction/draft.ts";
import { emit, runOf, threadOf } from "../transaction/draft.ts";

/** Commands of the sandbox that outlive a call, and those that have to end with their run. */

/** A command that nobody could end in this many tries, over a quarter of an hour, has met its own time-out. */
const mostTries = 10;

const firstPause = 1_000;

const changeCommands = (draft: Draft, change: Partial<BackgroundCommands>): void => {
  const commands = { ...noBackgroundCommands, ...draft.state.commands, ...change };
  const none = commands.running.length + commands.ending.length === 0;
  draft.state = { ...draft.state, commands: none ? null : commands };
};

/** Notes what a call's outcome says of commands in the background. */
export const recordCommands = (
  draft: Draft,
  threadId: string,
  { background, ended }: Pick<ToolOutput, "background" | "ended">,
): void => {
  if (background === undefined && ended === undefined) return;
  const { now } = draft.moment;
  const running = (draft.state.commands?.running ?? []).filter(
    ({ exec, until }) => exec !== ended && exec !== background?.exec && until > now,
  );
  const begun = background === undefined ? [] : [{ ...background, run: runOf(draft, threadId).id }];
  changeCommands(draft, { running: [...running, ...begun] });
};

/** Whether a command in the background may be changing the workspace. */
export const hasRunningCommands = ({ commands = null }: Session, now: number): boolean =>
  commands !== null && (commands.ending.length > 0 || commands.running.some(({ until }) => until > now));

/** The command of a call, as its tool noted it before it began. */
const execOf = ({ memo }: Call): readonly string[] =>
  typeof memo === "object" && memo !== null && "exec" in memo && typeof memo["exec"] === "string"
    ? [memo["exec"]]
    : [];

/** Whether a call's command may be alive though the call is not, or not for long. */
const isCutOff = ({ status, outcome }: Call): boolean =>
  status !== "done" || outcome?.result.status === "cancelled";

/** The command of a call that may not go on ends. */
export const stopCommand = (draft: Draft, call: Call): void => {
  const cut = execOf(call);
  if (cut.length === 0) return;
  const { ending, at } = draft.state.commands ?? noBackgroundCommands;
  changeCommands(draft, {
    ending: [...new Set([...ending, ...cut])],
    at: ending.length === 0 ? draft.moment.now : at,
  });
};

/** The run ends, or is asked to: commands of calls that are cut off end with it, and if it is cancelled those in the background, too. */
export const stopCommands = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { running, ending, at } = draft.state.commands ?? noBackgroundCommands;
  const own = running.filter((command) => run.cancel !== null && command.run === run.id);
  const cut = callsOfRun(run).filter(isCutOff).flatMap(execOf);
  if (own.length + cut.length === 0) return;
  changeCommands(draft, {
    running: running.filter((command) => !own.includes(command)),
    ending: [...new Set([...ending, ...cut, ...own.map(({ exec }) => exec)])],
    at: ending.length === 0 ? draft.moment.now : at,
  });
};

/** A called agent's run has ended by itself: what it left in the background is its caller's now. */
export const inheritCommands = (draft: Draft, threadId: string): void => {
  const { parent, run } = threadOf(draft, threadId);
  const heir = draft.state.threads[parent?.thread ?? ""]?.run?.id;
  const running = draft.state.commands?.running ?? [];
  if (heir === undefined || !running.some((command) => command.run === run?.id)) return;
  changeCommands(draft, {
    running: running.map((command) => (command.run === run?.id ? { ...command, run: heir } : command)),
  });
};

/** When the next try to end commands is due; null if there are none. */
export const commandsEndDueAt = ({ commands = null }: Session): number | null =>
  commands === null || commands.ending.length === 0 ? null : commands.at;

/** Names the try that is due; null if there is none. */
export const commandsEndKey = (session: Session, now: number): string | null => {
  const at = commandsEndDueAt(session);
  return at === null || at > now ? null : `commands:${session.commands?.tries}`;
};

/** Names what could not be ended, at the first failure and when it is given up. */
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
  const at = draft.moment.now + firstPause * 2 ** before;
  changeCommands(draft, tries >= mostTries ? { ending: [], tries: 0 } : { ending: alive, tries, at });
};
