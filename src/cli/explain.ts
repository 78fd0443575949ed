import type { ExplainedValue } from "../config/explain/explain.ts";
import { explainAgent, explainContext, explainKinds, explainTeam } from "../config/explain/explain.ts";
import { toolLines } from "../config/explain/explain-arguments.ts";
import { effectsTable } from "../config/explain/explain-effects.ts";
import type { ExtensionModule } from "../config/extensions.ts";
import { builtInToolboxDefinitions as builtIn, builtInToolSchemas } from "../config/known.ts";
import type { Toolbox } from "../config/known.ts";
import { suggestFor } from "../config/document/suggest.ts";
import { createEngine } from "../engine/create.ts";
import type { Engine } from "../engine/engine.ts";
import { readBindings, readWranglerFile } from "./bindings.ts";
import { compileFolder, printDiagnostics } from "./compile.ts";
import type { CommandArguments, ExitCode, Terminal } from "./usage.ts";
import { exitCodes } from "./usage.ts";

/** Implements `limpet explain`, which shows a team's effective values, each with its origin. */

/** Lists the built-in toolboxes and those of a team's extensions, which its compilation has checked. */
const toolboxesOf = (extensions: ExtensionModule | undefined): readonly Toolbox[] => {
  const own =
    extensions !== undefined && "exports" in extensions ? extensions.exports["toolboxes"] : undefined;
  return [...builtIn, ...(Array.isArray(own) ? (own as Toolbox[]) : [])];
};

/** Formats a value on one line. */
const valueText = (value: unknown): string =>
  typeof value === "string" && !/[\r\n]/.test(value) ? value : JSON.stringify(value);

/** Formats rows under their sections, with keys and origins in columns. */
const formatTable = (rows: readonly ExplainedValue[]): string[] => {
  const keys = Math.min(40, Math.max(0, ...rows.map(({ key }) => key.length)));
  const lines: string[] = [];
  let section = "";
  for (const row of rows) {
    if (row.section !== section) {
      section = row.section;
      lines.push(`  ${section}`);
    }
    lines.push(`    ${row.key.padEnd(keys)}  ${valueText(row.value)}  [${row.origin}]`);
  }
  return lines;
};

const printKinds = (terminal: Terminal, json: boolean): ExitCode => {
  const kinds = explainKinds();
  if (json) {
    terminal.print(JSON.stringify(kinds));
    return exitCodes.fine;
  }
  for (const [subject, entries] of Object.entries(kinds)) {
    terminal.print(subject);
    for (const [name, value] of Object.entries(entries)) {
      const note = value.join(" ");
      terminal.print(`  ${name}  ${note}`.trimEnd());
    }
  }
  return exitCodes.fine;
};

const printEffects = (terminal: Terminal): ExitCode => {
  terminal.print(effectsTable());
  return exitCodes.fine;
};

const printTools = (terminal: Terminal, json: boolean): ExitCode => {
  if (json) terminal.print(JSON.stringify(builtInToolSchemas()));
  else for (const line of toolLines()) terminal.print(line);
  return exitCodes.fine;
};

/** Prints what is the same for all teams, if that is asked for. */
const printGeneral = (
  terminal: Terminal,
  { kinds, effects, tools, json }: CommandArguments["flags"],
): ExitCode | null => {
  if (kinds === true) return printKinds(terminal, json === true);
  if (effects === true) return printEffects(terminal);
  return tools === true ? printTools(terminal, json === true) : null;
};

interface ExplainedRows {
  /** `team` with its name and revision, or `agent` with its name. */
  readonly title: string;
  readonly rows: readonly ExplainedValue[];
}

/** Prints the values that somebody wrote or that follow from those; with `all` those of defaults, too. */
const printRows = (terminal: Terminal, explained: readonly ExplainedRows[], all: boolean): void => {
  let left = 0;
  for (const { title, rows } of explained) {
    const shown = all ? rows : rows.filter(({ origin }) => origin !== "default");
    left += rows.length - shown.length;
    terminal.print(title);
    for (const line of formatTable(shown)) terminal.print(line);
  }
  if (left > 0) terminal.print(`${left} other values have their defaults; --all shows them`);
};

/** Reads the bindings of the team's environment. */
const bindingsOf = (root: string, team: string): Readonly<Record<string, unknown>> =>
  readBindings(readWranglerFile(root), team, ["SANDBOX", "BROWSER"]);

const unservedRows = ({ unserved }: Engine, name: string): readonly ExplainedValue[] =>
  unserved
    .filter(({ agent }) => agent === name)
    .map(({ toolbox, reason }) => ({
      section: "unavailable",
      key: toolbox,
      value: reason,
      origin: "wrangler.toml",
    }));

export const runExplain = async (
  terminal: Terminal,
  { names, flags }: CommandArguments,
): Promise<ExitCode> => {
  const general = printGeneral(terminal, flags);
  if (general !== null) return general;
  const json = flags.json === true;
  const [name = "", wanted] = names;
  const { team, draft, diagnostics, context, extensions } = await compileFolder(terminal.root, name);
  if (team === null || draft === null) {
    printDiagnostics(terminal, diagnostics, json);
    return exitCodes.diagnostics;
  }
  const known = team.agents.map((agent) => agent.name);
  if (wanted !== undefined && !known.includes(wanted)) {
    terminal.print(`${name} has no agent ${wanted}; ${suggestFor(wanted, known) ?? ""}`);
    return exitCodes.usage;
  }
  const shown = wanted === undefined ? known : [wanted];
  const env = bindingsOf(terminal.root, name);
  const engine = createEngine({ team, env, toolboxes: toolboxesOf(extensions) });
  const agents = shown.map((agent) => ({
    agent,
    rows: [
      ...explainAgent(draft, team, agent, engine.toolsOf(agent), Date.now(), engine.callsOf(agent)),
      ...explainContext(context),
      ...unservedRows(engine, agent),
    ],
  }));
  const ofTeam = wanted === undefined ? explainTeam(draft, team) : [];
  if (json) {
    const { revision } = team;
    terminal.print(JSON.stringify({ team: name, revision, general: ofTeam, agents, warnings: diagnostics }));
    return exitCodes.fine;
  }
  const title = `team ${name} ${team.revision}; durations in milliseconds, sizes in bytes`;
  const explained = agents.map(({ agent, rows }) => ({ title: `agent ${agent}`, rows }));
  printRows(terminal, [{ title, rows: ofTeam }, ...explained], flags.all === true);
  printDiagnostics(terminal, diagnostics, false);
  return exitCodes.fine;
};
