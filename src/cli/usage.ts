import { parseArgs } from "node:util";
import { createNearestFinder } from "../config/document/suggest.ts";
import type { Person } from "./client/person.ts";

/** Reads the command line and reports mistakes in it. */

export const usageText = `limpet <command>

  validate [team…] [--strict] [--json]     check teams; all of them by default
  build <team…> | --all [--json] [--lock-mcp]
                                           check teams and write .limpet/<team>/; --lock-mcp first asks their MCP
                                           servers for their tools and writes what they are to mcp.lock.json
  build-shell                              write .limpet/shell.js and git.js for the sandbox Worker; build does so too
  build-client                             write dist/client.js, and what of the client follows from the operations
  new-team <name> [--from team | --import file-or-folder]
                                           make config/<name>/ and its environment in wrangler.toml: a copy of a
                                           team, or what Shelly's file or .shelly folder comes to
  explain <team> [agent] [--all] [--json]  what a team comes to, each value with its origin; --all shows defaults, too
  explain --kinds                          known kinds and built-in toolboxes
  explain --effects                        effects with their parameters, as the table of the documentation
  explain --tools [--json]                 built-in tools with their arguments
  deploy <team> [--dry-run]                check a team and its secrets, then deploy its sandbox and its Worker;
                                           --dry-run stops before anything leaves this machine

With a running server (npm start, or --url and --key, or LIMPET_URL and LIMPET_KEY; all take --json):

  chat [session] [--agent name]            talk with a session, or with a new one: replies stream, calls are a line each,
                                           called agents are indented, asks are answered in place; Ctrl-C cancels the
                                           run, once more leaves, and so does /quit; a piped line waits for the run
                                           before it, or answers what is asked
  send <session|new> <text> [--wait] [--on-busy mode] [--agent name]
                                           hand over a message; --wait prints the answer, 300 s at most; modes:
                                           reject, queue, steer, interrupt, rollback
  tail <session> [--all] [--after n]       follow what happens, one line an event: tools, errors, checks, asks, ends of
                                           runs; --all shows every type, --after 0 begins with the first event
  sessions [--agent name] [--limit n] [--cursor c]
                                           the newest sessions: id, status, agent, last activity, model calls, cost,
                                           title; 50 of them, or up to 200 with --limit; where there are more, the last
                                           line has the cursor
  asks [session]                           what people are asked, in one session or in all, and how it is answered
  answer <session> <ask> <decision> [text] [--remember session|agent] [--limit n]
                                           approve, deny [reason], edit <json>, answer <text>, result <json>, cancel
  cancel <session> [--after-turn]          cancel the run, at once or when its turn has ended
  export <session>                         every event as a line of JSON
  keys [list | create --scopes a,b [--name n] [--tenant t] | revoke <id>]
                                           API keys; a new one is shown once

Exit codes: 0 fine, 1 diagnostics or a refusal or a failed run, 2 usage, 3 files or the server could not be reached,
4 the run waits for an answer or still goes on.`;

/** Formats the effect of a command's form below it, while the help of all commands has it beside it. */
const formatForm = (form: string): string => {
  const [usage = "", ...words] = form.trim().split(/ {2,}|\n +/);
  return [`limpet ${usage}`, ...words.map((line) => `  ${line}`)].join("\n");
};

/** Returns the help of a command: each of its forms with its effect. */
export const helpOf = (command: string): string =>
  usageText
    .split(/\n(?= {2}\S|\S)/)
    .filter((entry) => new RegExp(`^ {2}${command}( |$)`, "m").test(entry.split("\n")[0] ?? ""))
    .map(formatForm)
    .join("\n");

/** Exit codes of every command. */
export const exitCodes = { fine: 0, diagnostics: 1, usage: 2, io: 3, unfinished: 4 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Error of a file that is not what it has to be; its message says where and why. */
export class InvalidFileError extends Error {}

/** Environment of a command; tests supply their own. */
export interface Terminal {
  /** Folder that holds `config/` and `wrangler.toml`. */
  readonly root: string;
  readonly print: (line: string) => void;
  /** Whether `wrangler dev` runs the command, which holds every request while its build fails. */
  readonly serving?: boolean;
  /** Person of the command; set by tests, otherwise the caller of the process. */
  readonly person?: Person;
}

/** Prints the mistake in a command line, and where its help is; `command` is the intended one. */
export const refuseUsage = (terminal: Terminal, problem: string, command?: string): ExitCode => {
  const help =
    command === undefined ? "limpet --help lists the commands" : `limpet ${command} --help lists its options`;
  terminal.print(`${problem}\n${help}`);
  return exitCodes.usage;
};

const flagOptions = {
  strict: { type: "boolean" },
  json: { type: "boolean" },
  all: { type: "boolean" },
  kinds: { type: "boolean" },
  effects: { type: "boolean" },
  tools: { type: "boolean" },
  "lock-mcp": { type: "boolean" },
  from: { type: "string" },
  import: { type: "string" },
  "dry-run": { type: "boolean" },
  url: { type: "string" },
  key: { type: "string" },
  agent: { type: "string" },
  wait: { type: "boolean" },
  "on-busy": { type: "string" },
  after: { type: "string" },
  "after-turn": { type: "boolean" },
  remember: { type: "string" },
  limit: { type: "string" },
  cursor: { type: "string" },
  scopes: { type: "string" },
  name: { type: "string" },
  tenant: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

const parseFlags = (given: readonly string[]) =>
  parseArgs({ args: [...given], options: flagOptions, allowPositionals: true });

/** Returns the command of a line whose options may be wrong. */
const findCommand = (given: readonly string[]): string | undefined =>
  parseArgs({ args: [...given], options: flagOptions, allowPositionals: true, strict: false }).positionals[0];

export interface CommandArguments {
  readonly command: string | undefined;
  readonly names: readonly string[];
  readonly flags: ReturnType<typeof parseFlags>["values"];
}

/** Flags of every command for a server. */
const remoteFlags = ["url", "key", "json"];

const allowedFlags: Readonly<Record<string, readonly string[]>> = {
  validate: ["strict", "json"],
  build: ["all", "json", "lock-mcp"],
  "build-shell": [],
  "build-client": [],
  "new-team": ["from", "import"],
  explain: ["kinds", "effects", "tools", "all", "json"],
  deploy: ["dry-run"],
  chat: [...remoteFlags, "agent"],
  send: [...remoteFlags, "agent", "wait", "on-busy"],
  tail: [...remoteFlags, "all", "after"],
  sessions: [...remoteFlags, "agent", "limit", "cursor"],
  asks: remoteFlags,
  answer: [...remoteFlags, "remember", "limit"],
  cancel: [...remoteFlags, "after-turn"],
  export: remoteFlags,
  keys: [...remoteFlags, "scopes", "name", "tenant"],
};

export type ParsedCommandLine =
  | { readonly ok: true; readonly arguments: CommandArguments }
  /** Mistake; `command` is the intended one, if there is such a command. */
  | { readonly ok: false; readonly problem: string; readonly command?: string };

const nearestOf = (name: string, known: readonly string[], prefix = ""): string => {
  const begun = known.find((each) => each.startsWith(`${name}-`));
  const near = createNearestFinder(known)(name) ?? begun;
  return near === undefined ? "" : `; did you mean "${prefix}${near}"?`;
};

const foreignOption = (command: string | undefined, option: string): string => {
  const known = command === undefined ? Object.keys(flagOptions) : (allowedFlags[command] ?? []);
  const problem =
    command === undefined ? `there is no option ${option}` : `${command} does not accept ${option}`;
  return problem + nearestOf(option.replace(/^-+/, ""), known, "--");
};

/** Returns the mistake in options that could not be parsed. */
const explainOptions = (error: unknown, command: string | undefined): string => {
  const message = error instanceof Error ? error.message : "these arguments cannot be read";
  const [, unknown] = /^Unknown option '([^']+)'/.exec(message) ?? [];
  if (unknown !== undefined) return foreignOption(command, unknown);
  const [, option] = /^Option '(?:-\w, )?(--[\w-]+)/.exec(message) ?? [];
  if (option === undefined) return message;
  return message.includes("does not take an argument")
    ? `${option} accepts no value`
    : `${option} needs a value`;
};

/** Parses arguments strictly: an unknown command or option is an error. */
export const parseCommandLine = (given: readonly string[]): ParsedCommandLine => {
  const found = findCommand(given);
  if (found !== undefined && !Object.hasOwn(allowedFlags, found))
    return { ok: false, problem: `unknown command "${found}"${nearestOf(found, Object.keys(allowedFlags))}` };
  const refuse = (problem: string): ParsedCommandLine => ({
    ok: false,
    problem,
    ...(found === undefined ? {} : { command: found }),
  });
  let parsed;
  try {
    parsed = parseFlags(given);
  } catch (error) {
    return refuse(explainOptions(error, found));
  }
  const [command, ...names] = parsed.positionals;
  const wrong = Object.keys(parsed.values).find(
    (flag) => flag !== "help" && command !== undefined && !(allowedFlags[command] ?? []).includes(flag),
  );
  if (wrong !== undefined) return refuse(foreignOption(command, `--${wrong}`));
  return { ok: true, arguments: { command, names, flags: { ...parsed.values } } };
};
