import type { DiagnosticCode, Diagnostic, SourcePlace } from "../document/diagnostics.ts";
import { severityOf } from "../document/diagnostics.ts";
import { createPlacer } from "../document/place.ts";
import { decodeText } from "../document/safety.ts";

/** Files of a team folder by their path in it, like `skills/review/SKILL.md`. */
export type TeamFiles = ReadonlyMap<string, string | Uint8Array>;

const foreignPath = /(?:^|\/)(?:\.|node_modules\/)/;

/** Returns whether a path is what other programs leave in a folder: hidden files, like an editor's, and packages. */
export const isForeign = (path: string): boolean => foreignPath.test(path);

/** Matches the files of scripted providers. */
export const scriptFile = /^scripts\/[^/]+\.yaml$/;

/** Collector of the diagnostics of a team folder. */
export interface FolderReport {
  readonly found: Diagnostic[];
  /** Returns the name of a file in diagnostics. */
  readonly label: (file: string) => string;
  readonly add: (
    code: DiagnosticCode,
    place: SourcePlace,
    path: string,
    message: string,
    hint?: string,
  ) => void;
  /** Adds a diagnostic at the beginning of a file. */
  readonly addFile: (code: DiagnosticCode, file: string, message: string, hint?: string) => void;
}

/** Creates a report; `folder` precedes every file name, like `config/acme`. */
export const createFolderReport = (folder: string): FolderReport => {
  const found: Diagnostic[] = [];
  const label = (file: string): string => `${folder}/${file}`;
  const add: FolderReport["add"] = (code, place, path, message, hint) => {
    const base = { ...place, severity: severityOf(code), code, path, message };
    found.push(hint === undefined ? base : { ...base, hint });
  };
  return {
    found,
    label,
    add,
    addFile: (code, file, message, hint) =>
      add(code, { file: label(file), line: 1, column: 1 }, "", message, hint),
  };
};

/** Reads a text file of at most `maximum` bytes; returns null, with a diagnostic, if it cannot be used. The hint is for what is no text. */
export const readTextFile = (
  report: FolderReport,
  path: string,
  content: string | Uint8Array,
  maximum: number,
  hint?: string,
): string | null => {
  const { text, finding } = decodeText(content, maximum);
  if (finding === null) return text;
  report.add(
    finding.code,
    createPlacer(report.label(path), text)(finding.offset),
    "",
    finding.message,
    finding.code === "not_utf8" ? hint : undefined,
  );
  return null;
};
