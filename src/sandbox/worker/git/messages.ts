import type { ObjectStore } from "#git";
import { decode } from "./line/answers.ts";

/** Formats messages of commits as git's logs show them; the package shows only the first line of a title. */

type Shape = "folded" | "lines" | "expanded" | "raw" | "fields" | "body";

const shapes: Readonly<Record<string, Shape>> = {
  oneline: "folded",
  short: "lines",
  raw: "raw",
  medium: "expanded",
  full: "expanded",
  fuller: "expanded",
};

/** Returns the form in which `git log` or `git show` with these arguments shows messages. */
function shapeOf(args: readonly string[]): Shape {
  let format = "medium";
  for (const arg of args) {
    if (arg === "--") break;
    format = arg === "--oneline" ? "oneline" : (/^--(?:format|pretty)=(.+)$/s.exec(arg)?.[1] ?? format);
  }
  return shapes[format] ?? (format.includes("%B") ? "body" : "fields");
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const combining = /[\p{Mn}\p{Me}\p{Cf}]/u;

const widthOf = (text: string): number => {
  let width = 0;
  for (const character of text) width += wide.test(character) ? 2 : combining.test(character) ? 0 : 1;
  return width;
};

const tabWidth = 8;

const expandTabs = (line: string): string =>
  line
    .split("\t")
    .map((part, index, { length }) =>
      index === length - 1 ? part : part + " ".repeat(tabWidth - (widthOf(part) % tabWidth)),
    )
    .join("");

/** Separates the lines of a title until the log is complete; no message can contain it. */
const lineMark = "\0";

/** Joins the lines of the title, which is the first paragraph, to the single line that the package expects. */
const joinTitle = (message: string, separator: string): string => {
  const [title = "", ...rest] = message.replace(/^\n+/, "").split(/\n(?=\s*\n)|\n$/);
  const joined = title
    .split("\n")
    .map((line) => line.trimEnd())
    .join(separator);
  return rest.length === 0 ? joined : [joined, ...rest].join("\n");
};

const reshape: Readonly<Record<Shape, (message: string) => string>> = {
  folded: (message) => joinTitle(message, " "),
  lines: (message) => joinTitle(message, lineMark),
  expanded: (message) => message.split("\n").map(expandTabs).join("\n"),
  raw: (message) => message,
  // The package omits the last line end of a body, which git keeps in custom formats.
  fields: (message) => `${joinTitle(message, " ")}\n`,
  body: (message) => `${message}\n`,
};

/**
 * Returns a store whose commits have their messages in the form that this log needs, and a function that completes
 * the log's output.
 */
export function shapeMessages(
  store: ObjectStore,
  args: readonly string[],
): { readonly store: ObjectStore; readonly complete: (output: string) => string } {
  const shape = shapeOf(args);
  const read: ObjectStore["read"] = async (hash) => {
    const object = await store.read(hash);
    if (object.type !== "commit" || shape === "raw") return object;
    const text = decode(object.content);
    const start = text.indexOf("\n\n") + 2;
    return {
      ...object,
      content: new TextEncoder().encode(text.slice(0, start) + reshape[shape](text.slice(start))),
    };
  };
  return {
    store: {
      read,
      write: (type, content) => store.write(type, content),
      exists: (hash) => store.exists(hash),
      ingestPack: (pack) => store.ingestPack(pack),
      ingestPackStream: (entries) => store.ingestPackStream(entries),
      findByPrefix: (prefix) => store.findByPrefix(prefix),
    },
    complete: (output) => (shape === "lines" ? output.replaceAll(lineMark, "\n    ") : output),
  };
}
