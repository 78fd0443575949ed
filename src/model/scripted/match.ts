import { isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { Script } from "./schema.ts";
import type { ScriptFacts } from "./template.ts";

type Scene = Script["scenes"][number];

type When = Scene["when"];

export type ScriptReply = Script["replies"][number];

type TextMatch = NonNullable<When["input"]>;

/** Position of the thread in the script, which a scripted reply stores in its opaque data. */
interface ScriptPosition {
  readonly scene: string;
  /** How often each scene was played in this thread. */
  readonly played: Readonly<Record<string, number>>;
}

/** Reply to play and, for scenes, the position after it. */
export interface ScriptChoice {
  readonly reply: ScriptReply;
  readonly position?: ScriptPosition;
}

const isPositionIn = ({ scenes }: Script, data: Json): boolean =>
  isJsonObject(data) && "played" in data && scenes.some(({ name }) => name === data["scene"]);

/**
 * Returns the position after the thread's previous reply, read from that reply, so that a shortened history changes
 * nothing. Any provider that plays the script may have written it: one turn may use a provider, the next its
 * fallback.
 */
const positionOf = (script: Script, { request }: ScriptFacts): ScriptPosition | undefined => {
  for (let index = request.messages.length - 1; index >= 0; index--) {
    for (const part of request.messages[index]?.parts ?? []) {
      const data = "opaque" in part ? part.opaque?.data : undefined;
      if (data !== undefined && isPositionIn(script, data)) return data as unknown as ScriptPosition;
    }
  }
  return undefined;
};

const escapeWord = (word: string): string => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

const hasWord = (text: string, word: string): boolean =>
  new RegExp(`(?<![\\p{L}\\p{N}_])${escapeWord(word)}(?![\\p{L}\\p{N}_])`, "iu").test(text);

/** Compares literally, ignoring case. */
const matchesText = (match: TextMatch | undefined, text: string): boolean => {
  if (match === undefined) return true;
  const lowered = text.toLowerCase();
  const { equals, starts_with: begin, contains, words } = match;
  return (
    (equals === undefined || lowered === equals.toLowerCase()) &&
    (begin === undefined || lowered.startsWith(begin.toLowerCase())) &&
    (contains === undefined || lowered.includes(contains.toLowerCase())) &&
    (words ?? []).every((word) => hasWord(text, word))
  );
};

const matchesLast = (last: When["last"], facts: ScriptFacts): boolean => {
  if (last === undefined) return true;
  const result = facts.newest?.parts.find((part) => part.type === "tool_result");
  return (
    matchesText(last.text, facts.last) &&
    (last.tool === undefined || result?.name === last.tool) &&
    (last.ok === undefined || (result !== undefined && (result.status === "ok") === last.ok))
  );
};

const matchesScene = (
  { name, when }: Scene,
  facts: ScriptFacts,
  position: ScriptPosition | undefined,
): boolean => {
  const { context } = facts.request;
  const same = (["agent", "purpose", "turn", "call", "attempt"] as const).every(
    (key) => when[key] === undefined || when[key] === context[key],
  );
  return (
    same &&
    (when.after === undefined || when.after === position?.scene) &&
    (when.times === undefined || (position?.played[name] ?? 0) < when.times) &&
    matchesText(when.input, facts.input) &&
    matchesLast(when.last, facts)
  );
};

/** Chooses the reply: the n-th of `replies`, else the first matching scene, else `start`; returns undefined if none. */
export const chooseReply = (script: Script, facts: ScriptFacts): ScriptChoice | undefined => {
  if (script.scenes.length === 0) {
    const reply = script.replies[facts.request.context.call];
    return reply === undefined ? undefined : { reply };
  }
  const position = positionOf(script, facts);
  const scene =
    script.scenes.find((candidate) => matchesScene(candidate, facts, position)) ??
    script.scenes.find(({ name }) => name === script.start);
  if (scene === undefined) return undefined;
  const played = { ...position?.played, [scene.name]: (position?.played[scene.name] ?? 0) + 1 };
  return { reply: scene, position: { scene: scene.name, played } };
};

/** Explains in a sentence what a request lacks of a reply's `expect`; returns null if nothing. */
export const findMismatch = ({ expect = {} }: ScriptReply, { request, last }: ScriptFacts): string | null => {
  const declared = new Set(request.tools.map(({ name }) => name));
  const count = expect.messages ?? request.messages.length;
  const differences = [
    ...(expect.tools ?? []).filter((tool) => !declared.has(tool)).map((tool) => `${tool} is not declared`),
    ...(expect.not_tools ?? []).filter((tool) => declared.has(tool)).map((tool) => `${tool} is declared`),
    ...(count === request.messages.length ? [] : [`${request.messages.length} messages, expected ${count}`]),
    ...findLack("the newest message", last, expect.last_contains),
    ...findLack("the system prompt", request.system, expect.system_contains),
  ];
  return differences.length === 0 ? null : differences.join("; ");
};

const findLack = (what: string, text: string, part = ""): string[] =>
  text.includes(part) ? [] : [`${what} lacks ${JSON.stringify(part)}`];
