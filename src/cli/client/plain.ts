import type { CallEntry } from "../../client/index.ts";

/** Formats the events of a session as lines of plain text for a terminal. */

/**
 * Matches characters that move the cursor, change colours or the direction of text: foreign text must not bring
 * them to a terminal.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const escapeCharacter = (found: string): string =>
  Array.from(
    { length: found.length },
    (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");

/** Returns foreign text without characters that act on a terminal; line breaks and tabs stay. */
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

/** Formats a time span for people: `5 ms`, `4.1 s`, `3 min 1 s`. */
export const duration = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
};

/** Formats a cost in US dollars; empty if it is zero or unknown. */
export const money = (usd: number | null): string => {
  if (usd === null || usd === 0) return "";
  if (usd < 0.00001) return "<$0.00001";
  return `$${usd < 0.00995 ? usd.toPrecision(2) : usd.toFixed(2)}`;
};

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** Returns the text of a call's output: unchanged, or that of its parts; as JSON if it has no text. */
export const outputText = (output: unknown): string => {
  const parts: readonly unknown[] = Array.isArray(output) ? output : [output];
  const texts = parts.flatMap((part) => {
    const text = typeof part === "object" && part !== null && "text" in part ? part.text : part;
    return typeof text === "string" ? text : [];
  });
  return texts.length > 0 ? texts.join("\n") : textOf(output);
};

/** Most informative arguments of a call; the first one present is shown. */
const tellingFields = ["command", "path", "pattern", "url", "question", "query", "name", "task"];

/** Reduces the arguments of a call to its command, its path or whatever is most informative. */
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

/** Formats a call as one line: its action, and its outcome with the reason if it failed. */
export const callLine = ({ tool, input, outcome, output, duration_ms, cached }: CallEntry): string => {
  const facts = [
    ...(outcome === null || outcome === "ok"
      ? []
      : [outcome, output === null ? "" : oneLine(outputText(output))]),
    ...(cached ? ["cached"] : []),
    ...(duration_ms === null || duration_ms === 0 ? [] : [duration(duration_ms)]),
  ];
  return [toPlainText(tool), shortInput(input), ...facts].filter((part) => part !== "").join("  ");
};
