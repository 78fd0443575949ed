import { createClient, LimpetError } from "../../client/index.ts";
import type { CommandArguments, ExitCode, Terminal } from "../usage.ts";
import { exitCodes, helpOf } from "../usage.ts";
import { remoteCommands } from "./commands.ts";
import type { RemoteContext } from "./context.ts";
import { UsageError } from "./context.ts";
import { createFetch } from "./fetch.ts";
import { processPerson } from "./person.ts";
import { toPlainText } from "./plain.ts";

/** Runs a command against a running deployment, and explains how to fix a failure. */

const localServer = "http://localhost:8787";

interface Deployment {
  readonly url: string;
  readonly key: string | undefined;
}

interface Explanation {
  readonly line: string;
  readonly code: ExitCode;
}

/** Returns the line about a name that the server does not have, or null if the command line has no such name. */
const missingLine = ({ command, names }: CommandArguments): string | null => {
  const [first = "new", second] = names.map(toPlainText);
  if (command === "keys")
    return second === undefined
      ? null
      : `Key ${second} was not found, or is revoked already; limpet keys lists those there are.`;
  if (command === "answer")
    return `Ask ${String(second)} of session ${first} was not found; limpet asks lists the open ones.`;
  return first === "new"
    ? null
    : `Session ${first} was not found; limpet sessions lists those that you can reach.`;
};

/** Returns whether a problem reports only that something is missing, without a field or an address. */
const isPlainlyMissing = ({ code, errors, meta }: LimpetError["problem"]): boolean =>
  code === "not_found" && errors === undefined && meta === undefined;

const explainProblem = (
  { problem }: LimpetError,
  { url, key }: Deployment,
  given: CommandArguments,
): Explanation => {
  const named = "by --url or LIMPET_URL";
  if (problem.code === "server_silent") {
    const line = `${url} takes the request and does not answer it: try again, or name another ${named}.`;
    return { line, code: exitCodes.io };
  }
  if (problem.code === "unreadable_answer") return { line: problem.detail, code: exitCodes.io };
  if (problem.code === "unreachable") {
    const way =
      url === localServer ? "start one with npm start, or name another" : "is that its address? Name another";
    return { line: `No server answers at ${url}: ${way} ${named}.`, code: exitCodes.io };
  }
  if (problem.status === 401) {
    const why = key === undefined ? "it needs a key" : "the key is wrong, revoked or expired";
    return {
      line: `${url} refuses the request: ${why}; give one by --key or LIMPET_KEY.`,
      code: exitCodes.diagnostics,
    };
  }
  const missing = isPlainlyMissing(problem) ? missingLine(given) : null;
  return { line: missing ?? toPlainText(problem.detail), code: exitCodes.diagnostics };
};

/** Returns the line about a fault and its remedy; rethrows a fault that is not the caller's mistake. */
const explainFault = (fault: unknown, deployment: Deployment, given: CommandArguments): Explanation => {
  if (fault instanceof LimpetError) return explainProblem(fault, deployment, given);
  if (fault instanceof UsageError || fault instanceof TypeError)
    return { line: fault.message, code: exitCodes.usage };
  throw fault;
};

const countProblem = (command: string, count: number): string | null => {
  const [least, most] = remoteCommands[command]?.names ?? [0, 0];
  if (count >= least && count <= most) return null;
  const wanted = least === most ? String(least) : `${least} to ${most}`;
  return `takes ${wanted} ${wanted === "1" ? "word" : "words"} after its name`;
};

const namesProblem = (command: string, names: readonly string[]): string | null => {
  const [form = ""] = helpOf(command).split(/ {2,}|\n/);
  // An unset variable of a script becomes an empty word.
  const empty = names.indexOf("");
  const argument = form.match(/<[^>]+>|\[\w+\]/g)?.[empty] ?? "word";
  const problem =
    empty >= 0
      ? `got an empty ${argument}${argument.includes("session") ? "; limpet sessions lists the ids of sessions" : ""}`
      : countProblem(command, names.length);
  return problem === null ? null : `limpet ${command} ${problem}:\n  ${form}`;
};

/** Returns what is wrong with a key, which is never printed; null if it can be sent. */
const keyProblem = (key: string | undefined, flag: string | undefined): string | null => {
  if (key === undefined || /^[!-~]+$/.test(key)) return null;
  const name = flag === undefined ? "LIMPET_KEY" : "--key";
  return key === ""
    ? `${name} is empty`
    : `${name} is not a key: it contains a blank, a line break or another character that no key has`;
};

const addressProblem = (url: string): string | null =>
  /^https?:\/\//.test(url)
    ? null
    : `${toPlainText(url)} is not an address; write it with http:// or https://`;

/** Returns what is wrong with a command line or its deployment; null if nothing is. */
const findProblem = (
  { command = "", names, flags }: CommandArguments,
  { url, key }: Deployment,
): string | null => namesProblem(command, names) ?? addressProblem(url) ?? keyProblem(key, flags.key);

/** Runs a command against the deployment that the flags or the environment name, otherwise the local server. */
export const runRemote = async (terminal: Terminal, given: CommandArguments): Promise<ExitCode> => {
  const { command = "", names, flags } = given;
  const { person = processPerson } = terminal;
  const deployment: Deployment = {
    url: flags.url ?? person.env["LIMPET_URL"] ?? localServer,
    key: flags.key ?? person.env["LIMPET_KEY"],
  };
  const { url, key } = deployment;
  const show: RemoteContext["show"] = (value, lines) => {
    for (const line of flags.json === true ? [JSON.stringify(value)] : lines()) person.write(`${line}\n`);
  };
  // A variable of the shell holds for the copied line, too.
  const writeCommand: RemoteContext["writeCommand"] = (words) =>
    `npx limpet ${words}${flags.url === undefined ? "" : ` --url ${toPlainText(flags.url)}`}`;
  try {
    const problem = findProblem(given, deployment);
    if (problem !== null) throw new UsageError(problem);
    const client = createClient({
      url,
      fetch: createFetch(url),
      ...(key === undefined ? {} : { token: key }),
    });
    return (
      (await remoteCommands[command]?.run({ client, person, names, flags, show, writeCommand })) ??
      exitCodes.usage
    );
  } catch (fault) {
    const { line, code } = explainFault(fault, deployment, given);
    person.warn(line);
    return code;
  }
};
