import { parseArgs } from "node:util";

/** This file reads the command line and prints what is wrong with it. */

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
  explain <team> [agent] [--json]          what a team comes to, each value with its origin
  explain --kinds                          known kinds and built-in toolboxes
  explain --effects                        effects with their parameters, as the table of the documentation
  deploy <team> [--dry-run]                check a team and its secrets, then deploy its sandbox and its Worker;
                                           --dry-run stops before anything leaves this machine

Exit codes: 0 fine, 1 diagnostics, 2 usage, 3 files could not be read or written.`;

/** Lists the exit codes of every command. */
export const exitCodes = { fine: 0, diagnostics: 1, usage: 2, io: 3 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Defines what a command works with; tests supply their own. */
export interface Terminal {
  /** Names the folder that holds `config/` and `wrangler.toml`. */
  readonly root: string;
  readonly print: (line: string) => void;
  /** Is true if `wrangler dev` runs the command, which holds every request while its build fails. */
  readonly serving?: boolean;
}

const flagOptions = {
  strict: { type: "boolean" },
  json: { type: "boolean" },
  all: { type: "boolean" },
  kinds: { type: "boolean" },
  effects: { type: "boolean" },
  "lock-mcp": { type: "boolean" },
  from: { type: "string" },
  import: { type: "string" },
  "dry-run": { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

const parseFlags = (given: readonly string[]) =>
  parseArgs({ args: [...given], options: flagOptions, allowPositionals: true });

export interface CommandArguments {
  readonly command: string | undefined;
  readonly names: readonly string[];
  readonly flags: ReturnType<typeof parseFlags>["values"];
}

const allowedFlags: Readonly<Record<string, readonly string[]>> = {
  validate: ["strict", "json"],
  build: ["all", "json", "lock-mcp"],
  "new-team": ["from", "import"],
  explain: ["kinds", "effects", "json"],
  deploy: ["dry-run"],
};

export type ParsedCommandLine =
  | { readonly ok: true; readonly arguments: CommandArguments }
  | { readonly ok: false; readonly problem: string };

/** Parses arguments strictly: an option that the command does not know is a mistake. */
export const parseCommandLine = (given: readonly string[]): ParsedCommandLine => {
  let parsed;
  try {
    parsed = parseFlags(given);
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : "these arguments cannot be read" };
  }
  const [command, ...names] = parsed.positionals;
  const wrong = Object.keys(parsed.values).find(
    (flag) => flag !== "help" && command !== undefined && !(allowedFlags[command] ?? []).includes(flag),
  );
  if (wrong !== undefined) return { ok: false, problem: `${String(command)} does not take --${wrong}` };
  return { ok: true, arguments: { command, names, flags: { ...parsed.values } } };
};
