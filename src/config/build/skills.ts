import { utf8Length } from "../../chat/tokens.ts";
import { namePattern } from "../../schema.ts";
import { formatPath } from "../document/diagnostics.ts";
import type { Located, ReadDocument } from "../document/document.ts";
import { readDocument } from "../document/document.ts";
import { childOf, scalarTextOf } from "../document/located.ts";
import { suggestFor } from "../document/suggest.ts";
import type { Skill } from "../team.ts";
import type { FolderReport, TeamFiles } from "./files-map.ts";
import { readTextFile } from "./files-map.ts";

/** Reads the skills of a team folder. */

const maximumSkill = 65_536;

const maximumFile = 262_144;

const maximumTotal = 2_097_152;

interface Frontmatter {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly body: string;
}

/** Finds the line that closes a frontmatter, from the end of a line on. */
const closingLine = (text: string, from: number): RegExpExecArray | null => {
  const pattern = /\n---[ \t]*(?:\n|$)/g;
  pattern.lastIndex = from;
  return pattern.exec(text);
};

/** Splits a text into its frontmatter and the rest; returns null if the frontmatter is missing or not closed. */
const splitFrontmatter = (
  text: string,
): { readonly head: string; readonly body: string } | "unclosed" | null => {
  const [opening] = /^\s*---[ \t]*\n/.exec(text) ?? [];
  if (opening === undefined) return null;
  // From the end of the opening line on: a frontmatter may be empty.
  const close = closingLine(text, opening.length - 1);
  if (close === null) return "unclosed";
  return {
    head: `${opening.replaceAll(/[^\n]/g, "")}${text.slice(opening.length, close.index + 1)}`,
    body: text.slice(close.index + close[0].length),
  };
};

const frontmatterKeys = new Set(["name", "description"]);

/** Reports keys that are unknown or hold no text; returns false if the skill cannot be used. */
const checkKeys = (report: FolderReport, root: Located, place: ReadDocument["place"]): boolean => {
  if (root.kind !== "map") {
    report.add(
      "skill_invalid",
      place(root.at),
      "",
      "the frontmatter must be a map with name and description",
    );
    return false;
  }
  const wrong = [...root.entries].filter(
    ([key, { node }]) => frontmatterKeys.has(key) && scalarTextOf(node) === undefined,
  );
  for (const [key, { node }] of wrong) {
    report.add("skill_invalid", place(node.at), key, `${key} must be a text`);
  }
  for (const [key, { keyAt }] of root.entries) {
    if (frontmatterKeys.has(key)) continue;
    const hint = suggestFor(key, [...frontmatterKeys]);
    report.add("key_ignored", place(keyAt), key, `the frontmatter key "${key}" has no effect`, hint);
  }
  return wrong.length === 0;
};

const isEmpty = (root: Located): boolean => root.kind === "scalar" && root.value === null;

const readFrontmatter = (report: FolderReport, path: string, text: string): Frontmatter | null => {
  const parts = splitFrontmatter(text);
  if (parts === null) return { body: text };
  if (parts === "unclosed") {
    const message = "the frontmatter has no closing ---; the whole file is the skill's text";
    report.addFile("key_ignored", path, message);
    return { body: text };
  }
  const { root, findings, place } = readDocument(report.label(path), parts.head, maximumSkill);
  for (const { offset, message, path: at = [] } of findings)
    report.add("skill_invalid", place(offset), formatPath(at), message);
  if (findings.length > 0 || root === null) return null;
  if (isEmpty(root)) return { body: parts.body };
  if (!checkKeys(report, root, place)) return null;
  const description = scalarTextOf(childOf(root, "description"))?.trim();
  return {
    name: scalarTextOf(childOf(root, "name")),
    description: description === "" ? undefined : description,
    body: parts.body,
  };
};

const besideHint = "files beside a skill are texts: move anything else out of its folder";

const readSkillFiles = (
  report: FolderReport,
  files: TeamFiles,
  folder: string,
): { readonly files: Record<string, string>; readonly bytes: number } => {
  const found = Object.create(null) as Record<string, string>;
  let bytes = 0;
  for (const [path, content] of files) {
    if (!path.startsWith(folder) || path === `${folder}SKILL.md`) continue;
    const text = readTextFile(report, path, content, maximumFile, besideHint);
    if (text === null) continue;
    bytes += utf8Length(text);
    found[path.slice(folder.length)] = text;
  }
  return { files: found, bytes };
};

const readSkill = (
  report: FolderReport,
  files: TeamFiles,
  folder: string,
): { readonly skill: Skill; readonly bytes: number } | null => {
  const path = `${folder}SKILL.md`;
  const text = readTextFile(report, path, files.get(path) ?? "", maximumSkill);
  const frontmatter = text === null ? null : readFrontmatter(report, path, text);
  if (frontmatter === null) return null;
  const name = frontmatter.name ?? folder.split("/")[1] ?? "";
  if (!namePattern.test(name)) {
    report.addFile(
      "skill_invalid",
      path,
      "a skill's name starts with a letter and has letters, digits, - and _",
    );
    return null;
  }
  const body = frontmatter.body.trim();
  if (body === "")
    report.addFile("empty_value", path, "the skill has no text", "write it below its frontmatter");
  const beside = readSkillFiles(report, files, folder);
  const skill: Skill = {
    name,
    description: frontmatter.description ?? null,
    body,
    files: beside.files,
  };
  return { skill, bytes: beside.bytes };
};

/** Skill with the path of its SKILL.md. */
interface FoundSkill extends Skill {
  readonly path: string;
}

/** Creates a placeholder for a skill that was reported as an error, so that using its name is not a second error. */
const createUnusableSkill = (path: string): FoundSkill => ({
  name: path.split("/")[1] ?? "",
  description: null,
  body: "",
  files: {},
  path,
});

/** Reads all skills by name and reports those that cannot be used. */
export const readSkills = (report: FolderReport, files: TeamFiles): FoundSkill[] => {
  const folders = [...files.keys()].filter((path) => /^skills\/[^/]+\/SKILL\.md$/.test(path)).toSorted();
  const skills: FoundSkill[] = [];
  const left: FoundSkill[] = [];
  let together = 0;
  for (const path of folders) {
    const read = readSkill(report, files, path.slice(0, -"SKILL.md".length));
    if (read === null) {
      left.push(createUnusableSkill(path));
      continue;
    }
    const twin = skills.find(({ name }) => name === read.skill.name);
    if (twin !== undefined) {
      report.addFile("duplicate_name", path, `the skill "${twin.name}" is also in ${twin.path}`);
      continue;
    }
    const before = together;
    together += read.bytes;
    if (together > maximumTotal && before <= maximumTotal) {
      const message = `the files of all skills up to this one have more than ${maximumTotal} bytes`;
      report.addFile("file_too_large", path, message);
    }
    skills.push({ ...read.skill, path });
  }
  return [...skills, ...left.filter((each) => !skills.some(({ name }) => name === each.name))];
};
