import { expect, test } from "vitest";
import type { Json } from "../../src/chat/message.ts";
import type { Completion } from "../../src/model/completer.ts";
import { readAs } from "../support/recordings/outcome.ts";
import { bytesOf, loadRecordings } from "../support/recordings/recording.ts";

/** Servers that put another value where a wire has a text, a number or an object (MO-24). */

const absent = Symbol("absent");
const strangers: readonly (Json | typeof absent)[] = [absent, null, 5, true, "", "x", {}, [null]];

type Path = readonly (string | number)[];

/** Every place inside a value. */
const placesIn = (value: unknown, path: Path = []): Path[] =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([key, inner]) => [[...path, key], ...placesIn(inner, [...path, key])]);

const changed = (frame: string, path: Path, to: Json | typeof absent): string => {
  const value = JSON.parse(frame) as Record<string | number, unknown>;
  const holder = path.slice(0, -1).reduce((inner, key) => inner[key] as typeof value, value);
  const key = path.at(-1) ?? "";
  if (to === absent) Reflect.deleteProperty(holder, key);
  else holder[key] = to;
  return JSON.stringify(value);
};

const isText = (value: unknown): boolean => typeof value === "string" && !/undefined|\[object/.test(value);

/** What is wrong with a completion as a value of its type. */
const flaw = ({ parts, model, usage }: Completion): string | null => {
  for (const part of parts) {
    if ("text" in part && !isText(part.text)) return `a text ${JSON.stringify(part)}`;
    if (part.type !== "tool_call") continue;
    if (![part.id, part.name, part.args].every(isText) || part.name === "")
      return `a call ${JSON.stringify(part)}`;
  }
  if (typeof model !== "string" || model === "") return `the model ${JSON.stringify(model)}`;
  return Object.values(usage).every((count) => Number.isSafeInteger(count) && count >= 0) ? null : "usage";
};

const framed = /data: ?(\{.*\})$/;

test("MO-24: whatever stands where a field belongs, a reply is made of texts or fails as what it is, never as the network's fault or ours", async () => {
  const wrong: string[] = [];
  for (const recording of loadRecordings()) {
    const read = readAs(recording);
    const text = new TextDecoder().decode(bytesOf(recording)).replaceAll("\r\n", "\n");
    const frames = text.split("\n\n");
    for (const [index, frame] of frames.entries()) {
      const [, json = "null"] = framed.exec(frame) ?? [];
      for (const path of placesIn(JSON.parse(json))) {
        for (const stranger of strangers) {
          const other = frame.replace(json, () => changed(json, path, stranger));
          const bytes = new TextEncoder().encode(frames.with(index, other).join("\n\n"));
          const outcome = await read([bytes]).catch((error: unknown) => ({ code: String(error) }));
          const told = "code" in outcome ? outcome.code : (flaw(outcome.completion) ?? "whole");
          if (!/^(whole|\w+_(error|stream|overflow)|overloaded|rate_limited)$/.test(told))
            wrong.push(
              `${recording.name} ${path.join(".")} = ${stranger === absent ? "absent" : JSON.stringify(stranger)}: ${told}`,
            );
        }
      }
    }
  }
  expect(wrong.slice(0, 20)).toEqual([]);
});
