import type { DiagnosticCode, Diagnostic, SourcePlace } from "../document/diagnostics.ts";
import { severityOf } from "../document/diagnostics.ts";
import { createPlacer } from "../document/place.ts";
import { decodeText } from "../document/safety.ts";

/** The files of a team folder by their path in it, like `skills/review/SKILL.md`. */
export type TeamFiles = ReadonlyMap<string, string | Uint8Array>;

/** How a compiled team reports about its folder: collects its diagnostics. */
export interface FolderReport {
  readonly found: Diagnostic[];
  /** A file of the folder as diagnostics name it. */
  readonly label: (file: string) => string;
  readonly add: (
    code: DiagnosticCode,
    place: SourcePlace,
    path: string,
    message: string,
    hint?: string,
  ) => void;
  /** At the beginning of a file. */
  readonly addFile: (code: DiagnosticCode, file: string, message: string, hint?: string) => void;
}

/** `folder` is put before every file name, like `config/acme`. */
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

/** The text of a file of at most `maximum` bytes; null, with a diagnostic, if it cannot be used. */
export const readTextFile = (
  report: FolderReport,
  path: string,
  content: string | Uint8Array,
  maximum: number,
): string | null => {
  const { text, finding } = decodeText(content, maximum);
  if (finding === null) return text;
  report.add(finding.code, createPlacer(report.label(path), text)(finding.offset), "", finding.message);
  return null;
};
