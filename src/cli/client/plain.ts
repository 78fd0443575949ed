import type { CallEntry } from "../../client/index.ts";

/** This file writes what happens in a session as lines of plain text for a terminal. */

/** Characters that move the cursor, change colours or the direction of text must not reach a terminal from outside. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const escapeCharacter = (found: string): string =>
  Array.from(
    { length: found.length },
    (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");

/** Shows foreign text as it is, but for characters that act on a terminal; line breaks and tabs stay. */
export const toPlainText = (text: string): string =>
  text.replace(unsafe, (found) =>
    found === "\n" || found === "\t" || found === "\u200d" ? found : escapeCharacter(found),
  );

const longest = 120;

/** Cuts a text to one line of at most 120 characters. */
export const oneLine = (text: string, most = longest): string => {
  const flat = toPlainText(text.replace(/\s+/g, " ").trim());
  const characters = [...flat];
  return characters.length <= most ? flat : `${characters.slice(0, most - 1).join("")}…`;
};

/** Writes a time span as people do: `5 ms`, `4.1 s`, `3 min 1 s`. */
export const duration = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
};

/** Writes a cost in US dollars; empty if it is nothing or unknown. */
export const money = (usd: number | null): string =>
  usd === null || usd === 0 ? "" : `$${usd < 0.01 ? usd.toPrecision(2) : usd.toFixed(2)}`;

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** Returns the text of what a call came to: as it is, or that of its parts; as JSON where it has none. */
export const outputText = (output: unknown): string => {
  const parts: readonly unknown[] = Array.isArray(output) ? output : [output];
  const texts = parts.flatMap((part) => {
    const text = typeof part === "object" && part !== null && "text" in part ? part.text : part;
    return typeof text === "string" ? text : [];
  });
  return texts.length > 0 ? texts.join("\n") : textOf(output);
};

/** The arguments that say most about a call, the first that it has. */
const tellingFields = ["command", "path", "pattern", "url", "question", "query", "name", "task"];

/** Reduces the arguments of a call to its command, its path or what else says most. */
export const shortInput = (input: unknown): string => {
  if (typeof input !== "object" || input === null) return input === null ? "" : oneLine(textOf(input));
  const fields = new Map<string, unknown>(Object.entries(input));
  const name = tellingFields.find((field) => fields.has(field));
  const value =
    name === undefined ? [...fields.values()].find((each) => typeof each === "string") : fields.get(name);
  const args = fields.get("args");
  const rest = name === "command" && Array.isArray(args) ? args.map(textOf) : [];
  return oneLine([value === undefined ? "" : textOf(value), ...rest].join(" "));
};

/** Writes a call as one line: what it did, and what came of it unless it went well. */
export const callLine = ({ tool, input, outcome, duration_ms, cached }: CallEntry): string => {
  const facts = [
    ...(outcome === null || outcome === "ok" ? [] : [outcome]),
    ...(cached ? ["cached"] : []),
    ...(duration_ms === null || duration_ms === 0 ? [] : [duration(duration_ms)]),
  ];
  return [toPlainText(tool), shortInput(input), ...facts].filter((part) => part !== "").join("  ");
};
