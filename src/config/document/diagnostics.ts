/** Diagnostics that the loader reports about a team folder. */

/** Position in a file: line and column from 1, columns in code points. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export const errorCodes = [
  "file_missing",
  "file_too_large",
  "not_utf8",
  "yaml_syntax",
  "yaml_directive",
  "yaml_tag",
  "yaml_depth",
  "yaml_nodes",
  "yaml_alias",
  "yaml_cycle",
  "yaml_documents",
  "duplicate_key",
  "reserved_key",
  "unknown_key",
  "missing_key",
  "wrong_type",
  "out_of_range",
  "invalid_value",
  "invalid_duration",
  "invalid_url",
  "invalid_schema",
  "exclusive_keys",
  "empty_list",
  "duplicate_name",
  "duplicate_setting",
  "name_conflict",
  "unknown_provider",
  "unknown_provider_kind",
  "unknown_agent",
  "unknown_toolbox",
  "unknown_tool",
  "unknown_skill",
  "unknown_effect",
  "unknown_guard",
  "fallback_cycle",
  "invalid_reference",
  "reserved_reference",
  "context_window_too_small",
  "context_too_large",
  "threshold_unreachable",
  "unbounded_agent",
  "budget_without_price",
  "secret_in_file",
  "skill_invalid",
  "script_invalid",
  "extension_invalid",
  "not_available",
] as const;

export const warningCodes = [
  "reference_not_expanded",
  "empty_value",
  "unused_provider",
  "unused_server",
  "unused_skill",
  "unused_file",
  "unused_extension",
  "key_ignored",
  "needs_sandbox_process",
  "tool_access_typo",
  "context_window_small",
  "unpriced_model",
  "schema_not_strict",
  "delegation_impossible",
  "effect_inert",
  "verify_inert",
  "rule_gap",
  "undeclared_secret",
  "script_arguments",
  "private_address",
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export type WarningCode = (typeof warningCodes)[number];

export type DiagnosticCode = ErrorCode | WarningCode;

type Severity = "error" | "warning";

export interface Diagnostic extends SourcePlace {
  readonly severity: Severity;
  readonly code: DiagnosticCode;
  /** Path in the file, like `agents[2].options`; empty for a whole file. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

const warningSet: ReadonlySet<string> = new Set(warningCodes);

const diagnosticCodes: ReadonlySet<string> = new Set([...errorCodes, ...warningCodes]);

export const isCode = (text: string): text is DiagnosticCode => diagnosticCodes.has(text);

export const severityOf = (code: DiagnosticCode): Severity => (warningSet.has(code) ? "warning" : "error");

export type Path = readonly (string | number)[];

/** Formats `["agents", 2, "effects", 0, "params"]` as `agents[2].effects[0].params`. */
export const formatPath = (path: Path): string =>
  path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      const plain = /^[A-Za-z_][\w-]*$/.test(part);
      return plain ? `${index === 0 ? "" : "."}${part}` : `[${JSON.stringify(part)}]`;
    })
    .join("");

/** Formats a diagnostic as one line, with the hint indented below. */
export const formatDiagnostic = (diagnostic: Diagnostic): string => {
  const { file, line, column, severity, code, path, message, hint } = diagnostic;
  const where = path === "" ? "" : ` ${path}`;
  return `${file}:${line}:${column} ${severity} ${code}${where}: ${message}${
    hint === undefined ? "" : `\n  ${hint}`
  }`;
};

const comparePlaces = (a: Diagnostic, b: Diagnostic): number =>
  a.file === b.file
    ? a.line - b.line || a.column - b.column || a.code.localeCompare(b.code, "en")
    : a.file < b.file
      ? -1
      : 1;

/**
 * Returns the subject of a finding: an anchor's text counts once wherever it is merged; extensions.ts has only one
 * position.
 */
const subjectOf = ({ file, path }: Diagnostic): string =>
  file.endsWith("/extensions.ts")
    ? path
    : path.replace(/^(config\.)?(agents\[\d+\]|defaults)/, "$1agents[]").replaceAll(/\[\d+\]/g, "[]");

/** Sorts by position and keeps each finding once: a value merged into several agents is one mistake. */
export const arrangeDiagnostics = (diagnostics: readonly Diagnostic[]): Diagnostic[] => {
  const firstPaths = new Map<string, string>();
  const seen = new Set<string>();
  return diagnostics.toSorted(comparePlaces).filter((diagnostic) => {
    const { file, line, column, code, path, message } = diagnostic;
    const subject = [file, line, column, code, subjectOf(diagnostic)].join("\n");
    const finding = `${subject}\n${message}`;
    if ((firstPaths.get(subject) ?? path) !== path || seen.has(finding)) return false;
    firstPaths.set(subject, path);
    seen.add(finding);
    return true;
  });
};

export const maximumShown = 100;

/** Returns the lines to print: at most 100 diagnostics, then the number of the others. */
export const formatDiagnostics = (diagnostics: readonly Diagnostic[]): string[] => {
  const more = diagnostics.length - maximumShown;
  const lines = diagnostics.slice(0, maximumShown).map(formatDiagnostic);
  return more > 0 ? [...lines, `${more} more`] : lines;
};

export const hasErrors = (diagnostics: readonly Diagnostic[]): boolean =>
  diagnostics.some(({ severity }) => severity === "error");
