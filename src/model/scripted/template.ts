import { parseJson } from "../../chat/json.ts";
import type { Json, Message } from "../../chat/message.ts";
import { firstCharacters, textOf } from "../../chat/text.ts";
import type { ModelRequest } from "../completer.ts";

/** Facts of a request that matching and templates may read. */
export interface ScriptFacts {
  readonly request: ModelRequest;
  /** Text of the newest input of a person or of a calling agent. */
  readonly input: string;
  /** Text of the newest message, notes included. */
  readonly last: string;
  /** Newest message that is not a note. */
  readonly newest: Message | undefined;
}

const isNote = ({ marks }: Message): boolean => marks?.includes("note") === true;

const textOfMessage = (message: Message | undefined): string => {
  const result = message?.parts.find((part) => part.type === "tool_result");
  return textOf(result?.content ?? message?.parts ?? []);
};

export const scriptFactsOf = (request: ModelRequest): ScriptFacts => {
  const { messages } = request;
  const input = messages.findLast(
    (message) =>
      message.role === "user" &&
      !isNote(message) &&
      (message.origin === "human" || message.origin === "agent"),
  );
  return {
    request,
    input: textOfMessage(input).replace(/^\[STEERING\] /, ""),
    last: textOfMessage(messages.at(-1)),
    newest: messages.findLast((message) => !isNote(message)),
  };
};

const placeholder = /\{\{([^{}]*)\}\}/g;

const variable = /^(?:input|agent|turn|last|results\.[\w-]+(?:\.[\w-]+)*)$/;

/**
 * Parses the text between the braces: a name, and the number of characters of its value; returns null for plain
 * text.
 */
const parsePlaceholder = (body: string): { readonly name: string; readonly first: number | null } | null => {
  const [name = "", cut, ...more] = body.split("|", 3);
  if (name === "" || more.length > 0) return null;
  if (cut === undefined) return { name: name.trim(), first: null };
  const digits = /^first\s+(\d+)$/.exec(cut.trim())?.[1];
  return digits === undefined ? null : { name: name.trim(), first: Number(digits) };
};

const valueAtPath = (text: string, path: readonly string[]): Json | undefined => {
  let value = parseJson(text);
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as { readonly [key: string]: Json })[key];
  }
  return value;
};

/** Returns the text of the newest result of a tool, or of a JSON path in it; empty if there is none. */
const findResultText = (tool: string, path: readonly string[], messages: readonly Message[]): string => {
  const results = messages.flatMap(({ parts }) => parts.filter((part) => part.type === "tool_result"));
  const result = results.findLast(({ name }) => name === tool);
  const text = textOf(result?.content ?? []);
  if (path.length === 0) return text;
  const value = valueAtPath(text, path);
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
};

const valueOf = (name: string, facts: ScriptFacts): string => {
  const { messages, context } = facts.request;
  if (name === "input") return facts.input;
  if (name === "last") return facts.last;
  if (name === "agent") return context.agent;
  if (name === "turn") return String(context.turn);
  const [, tool = "", ...path] = name.split(".");
  return findResultText(tool, path, messages);
};

/** Fills the placeholders of a template; unknown ones stay (the build refuses them). */
export const fillTemplate = (template: string, facts: ScriptFacts): string =>
  template.replace(placeholder, (whole, body: string) => {
    const asked = parsePlaceholder(body);
    if (asked === null || !variable.test(asked.name)) return whole;
    const value = valueOf(asked.name, facts);
    return asked.first === null ? value : firstCharacters(value, asked.first);
  });

/** Fills the texts of a JSON value, at any depth. */
export const fillJson = (value: Json, facts: ScriptFacts): Json => {
  if (typeof value === "string") return fillTemplate(value, facts);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => fillJson(item, facts));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillJson(item, facts)]));
};

/** Matches a placeholder that a task graph fills itself, so that it is passed unchanged to the call. */
const graphOutputPattern = /^[\w-]{1,64}\.output$/;

/** Finds the placeholders that no request can fill, as written in the template. */
export const findUnknownPlaceholders = (template: string): readonly string[] =>
  [...template.matchAll(placeholder)]
    .filter(([, body = ""]) => {
      const name = parsePlaceholder(body)?.name;
      return name !== undefined && !variable.test(name) && !graphOutputPattern.test(name);
    })
    .map(([whole]) => whole);
