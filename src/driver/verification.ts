import type { Agent } from "../agent/definition/agent.ts";
import { preparingPhaseOf, startCheckCommand, verificationWorkOf } from "../agent/hooks/preparing.ts";
import type { Run } from "../agent/state/run.ts";
import type { Session } from "../agent/state/session.ts";
import type { CheckCommand, VerificationWork } from "../agent/state/phase.ts";
import type { ThreadDraft } from "../agent/transaction/draft.ts";
import { selectThread } from "../agent/transaction/draft.ts";
import type { CheckOutcome } from "../agent/turn/verification.ts";
import { applyVerification } from "../agent/turn/verification.ts";
import type { CapacityWait } from "../sandbox/capacity.ts";
import { awaitCapacity } from "../sandbox/capacity.ts";
import type { CommandResult } from "../sandbox/commands.ts";
import { commandMargin, execIdOf, followCommand, locateCommand } from "../sandbox/commands.ts";
import type { ExecRequest, Sandbox } from "../sandbox/contract.ts";
import { SandboxError } from "../sandbox/contract.ts";
import type { WorkContext } from "./host.ts";
import { isJsonObject, parseJson } from "../chat/json.ts";
import { readOrDefault, readText } from "./workspace-files.ts";

/** Runs the command that checks a workspace once, from the stored `preparing` to the stored outcome. */

/** A check as the state had it when it began, or began again after a crash. */
interface Check {
  readonly thread: string;
  readonly run: Run;
  readonly work: VerificationWork;
  readonly round: number;
}

/** Returns the check of a run that is not waiting, or null if it has none. */
const findCheck = ({ threads }: Session, thread: string): Check | null => {
  const run = threads[thread]?.run ?? null;
  const phase = preparingPhaseOf(run);
  const work = verificationWorkOf(run);
  if (run === null || phase === null || work === null || phase.wait !== null) return null;
  return { thread, run, work, round: phase.round };
};

/** Names a check uniquely in its session: a turn and each of its repairs have one check of each kind. */
const keyOf = ({ id, turn, counters }: Run, { what }: VerificationWork): string =>
  `${id}/verify/${turn}/${counters.repairs}/${what}`;

/** Returns whether the state still holds this start of the check. */
const isChecking = (session: Session, { thread, run, work, round }: Check): boolean => {
  const now = findCheck(session, thread);
  return now !== null && now.round === round && keyOf(now.run, now.work) === keyOf(run, work);
};

const settleIfChecking = (
  { settle }: WorkContext,
  check: Check,
  change: (draft: ThreadDraft) => void,
): void =>
  settle((draft) => {
    if (isChecking(draft.state, check)) change(selectThread(draft, check.thread));
  });

const requestOf = (agent: Agent, { text, exec }: CheckCommand): ExecRequest => ({
  argv: ["sh", "-c", text],
  execId: exec,
  timeoutMs: agent.verification?.timeoutMs ?? 0,
  ...(agent.workingDir === "." ? {} : { cwd: agent.workingDir }),
  ...(agent.writablePaths === null ? {} : { writablePaths: agent.writablePaths }),
});

/** Codes with which a shell answers if it cannot run a command or does not find it. */
const notRunnable: readonly number[] = [126, 127];

const checkOutcomeOf = ({ text, exitCode, reason }: CommandResult): CheckOutcome => {
  const isRun = reason === "timeout" || (reason === "exited" && !notRunnable.includes(exitCode));
  if (!isRun) return { is: "error", exitCode, output: text };
  return { is: reason === "exited" && exitCode === 0 ? "passed" : "failed", exitCode, output: text };
};

const lostOutcome: CheckOutcome = { is: "error", output: "the sandbox lost the command" };

/** Returns the stored command, or finds and stores it; null if there is none, or the check is no longer wanted. */
const prepareCommand = async (
  context: WorkContext,
  sandbox: Sandbox,
  check: Check,
): Promise<CheckCommand | null> => {
  const { work } = check;
  if (work.command !== null) return work.command;
  const agent = context.host.agent(check.thread);
  const { command = "", broad = "" } = agent.verification ?? {};
  const given = work.what === "broad" ? broad : command;
  const text = given === "" ? await detectCommand(sandbox, agent.workingDir) : given;
  if (text === null) return null;
  const exec = execIdOf(keyOf(check.run, work));
  const started = { text, exec, instance: await sandbox.instance() };
  context.stop.signal().throwIfAborted();
  settleIfChecking(context, check, (draft) => startCheckCommand(draft, started));
  return isChecking(context.host.read(), check) ? started : null;
};

const runCheck = async (context: WorkContext, sandbox: Sandbox, check: Check): Promise<CheckOutcome> => {
  const signal = context.stop.signal();
  const command = await prepareCommand(context, sandbox, check);
  if (command === null) return { is: "no_command" };
  const { exec: execId, instance: noted } = command;
  const isNew = check.work.command === null;
  const found = isNew ? "not_started" : await locateCommand(sandbox, { execId, noted }, signal);
  if (found === "unknown") return lostOutcome;
  const request = requestOf(context.host.agent(check.thread), command);
  // A command is followed by the clock of this isolate, whatever clock the session has.
  const deadline = Date.now() + (request.timeoutMs ?? 0) + commandMargin;
  const known = found === "known";
  const end = await followCommand(sandbox, { request, known, deadline, signal, show: () => undefined });
  return end === null ? lostOutcome : checkOutcomeOf(end);
};

const createWait = ({ host, stop }: WorkContext): CapacityWait => ({
  now: () => host.now(),
  pause: (ms) =>
    new Promise((resolve) => {
      const timer = host.after(ms, resolve);
      stop.whenAsked(() => {
        timer.cancel();
        resolve();
      });
    }),
  signal: stop.signal(),
});

/** Runs the command; returns null if its outcome is no longer wanted. */
const tryCheck = async (context: WorkContext, check: Check): Promise<CheckOutcome | null> => {
  const { host, stop } = context;
  const sandbox = host.sandbox().as(check.thread);
  try {
    return await awaitCapacity(createWait(context), () =>
      runCheck(context, sandbox, findCheck(host.read(), check.thread) ?? check),
    );
  } catch (error) {
    if (stop.asked()) return null;
    if (!(error instanceof SandboxError)) throw error;
    return { is: "error", output: error.message };
  }
};

/** Runs the check that the state says is at work. Its command may write, so that no cached result outlives it. */
export const runVerification = async (context: WorkContext, threadId: string): Promise<void> => {
  const { host, cache } = context;
  const check = findCheck(host.read(), threadId);
  if (check === null) return;
  cache.clear();
  const outcome = await tryCheck(context, check);
  cache.clear();
  if (outcome === null) return;
  const safe = host.redactor.value(outcome);
  settleIfChecking(context, check, (draft) => applyVerification(draft, safe));
};

/** Finds the command that tests a project by the files in its folder. */

/** Bytes that are read of a file. */
const mostBytes = 1_048_576;

interface Sign {
  readonly file: string;
  readonly command: string;
  /** Returns whether the file's text asks for the command; if omitted, its presence does. */
  readonly fits?: (text: string) => boolean;
}

const hasTestScript = (text: string): boolean => {
  const json = parseJson(text);
  const scripts = isJsonObject(json) ? json["scripts"] : null;
  return isJsonObject(scripts) && typeof scripts["test"] === "string" && scripts["test"] !== "";
};

/** A rule of a Makefile may name several targets before its colon. */
const hasTestTarget = (text: string): boolean =>
  text.split("\n").some((line) => {
    const [, targets = ""] = /^([^\s:=#][^:=#]*):(?!:*=)/.exec(line) ?? [];
    return targets.split(/\s+/).includes("test");
  });

/** Lists the signs in the order in which they are looked for. */
const signs: readonly Sign[] = [
  { file: "go.mod", command: "go test ./..." },
  { file: "Cargo.toml", command: "cargo test" },
  { file: "package.json", command: "npm test", fits: hasTestScript },
  { file: "Makefile", command: "make test", fits: hasTestTarget },
  { file: "pytest.ini", command: "pytest" },
  { file: "pyproject.toml", command: "pytest", fits: (text) => /^[ \t]*\[tool\.pytest/m.test(text) },
];

/** Returns the command of the first sign in a folder of the workspace, or null if there is none. */
const detectCommand = async (sandbox: Sandbox, folder: string): Promise<string | null> => {
  const entries = await readOrDefault(sandbox.list(folder), []);
  const names = entries.flatMap(({ name, type }) => (type === "directory" ? [] : [name]));
  for (const { file, command, fits } of signs) {
    if (!names.includes(file)) continue;
    if (fits === undefined || fits(await readText(sandbox, `${folder}/${file}`, mostBytes))) return command;
  }
  return null;
};
