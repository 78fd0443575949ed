import { formatDate } from "./commit-dates.ts";
import type { ShownCommit } from "./commit-object.ts";
import { bodyOf, titleOf } from "./commit-object.ts";

/** Commits as mails: `--format=email`. */

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

const foldHeader = (text: string): string => {
  const lines: string[] = [];
  let [line = "", ...words] = text.split(" ");
  for (const word of words) {
    if (line.length + 1 + word.length > plainWidth) {
      lines.push(line);
      line = ` ${word}`;
    } else line += ` ${word}`;
  }
  return [...lines, line].join("\n");
};

const subjectOf = (title: string): string => {
  const start = "Subject: [PATCH] ";
  return needsEncoding(title) ? encodeHeader(start, title, /^[!-<>@-^`-~]$/) : foldHeader(start + title);
};

const authorOf = ({ author: { name, mail } }: ShownCommit): string => {
  if (needsEncoding(name)) return `${encodeHeader("From: ", name, /^[A-Za-z0-9!*+/-]$/)} <${mail}>`;
  const isPlain = !/[()<>[\]:;@,."\\]/.test(name);
  return `From: ${isPlain ? name : `"${name.replaceAll(/["\\]/g, "\\$&")}"`} <${mail}>`;
};

const eightBit = [
  "MIME-Version: 1.0",
  "Content-Type: text/plain; charset=UTF-8",
  "Content-Transfer-Encoding: 8bit",
];

/** Writes a commit as a mail. */
export function composeMail(commit: ShownCommit): string {
  const [title, body] = [titleOf(commit.message), bodyOf(commit.message).trimEnd()];
  const isAscii = !needsEncoding(title.replaceAll("=?", "")) && !needsEncoding(body.replaceAll("=?", ""));
  const lines = [
    `From ${commit.hash} Mon Sep 17 00:00:00 2001`,
    authorOf(commit),
    `Date: ${formatDate(commit.author.time, "rfc")}`,
    subjectOf(title),
    ...(isAscii ? [] : eightBit),
    "",
    ...(body === "" ? [] : [body]),
  ];
  return `${lines.join("\n")}\n`;
}
