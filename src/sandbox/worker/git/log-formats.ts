/** Composes the formats of a log that the embedded git does not know from the fields of its commits. */

type Composed = "reference" | "email";
export const isComposed = (format: string): format is Composed =>
  format === "reference" || format === "email";

interface LoggedCommit {
  readonly hash: string;
  readonly short: string;
  readonly name: string;
  readonly mail: string;
  /** Date of the author as ISO 8601 and RFC 2822 write it. */
  readonly iso: string;
  readonly rfc: string;
  readonly title: string;
  readonly body: string;
}

/** Fields of a commit, each on a line of its own; a body has no NUL, which ends it. */
const fields = "%H%n%h%n%an%n%ae%n%aI%n%aD%n%s%n%b\0";

const readCommit = (text: string): LoggedCommit => {
  const [hash = "", short = "", name = "", mail = "", iso = "", rfc = "", title = "", ...body] = text
    .replace(/^\n/, "")
    .split("\n");
  return { hash, short, name, mail, iso, rfc, title, body: body.join("\n").trimEnd() };
};

// oxlint-disable-next-line no-control-regex -- A header is ASCII without control characters.
const needsEncoding = (text: string): boolean => /[^\x00-\x7f]|\x1b|=\?/.test(text);

/** Most characters of an encoded line, by RFC 2047, and of a plain one. */
const encodedWidth = 76;
const plainWidth = 78;

/** Encodes a header's text as encoded words of RFC 2047; `plain` matches the characters that need no encoding. */
const encodeHeader = (start: string, text: string, plain: RegExp): string => {
  let line = `${start}=?UTF-8?q?`;
  const lines: string[] = [];
  for (const character of text) {
    const bytes = [...new TextEncoder().encode(character)];
    const hex = bytes.map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
    const encoded = plain.test(character) ? character : hex;
    if (line.length + encoded.length + 2 > encodedWidth) {
      lines.push(`${line}?=`);
      line = " =?UTF-8?q?";
    }
    line += encoded;
  }
  return [...lines, `${line}?=`].join("\n");
};

const foldHeader = (start: string, text: string): string => {
  const lines: string[] = [];
  let line = start;
  let isFirst = true;
  for (const word of text.split(" ")) {
    if (!isFirst && line.length + 1 + word.length > plainWidth) {
      lines.push(line);
      line = ` ${word}`;
    } else line += isFirst ? word : ` ${word}`;
    isFirst = false;
  }
  return [...lines, line].join("\n");
};

const subjectOf = (title: string): string => {
  const start = "Subject: [PATCH] ";
  return needsEncoding(title) ? encodeHeader(start, title, /^[!-<>@-^`-~]$/) : foldHeader(start, title);
};

const authorOf = ({ name, mail }: LoggedCommit): string => {
  if (needsEncoding(name)) return `${encodeHeader("From: ", name, /^[A-Za-z0-9!*+/-]$/)} <${mail}>`;
  const isPlain = !/[()<>[\]:;@,."\\]/.test(name);
  return `From: ${isPlain ? name : `"${name.replaceAll(/["\\]/g, "\\$&")}"`} <${mail}>`;
};

const eightBit = [
  "MIME-Version: 1.0",
  "Content-Type: text/plain; charset=UTF-8",
  "Content-Transfer-Encoding: 8bit",
];

const composers: Readonly<Record<Composed, (commit: LoggedCommit) => string>> = {
  reference: ({ short, title, iso }) => `${short} (${title}, ${iso.slice(0, 10)})`,
  email: (commit) => {
    const { hash, rfc, title, body } = commit;
    const isAscii = !needsEncoding(title.replaceAll("=?", "")) && !needsEncoding(body.replaceAll("=?", ""));
    return [
      `From ${hash} Mon Sep 17 00:00:00 2001`,
      authorOf(commit),
      `Date: ${rfc}`,
      subjectOf(title),
      ...(isAscii ? [] : eightBit),
      "",
      ...(body === "" ? [] : [body]),
    ].join("\n");
  },
};

/** Composes a log in this format from the fields of its commits, which `show` lists in a format of git. */
export async function composeLog(
  format: Composed,
  show: (format: string) => Promise<string>,
): Promise<string> {
  const commits = (await show(fields)).split("\0").filter((text) => text.trim() !== "");
  const texts = commits.map((text) => `${composers[format](readCommit(text))}\n`);
  return texts.join(format === "email" ? "\n" : "");
}
