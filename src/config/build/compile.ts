import { findUnavailable } from "../availability.ts";
import { checkReferencesAndAddresses } from "../checks/addresses.ts";
import type { DeclaredNames } from "../checks/declared-secrets.ts";
import { checkDeclaredSecrets, neededSecrets } from "../checks/declared-secrets.ts";
import { checkAnswers } from "../checks/answers.ts";
import { checkExpired } from "../checks/expired.ts";
import { checkInert } from "../checks/inert.ts";
import { checkMarkdown } from "../checks/markdown.ts";
import { checkModels } from "../checks/models.ts";
import { checkNames } from "../checks/names.ts";
import { checkRuleGaps } from "../checks/rule-gaps.ts";
import { checkSecrets } from "../checks/secrets.ts";
import { checkServers } from "../checks/servers.ts";
import { checkSettings } from "../checks/settings.ts";
import { checkTexts } from "../checks/texts.ts";
import { checkTools } from "../checks/tools.ts";
import { checkUsage, findUnusedExtensions } from "../checks/usage.ts";
import type { Diagnostic, SourcePlace } from "../document/diagnostics.ts";
import { arrangeDiagnostics, formatPath, hasErrors } from "../document/diagnostics.ts";
import { readDocument } from "../document/document.ts";
import { suggestFor } from "../document/suggest.ts";
import type { TeamDraft } from "../draft.ts";
import { extensionOffset } from "../extension-agents.ts";
import type { ExtensionModule, ModulePlace } from "../extensions.ts";
import { readExtensions } from "../extensions.ts";
import type { Team } from "../team.ts";
import { buildTeam, reachableSecrets } from "./build-team.ts";
import type { ContextFile } from "./context.ts";
import { checkUnusedFiles, readContext } from "./context.ts";
import type { FolderReport, TeamFiles } from "./files-map.ts";
import { createFolderReport, isForeign } from "./files-map.ts";
import { withoutFollowUps } from "./follow-ups.ts";
import { readLock } from "./mcp-lock.ts";
import { readTeam } from "./read-team.ts";
import { readScripts } from "./scripts.ts";
import { readSkills } from "./skills.ts";

/** Compiles the files of a team folder, as a pure function, to a team or diagnostics. */

export interface CompileOptions {
  /** The team's name. */
  readonly name: string;
  /** Loaded `extensions.ts`, if there is one. */
  readonly extensions?: ExtensionModule | undefined;
  /**
   * Names that the team's environment declares for wrangler; absent if it declares none, so that wrangler reads any
   * name.
   */
  readonly declared?: DeclaredNames | undefined;
  /** Places `host:port` that are not public and that the operator opens where the team runs. */
  readonly openPlaces?: readonly string[];
  /** Links of the folder that lead to nothing, by their path in it. */
  readonly deadLinks?: readonly string[];
  /** Names of the existing teams, if this one has no folder. */
  readonly teams?: readonly string[] | undefined;
  /** Whether the team is served on this machine, so that it needs no host of its own. */
  readonly isServed?: boolean;
  /** Time by which rules expire, in milliseconds since the epoch; absent: none counts as expired. */
  readonly now?: number;
}

export interface CompiledTeam {
  /** Compiled team; null if there are errors. */
  readonly team: Team | null;
  /** Diagnostics, sorted by position. */
  readonly diagnostics: readonly Diagnostic[];
  /** Names of the secrets that the team's agents and tools need, with the fields and tools that use them. */
  readonly secrets: Readonly<Record<string, readonly string[]>>;
  /** Files of `context/`, which every agent reads. */
  readonly context: readonly ContextFile[];
  /** Draft that was checked, for `limpet explain`; null if nothing could be read. */
  readonly draft: TeamDraft | null;
}

const checkAvailability = (draft: TeamDraft): void => {
  for (const { path, which, message, hint } of findUnavailable(draft.written)) {
    draft.reportWritten("not_available", path, message, { which, hint });
  }
};

/** Returns where loading the extensions failed, if it did. */
const placeOf = ({ extensions }: CompileOptions): ModulePlace | null =>
  extensions !== undefined && "error" in extensions ? (extensions.place ?? null) : null;

/** Suggests existing teams for a name that has no folder. */
const suggestTeam = ({ name, teams }: CompileOptions): string | undefined =>
  teams && [suggestFor(name, teams) ?? [], `npx limpet new-team ${name} creates one`].flat().join("; ");

const readDraft = (files: TeamFiles, options: CompileOptions, report: FolderReport): TeamDraft | null => {
  const skills = readSkills(report, files);
  const inExtensions = { file: report.label("extensions.ts"), line: 1, column: 1, ...placeOf(options) };
  const extensions = readExtensions(options.extensions, (code, path, message, hint) =>
    report.add(code, inExtensions, path, message, hint),
  );
  const content = files.get("team.yaml");
  if (content === undefined) {
    const hint = files.has("team.yml") ? "rename team.yml to team.yaml" : suggestTeam(options);
    report.addFile("file_missing", "team.yaml", "a team folder needs a team.yaml", hint);
    return null;
  }
  const { root, findings, place: placeInFile } = readDocument(report.label("team.yaml"), content);
  const place = (offset: number): SourcePlace =>
    offset === extensionOffset ? inExtensions : placeInFile(offset);
  for (const { code, offset, message, path = [] } of findings)
    report.add(code, place(offset), formatPath(path), message);
  if (root === null) return null;
  const draft = readTeam(report, root, place, { name: options.name, skills, extensions });
  if (draft !== null) {
    checkUsage(draft, (name) => {
      const path = skills.find((skill) => skill.name === name)?.path ?? "";
      report.addFile("unused_skill", path, `no agent knows the skill ${name}`);
    });
    for (const { path, message, hint } of findUnusedExtensions(draft, extensions))
      report.add("unused_extension", inExtensions, path, message, hint);
  }
  return draft;
};

const draftChecks = [
  checkNames,
  checkTools,
  checkModels,
  checkSettings,
  checkInert,
  checkTexts,
  checkSecrets,
  checkAnswers,
  checkAvailability,
];

/** Compiles a team folder. Every input yields diagnostics or a team, never an exception. */
export const compileTeam = (given: TeamFiles, options: CompileOptions): CompiledTeam => {
  const { name, deadLinks = [], isServed = false, now = -Infinity } = options;
  const report = createFolderReport(`config/${name}`);
  checkUnusedFiles(report, given);
  for (const path of deadLinks)
    report.addFile("file_missing", path, "this link leads to nothing", "remove it, or make what it leads to");
  const files = new Map([...given].filter(([path]) => !isForeign(path)));
  const draft = readDraft(files, options, report);
  if (draft === null) {
    return {
      team: null,
      diagnostics: arrangeDiagnostics(withoutFollowUps(report.found)),
      secrets: {},
      context: [],
      draft,
    };
  }
  const scripts = readScripts(draft, report, files);
  const { files: contextFiles, ...context } = readContext(report, files, draft.sections.context.max_chars);
  const lock = readLock(report, files);
  for (const check of draftChecks) check(draft);
  checkReferencesAndAddresses(draft, options.openPlaces ?? []);
  checkServers(draft, isServed);
  checkExpired(draft, now);
  const secrets = neededSecrets(draft, reachableSecrets(draft));
  checkMarkdown(report, files, Object.keys(secrets));
  if (!hasErrors(report.found)) {
    checkRuleGaps(draft, now);
    checkDeclaredSecrets(report, Object.keys(secrets), options.declared);
  }
  const diagnostics = arrangeDiagnostics(withoutFollowUps(report.found));
  const team = hasErrors(diagnostics) ? null : buildTeam(draft, { name, scripts, context, lock });
  return { team, diagnostics, secrets, context: contextFiles, draft };
};
