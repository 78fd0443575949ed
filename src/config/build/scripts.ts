import type { ScriptNames } from "../../model/scripted/check.ts";
import { checkScript } from "../../model/scripted/check.ts";
import type { Script } from "../../model/scripted/schema.ts";
import { scriptSchema } from "../../model/scripted/schema.ts";
import { findWrongArguments } from "../checks/script-arguments.ts";
import type { Path } from "../document/diagnostics.ts";
import { formatPath } from "../document/diagnostics.ts";
import { readDocument } from "../document/document.ts";
import type { ShapeIssue } from "../document/issues.ts";
import { nodeAt, offsetOf } from "../document/located.ts";
import type { RemovedEntries } from "../document/removed-entries.ts";
import { writtenPath } from "../document/removed-entries.ts";
import { parseLeniently } from "../document/shape.ts";
import { suggestFor } from "../document/suggest.ts";
import type { TeamDraft, ListEntry, ProviderShape } from "../draft.ts";
import { scriptFile } from "./files-map.ts";
import type { FolderReport, TeamFiles } from "./files-map.ts";

/** Reads the scripts of scripted providers, from files of the team folder or inline. */

type ReportScriptProblem = (
  path: Path,
  message: string,
  hint?: string,
  which?: "key" | "value" | "missing",
) => void;

const clientToolHint = "a tool that the session's client brings is named in client_tools of the script";

/** Checks a script's meaning; an apparently missing part may be the `misshapen` one. */
const checkMeaning = (
  script: Script,
  names: ScriptNames,
  problem: ReportScriptProblem,
  misshapen: boolean,
): void => {
  for (const { path, message, unknown } of checkScript(script, names)) {
    if (misshapen && (path.length === 0 || unknown?.kind === "scene")) continue;
    const hint = unknown && suggestFor(unknown.name, [...unknown.known]);
    problem(path, message, unknown?.kind === "tool" ? (hint ?? clientToolHint) : hint);
  }
};

/** Reads a script file; returns null, with diagnostics, if it cannot be used. */
const readScriptFile = (
  { definitions }: TeamDraft,
  report: FolderReport,
  [path, content]: readonly [string, string | Uint8Array],
  names: ScriptNames,
): Script | null => {
  const { root, findings, place } = readDocument(report.label(path), content);
  for (const { code, offset, message, path: at = [] } of findings)
    report.add(code, place(offset), formatPath(at), message);
  if (root === null) return null;
  let usable = findings.length === 0;
  const problem: ReportScriptProblem = (where, message, hint, which = "value") => {
    usable = false;
    report.add("script_invalid", place(offsetOf(root, where, which)), formatPath(where), message, hint);
  };
  const removed: RemovedEntries = new Map();
  const onShape = (issue: ShapeIssue): void => problem(issue.path, issue.message, issue.hint, issue.which);
  const script = parseLeniently(scriptSchema, root, [], onShape, { whole: scriptSchema, removed });
  if (script === null) return null;
  checkMeaning(script, names, (where, ...more) => problem(writtenPath(removed, where), ...more), !usable);
  if (usable)
    for (const { path: where, which, message, hint } of findWrongArguments(script, root, definitions))
      report.add("script_arguments", place(offsetOf(root, where, which)), formatPath(where), message, hint);
  return usable ? script : null;
};

const scriptOf = (
  draft: TeamDraft,
  report: FolderReport,
  files: TeamFiles,
  { index, value }: ListEntry<ProviderShape>,
  names: ScriptNames,
): Script | null => {
  const path: Path = ["providers", index, "script"];
  if (value.script === undefined) {
    if (nodeAt(draft.root, path) !== undefined) return null;
    draft.report("missing_key", path, "a scripted provider needs a script", { which: "missing" });
    return null;
  }
  if (typeof value.script !== "string") {
    const own = formatPath([...draft.prefix, ...path]);
    const problem: ReportScriptProblem = (where, message, hint) =>
      draft.report("script_invalid", [...path, ...where], message, { hint });
    const misshapen = report.found.some(
      (found) => found.code === "script_invalid" && found.path.startsWith(own),
    );
    checkMeaning(value.script, names, problem, misshapen);
    const root = nodeAt(draft.root, draft.writtenPath(path));
    if (!misshapen && root !== undefined)
      for (const { path: where, message, ...options } of findWrongArguments(
        value.script,
        root,
        draft.definitions,
      ))
        draft.report("script_arguments", [...path, ...where], message, options);
    return value.script;
  }
  const content = files.get(value.script);
  if (content === undefined) {
    const scripts = [...files.keys()].filter((file) => scriptFile.test(file));
    draft.report("file_missing", path, `the team folder has no file ${value.script}`, {
      hint: suggestFor(value.script, scripts),
    });
    return null;
  }
  if (scriptFile.test(value.script)) return readScriptFile(draft, report, [value.script, content], names);
  draft.report("invalid_value", path, `${value.script} is no file of scripts/`, {
    hint: "move it to scripts/<name>.yaml",
  });
  return null;
};

/** Reads the scripts of all scripted providers, by the provider's index in its list. */
export const readScripts = (
  draft: TeamDraft,
  report: FolderReport,
  files: TeamFiles,
): Map<number, Script> => {
  const names: ScriptNames = {
    agents: new Set(draft.agents.map(({ value }) => value.name)),
    tools: draft.tools,
    servers: new Set(draft.servers.map(({ value }) => value.name)),
  };
  const scripts = new Map<number, Script>();
  for (const provider of draft.providers) {
    const { kind, script: written } = provider.value;
    if (kind !== "scripted") {
      // An unknown kind may be a typing error for this one.
      if (written === undefined || !draft.providerKinds.includes(kind)) continue;
      const message = `only a provider of kind scripted has a script, not ${kind}`;
      draft.report("exclusive_keys", ["providers", provider.index, "script"], message, { which: "key" });
      continue;
    }
    const script = scriptOf(draft, report, files, provider, names);
    if (script !== null) scripts.set(provider.index, script);
  }
  return scripts;
};
