/** This file reads from `wrangler.toml` which bindings a team's environment has. */

/** Returns the text of the tables that belong to a team: its environment, or for `default` all that is in none. */
const tablesOf = (toml: string, team: string): string =>
  toml
    .split(/^(?=\s*\[)/m)
    .filter((table) => {
      const [, environment] = /^\s*\[+\s*env\s*\.\s*"?([\w-]+)/.exec(table) ?? [];
      return team === "default" ? environment === undefined : environment === team;
    })
    .join("");

/** Stands for a binding that a deployment will have. */
const bound = { fetch: () => Promise.reject(new Error("nothing is deployed here")) };

/** Returns those of the named bindings that a team has, for an engine that runs nothing. */
export const readBindings = (
  toml: string,
  team: string,
  names: readonly string[],
): Readonly<Record<string, unknown>> => {
  const tables = tablesOf(toml, team);
  const found = names.filter((name) => new RegExp(String.raw`binding\s*=\s*["']${name}["']`).test(tables));
  return Object.fromEntries(found.map((name) => [name, bound]));
};
