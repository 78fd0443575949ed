import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { parse, TomlError } from "smol-toml";
import { InvalidFileError } from "./usage.ts";

/** Reads a team's environment from `wrangler.toml`, and the variables for this machine beside it. */

type Table = Readonly<Record<string, unknown>>;

export interface WranglerFile {
  readonly text: string;
  readonly content: Table;
}

/** Returns the text of a file, empty if there is none; a folder in its place cannot be read, nor what is forbidden. */
const readText = (root: string, name: string): string => {
  const file = join(root, name);
  try {
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  } catch (fault) {
    throw new InvalidFileError(
      `${name} cannot be read: ${fault instanceof Error ? fault.message : String(fault)}`,
    );
  }
};

/** Returns the text and content of `wrangler.toml`, both empty if there is none; throws where it is no TOML. */
export const readWranglerFile = (root: string): WranglerFile => {
  const text = readText(root, "wrangler.toml");
  try {
    return { text, content: parse(text) };
  } catch (fault) {
    if (!(fault instanceof TomlError)) throw fault;
    const [reason = ""] = fault.message.split("\n");
    throw new InvalidFileError(`wrangler.toml:${fault.line}:${fault.column} cannot be read: ${reason}`);
  }
};

const asTable = (value: unknown): Table =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const environmentsOf = ({ content }: WranglerFile): Table => asTable(content["env"]);

/** Returns a team's keys: those of its environment, or for `default` all outside environments. */
const keysOf = (file: WranglerFile, team: string): Table => {
  if (team !== "default") return asTable(environmentsOf(file)[team]);
  const { env: _, ...outside } = file.content;
  return outside;
};

/** Lists the tables in a value that declare a binding. */
const bindingsIn = (value: unknown): readonly Table[] => {
  if (Array.isArray(value)) return value.flatMap(bindingsIn);
  const table = asTable(value);
  return "binding" in table ? [table] : Object.values(table).flatMap(bindingsIn);
};

/** Placeholder for a binding that a deployment will have. */
const bound = { fetch: () => Promise.reject(new Error("nothing is deployed here")) };

/** Returns those of the named bindings that a team has, for an engine that runs nothing. */
export const readBindings = (
  file: WranglerFile,
  team: string,
  names: readonly string[],
): Readonly<Record<string, unknown>> => {
  const declared = new Set(bindingsIn(keysOf(file, team)).map(({ binding }) => binding));
  return Object.fromEntries(names.filter((name) => declared.has(name)).map((name) => [name, bound]));
};

/** Lists the classes of the Worker's Durable Objects; all teams have the same. */
export const readObjectNames = ({ content }: WranglerFile): readonly string[] =>
  Object.keys(asTable(content["exports"]));

/** Returns the name of the Worker that is bound as the team's sandbox; null if there is none. */
export const readSandboxName = (file: WranglerFile, team: string): string | null => {
  const entry = bindingsIn(keysOf(file, team)["services"]).find(({ binding }) => binding === "SANDBOX");
  return typeof entry?.["service"] === "string" ? entry["service"] : null;
};

/** Returns the port at which wrangler serves on this machine; null if the file names none. */
export const readDevPort = ({ content }: WranglerFile): string | null => {
  const { port } = asTable(content["dev"]);
  return typeof port === "number" ? String(port) : null;
};

/** Returns the line at which a team's environment begins, 1 if it is in no line of its own; null if there is none. */
export const findEnvironment = (file: WranglerFile, team: string): number | null => {
  if (!Object.hasOwn(environmentsOf(file), team)) return null;
  const begin = new RegExp(String.raw`^[^\S\n]*\[*\s*env\s*\.\s*["']?${team}["']?\s*[.\]=]`, "m");
  return file.text.slice(0, Math.max(0, file.text.search(begin))).split("\n").length;
};

/** Returns the line of an environment by which wrangler builds its team, and builds it again after a change. */
export const buildLine = (team: string): string =>
  `build = { command = "npm run -s limpet -- build ${team}", watch_dir = ["config", ".limpet/console.sha256"] }`;

/** Returns whether a build command of wrangler.toml is one of limpet's that leaves a team out. */
const leavesOut = (command: unknown, team: string): boolean => {
  const [, words] = /\blimpet(?: --)? build\b(.*)/.exec(String(command)) ?? [];
  return words !== undefined && !words.split(/\s+/).some((word) => word === team || word === "--all");
};

/**
 * Returns the problem of an environment that would serve another team, or an old build of its own: wrangler takes
 * the keys that it does not have from the beginning of the file. Null if there is none, or no such environment.
 */
export const findEntryProblem = (file: WranglerFile, team: string): string | null => {
  if (team === "default" || findEnvironment(file, team) === null) return null;
  const { main, build } = keysOf(file, team);
  const own = `main = ".limpet/${team}/worker.js"`;
  const place = `[env.${team}] in wrangler.toml`;
  if (main === undefined)
    return `${place} lacks the key main, so wrangler would use that of team default: add ${own}.`;
  const [, other = team] =
    /(?:^|\/)\.limpet\/([^/]+)\/worker\.js$/.exec(typeof main === "string" ? main : "") ?? [];
  if (other !== team) return `${place} names the Worker of team ${other}: write ${own}.`;
  if (!leavesOut(asTable(build ?? file.content["build"])["command"], team)) return null;
  return build === undefined
    ? `${place} lacks the key build, so wrangler would not build ${team}: add ${buildLine(team)}.`
    : `${place} builds another team, so changes of ${team} would not be seen: write ${buildLine(team)}.`;
};

/** Names that a team's environment declares. */
interface EnvironmentNames {
  /** Secrets that must be set; null if the environment does not list any, so that wrangler reads all. */
  readonly secrets: ReadonlySet<string> | null;
  readonly variables: ReadonlySet<string>;
}

/** Returns the variables of a team's environment, which a deployment has, too. */
export const readVariables = (file: WranglerFile, team: string): Table => asTable(keysOf(file, team)["vars"]);

/** Reads the variables that `npm start` passes to a team: those of its own file, or else of the one for all teams. */
export const readDevVars = (root: string, team: string): NodeJS.Dict<string> => {
  const name = [`.dev.vars.${team}`, ".dev.vars"].find((each) => existsSync(join(root, each)));
  return name === undefined ? {} : parseEnv(readText(root, name));
};

/** Reads which secrets and variables a team's environment declares. */
export const readDeclaredNames = (file: WranglerFile, team: string): EnvironmentNames => {
  const { required } = asTable(keysOf(file, team)["secrets"]);
  return {
    secrets: required === undefined ? null : new Set(asList(required).map(String)),
    variables: new Set(Object.keys(readVariables(file, team))),
  };
};
