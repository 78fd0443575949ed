import type { FolderReport, TeamFiles } from "../build/files-map.ts";
import { createPlacer } from "../document/place.ts";
import { referencesIn } from "../document/references.ts";
import { decodeText, maximumBytes } from "../document/safety.ts";

/** Finds `${NAME}` in the texts of a team that are Markdown, where it stays as it is. */

const markdownFile = /^(?:context\/[^/]+\.md|skills\/[^/]+\/SKILL\.md)$/;

/** Matches code, which has `${NAME}` for reasons of its own: blocks between fences, and code within a line. */
const code = /^(`{3,}|~{3,})[^]*?(?:^\1|$(?![^]))|(`+)[^`\n]+\2/gm;

/** Warns at the first `${NAME}` of each name in prose, and in code if the team has a secret of this name. */
export const checkMarkdown = (report: FolderReport, files: TeamFiles, secrets: readonly string[]): void => {
  for (const [path, content] of files) {
    if (!markdownFile.test(path)) continue;
    const { text, finding } = decodeText(content, maximumBytes);
    if (finding !== null) continue;
    const prose = new Set(referencesIn(text.replaceAll(code, "")).names);
    const place = createPlacer(report.label(path), text);
    for (const name of referencesIn(text).names) {
      if (!prose.has(name) && !secrets.includes(name)) continue;
      const offset = text.search(new RegExp(String.raw`(?<!\$)\$\{${name}\}`));
      report.add(
        "reference_not_expanded",
        place(offset),
        "",
        `\${${name}} is plain text here`,
        prose.has(name)
          ? "write what it stands for, or put it between backquotes if it is meant as it is"
          : "secrets are read only by addresses, keys, headers and the like of team.yaml",
      );
    }
  }
};
