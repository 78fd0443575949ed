import { decode } from "../line/answers.ts";
import type { WorkTree } from "../tracked-files.ts";
import { formatDate } from "./commit-dates.ts";
import { composeMail } from "./commit-mail.ts";
import { bodyOf, splitMessage, titleOf } from "./commit-object.ts";
import type { Committer, ShownCommit } from "./commit-object.ts";

/** Commits as `git log` and `git show` write them, without their patches. */

/** How commits are written. */
export interface TextStyle {
  /** The name of one of git's formats, or a format with `%` fields. */
  readonly format: string;
  /** The form of dates, as in `--date=`. */
  readonly date: string;
  readonly isShort: boolean;
  /** The names of the branches and tags of commits, by hash; empty if they are not to be shown. */
  readonly names: ReadonlyMap<string, readonly string[]>;
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const combining = /[\p{Mn}\p{Me}\p{Cf}]/u;

const tabWidth = 8;

/** Replaces the tabs of a line by spaces. */
function expandTabs(line: string): string {
  const parts = line.split("\t");
  const last = parts.pop() ?? "";
  const filled = parts.map((part) => {
    let width = 0;
    for (const character of part) width += wide.test(character) ? 2 : combining.test(character) ? 0 : 1;
    return part + " ".repeat(tabWidth - (width % tabWidth));
  });
  return filled.join("") + last;
}

const indent = (lines: readonly string[]): string => lines.map((line) => `    ${line}\n`).join("");

const short = (hash: string): string => hash.slice(0, 7);

const namesOf = ({ hash }: ShownCommit, { names }: TextStyle): string => names.get(hash)?.join(", ") ?? "";

/** Returns the fields of who made a commit: `%an`, `%ad`. */
function personField(person: Committer, letter: string, date: string): string | undefined {
  const { name, mail, time } = person;
  const forms: Readonly<Record<string, string>> = {
    d: date,
    D: "rfc",
    i: "iso",
    I: "iso-strict",
    r: "relative",
    s: "short",
    t: "unix",
    h: "human",
  };
  const form = forms[letter];
  if (form !== undefined) return formatDate(time, form);
  const own: Readonly<Record<string, string>> = { n: name, e: mail, l: mail.replace(/@.*/, "") };
  return own[letter.toLowerCase()];
}

const colors = /%C(?:\([^)]*\)|red|green|blue|reset|yellow|cyan|magenta|white|black|bold|dim|auto)/g;

/** Puts the fields of a commit into a format. */
function fillFormat(commit: ShownCommit, style: TextStyle): string {
  const { hash, tree, parents, author, committer, message } = commit;
  const names = namesOf(commit, style);
  const fields: Readonly<Record<string, string>> = {
    H: hash,
    h: short(hash),
    T: tree,
    t: short(tree),
    P: parents.join(" "),
    p: parents.map(short).join(" "),
    s: titleOf(message),
    b: bodyOf(message),
    B: message,
    D: names,
    d: names === "" ? "" : ` (${names})`,
    e: "",
    N: "",
    n: "\n",
    "G?": "N",
    "%": "%",
  };
  return style.format
    .replace(colors, "")
    .replace(/%(?:x([0-9a-fA-F]{2})|([ac])([a-zA-Z])|(G\?|[a-zA-Z%]))/g, (all, code, who, part, field) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(String(code), 16));
      if (who === undefined) return fields[String(field)] ?? all;
      return personField(who === "a" ? author : committer, String(part), style.date) ?? all;
    });
}

/** The lines about people in git's long formats. */
const people: Readonly<
  Record<string, readonly (readonly [string, "author" | "committer", isDate: boolean])[]>
> = {
  short: [["Author: ", "author", false]],
  medium: [
    ["Author: ", "author", false],
    ["Date:   ", "author", true],
  ],
  full: [
    ["Author: ", "author", false],
    ["Commit: ", "committer", false],
  ],
  fuller: [
    ["Author:     ", "author", false],
    ["AuthorDate: ", "author", true],
    ["Commit:     ", "committer", false],
    ["CommitDate: ", "committer", true],
  ],
};

/** Returns whether a format is one of those that take several lines, between which commits have an empty one. */
export const isLong = (format: string): boolean => /^(?:raw|email)$/.test(format) || format in people;

/** Writes a commit in one of git's long formats. */
function writeLong(commit: ShownCommit, style: TextStyle): string {
  const { format } = style;
  const { hash, header, parents, message } = commit;
  const names = namesOf(commit, style);
  const first = `commit ${style.isShort ? short(hash) : hash}${names === "" ? "" : ` (${names})`}\n`;
  if (format === "email") return composeMail(commit);
  const lines = message.trimEnd() === "" ? [] : message.trimEnd().split("\n");
  const spaced = (text: string): string => (text === "" ? "" : `\n${text}`);
  if (format === "raw") return `${first}${header}\n${spaced(indent(lines))}`;
  const merge = parents.length > 1 ? `Merge: ${parents.map(short).join(" ")}\n` : "";
  const about = (people[format] ?? []).map(([label, who, isDate]) => {
    const { name, mail, time } = commit[who];
    return `${label}${isDate ? formatDate(time, style.date) : `${name} <${mail}>`}\n`;
  });
  const shown = format === "short" ? splitMessage(message).title : lines.map(expandTabs);
  return first + merge + about.join("") + spaced(lines.length === 0 ? "" : indent(shown));
}

/** Writes a commit; the text of a format of fields has no line end of its own. */
export function writeCommit(commit: ShownCommit, style: TextStyle): string {
  if (isLong(style.format)) return writeLong(commit, style);
  if (style.format !== "oneline") return fillFormat(commit, style);
  const names = namesOf(commit, style);
  const hash = style.isShort ? short(commit.hash) : commit.hash;
  return `${hash}${names === "" ? "" : ` (${names})`} ${titleOf(commit.message)}`;
}

/** Returns the names of commits: of HEAD, branches and tags. */
export async function readNames({
  objectStore,
  refStore,
}: WorkTree): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = new Map<string, string[]>();
  const head = await refStore.readRef("HEAD");
  const current = head?.type === "symbolic" ? head.target : null;
  if (head?.type === "direct") names.set(head.hash, ["HEAD"]);
  const refs = await refStore.listRefs("refs");
  const order = ["refs/tags/", "refs/remotes/", "refs/heads/"];
  const rank = (name: string): number =>
    name === current ? -1 : order.findIndex((prefix) => name.startsWith(prefix));
  for (const { name, hash } of [...refs].sort((one, other) => rank(one.name) - rank(other.name))) {
    const { type, content } = await objectStore.read(hash);
    const commit = type === "tag" ? (/^object (\S+)/.exec(decode(content))?.[1] ?? hash) : hash;
    const plain = name.replace(/^refs\/(?:heads|remotes|tags)\//, "");
    const shown =
      name === current ? `HEAD -> ${plain}` : name.startsWith("refs/tags/") ? `tag: ${plain}` : plain;
    names.set(commit, [...(names.get(commit) ?? []), shown]);
  }
  return names;
}
