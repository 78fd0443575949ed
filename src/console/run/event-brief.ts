import type { StoredEvent } from "../../client/index.ts";
import type { Fields } from "../parts/json.ts";
import { fieldsOf, outputText, textOf } from "../parts/json.ts";

/** Says in few words what an event is about, so that one need not open each to find one. */

/** The fields that tell the most of an event, those that name something before those that say how it went. */
const telling = ["tool", "agent", "path", "server", "question", "title", "purpose", "model"];
const outcomes = ["outcome", "state", "reason", "finish_reason", "code", "decision", "stage", "kind"];

const longest = 80;

const firstOf = (fields: Fields, names: readonly string[]): readonly string[] =>
  names.flatMap((name) => textOf(fields[name]) ?? []).slice(0, 1);

/** Returns the text of a message or an input that the event holds. */
const wordsOf = ({ message, content, text }: Fields): string =>
  textOf(message) ?? outputText(fieldsOf(message)["parts"] ?? content ?? text ?? null);

/** Returns one line of at most 80 characters; empty if the event's type says all. */
export const describeEvent = ({ data }: Pick<StoredEvent, "data">): string => {
  const fields = fieldsOf(data as unknown as Fields);
  const named = [...firstOf(fields, telling), ...firstOf(fields, outcomes)];
  const line = [...named, wordsOf(fields)].filter((each) => each !== "").join(" · ");
  const flat = Array.from(
    line
      .slice(0, 10 * longest)
      .replaceAll(/\s+/gu, " ")
      .trim(),
  );
  return flat.length > longest ? `${flat.slice(0, longest - 1).join("")}…` : flat.join("");
};
