import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Reads a team's environment from `wrangler.toml`. */

/** Returns the text of `wrangler.toml`; empty if there is none. */
export const readWranglerFile = (root: string): string => {
  const file = join(root, "wrangler.toml");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
};

/** Returns the text of a team's tables: its environment, or for `default` all outside environments. */
const tablesOf = (toml: string, team: string): readonly string[] =>
  toml.split(/^(?=\s*\[)/m).filter((table) => {
    const [, environment] = /^\s*\[+\s*env\s*\.\s*"?([\w-]+)/.exec(table) ?? [];
    return team === "default" ? environment === undefined : environment === team;
  });

/** Placeholder for a binding that a deployment will have. */
const bound = { fetch: () => Promise.reject(new Error("nothing is deployed here")) };

/** Returns those of the named bindings that a team has, for an engine that runs nothing. */
export const readBindings = (
  toml: string,
  team: string,
  names: readonly string[],
): Readonly<Record<string, unknown>> => {
  const tables = tablesOf(toml, team).join("");
  const found = names.filter((name) => new RegExp(String.raw`binding\s*=\s*["']${name}["']`).test(tables));
  return Object.fromEntries(found.map((name) => [name, bound]));
};

/** Lists the classes of the Worker's Durable Objects; all teams have the same. */
export const readObjectNames = (toml: string): readonly string[] =>
  Array.from(toml.matchAll(/^\[exports\.(\w+)\]$/gm), ([, name = ""]) => name);

/** Returns the name of the Worker that is bound as the team's sandbox; null if there is none. */
export const readSandboxName = (toml: string, team: string): string | null => {
  // A binding is a separate table, or written in braces.
  const entries = tablesOf(toml, team).flatMap((table) => table.match(/\{[^{}]*\}/g) ?? [table]);
  const entry = entries.find((text) => /binding\s*=\s*["']SANDBOX["']/.test(text));
  return /service\s*=\s*["']([^"']+)["']/.exec(entry ?? "")?.[1] ?? null;
};

/** Returns the line at which a team's environment begins, in any notation; null if the file has none. */
export const findEnvironment = (toml: string, team: string): number | null => {
  const table = new RegExp(String.raw`^[^\S\n]*\[+\s*env\s*\.\s*"?${team}"?\s*[.\]]`, "m");
  const key = new RegExp(String.raw`^[^\S\n]*env\s*\.\s*"?${team}"?\s*[.=]`, "m");
  const at = [table, key].map((pattern) => toml.search(pattern)).find((found) => found >= 0);
  return at === undefined ? null : toml.slice(0, at).split("\n").length;
};

/**
 * Returns the problem of an environment that names no entry point: wrangler then uses the first one of the file,
 * which is another team's. Null if it names one, or if it is not a table.
 */
export const findEntryProblem = (toml: string, team: string): string | null => {
  if (team === "default" || tablesOf(toml, team).length === 0) return null;
  const own = new RegExp(String.raw`^\s*\[\s*env\s*\.\s*"?${team}"?\s*\]`);
  const table = tablesOf(toml, team).find((text) => own.test(text)) ?? "";
  const dotted = new RegExp(String.raw`^\s*env\s*\.\s*"?${team}"?\s*\.\s*main\s*=`, "m");
  if (/^\s*main\s*=/m.test(table) || dotted.test(toml)) return null;
  return `[env.${team}] in wrangler.toml lacks the key main, so wrangler would use that of team default: add main = ".limpet/${team}/worker.js".`;
};

/** Names that a team's environment declares. */
interface EnvironmentNames {
  /** Secrets that must be set; null if the environment does not list any, so that wrangler reads all. */
  readonly secrets: ReadonlySet<string> | null;
  readonly variables: ReadonlySet<string>;
}

const keysOf = (text: string): readonly string[] =>
  Array.from(text.matchAll(/([A-Za-z_]\w*)\s*=/g), ([, key = ""]) => key);

/** Returns the variables that a table declares, as `[vars]` or as `vars = { … }`. */
const variablesIn = (table: string): readonly string[] => {
  const [head = "", ...lines] = table.split("\n");
  if (/^\s*\[(?:.*\.)?\s*vars\s*\]/.test(head)) return lines.flatMap((line) => keysOf(line).slice(0, 1));
  return keysOf(/^\s*vars\s*=\s*\{([^}]*)\}/m.exec(table)?.[1] ?? "");
};

/** Reads which secrets and variables a team's environment declares. */
export const readDeclaredNames = (toml: string, team: string): EnvironmentNames => {
  const tables = tablesOf(toml, team);
  const [, required] = /\brequired\s*=\s*\[([^\]]*)\]/.exec(tables.join("")) ?? [];
  const names = required?.match(/[A-Za-z_]\w*/g) ?? [];
  return {
    secrets: required === undefined ? null : new Set(names),
    variables: new Set(tables.flatMap(variablesIn)),
  };
};
