import type { Json } from "../chat/message.ts";
import { firstCharacters } from "../chat/text.ts";
import type { SessionEvent } from "./events.ts";

/** Events as they are stored and sent: one line of JSON each, `data` at most 64 KiB (AP-27). */

const dataLimit = 65_536;

const cutStrings = (value: Json, most: number): Json => {
  if (typeof value === "string") return value.length <= most ? value : `${firstCharacters(value, most)}…`;
  if (Array.isArray(value)) return value.map((each: Json) => cutStrings(each, most));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, cutStrings(each, most)]));
};

/** Data that fits, its longest texts cut first; the whole stands in the session's messages. */
const fitted = (data: Json): Json => {
  for (let most = 32_768; most >= 64; most /= 4) {
    const cut = cutStrings(data, most);
    const shown =
      typeof cut === "object" && cut !== null && !Array.isArray(cut) ? { ...cut, truncated: true } : cut;
    if (JSON.stringify(shown).length <= dataLimit) return shown;
  }
  return { truncated: true };
};

/** A line whose beginning is the same for all events: put together as text, which costs a fraction of an object of it all. */
const lineOf = (before: string, event: SessionEvent): string => {
  const line = before + JSON.stringify(event).slice(1);
  if (line.length <= dataLimit) return line;
  return before + JSON.stringify({ ...event, data: fitted(event.data as unknown as Json) }).slice(1);
};

/** Numbers a transition's events after `head`. */
export const linesOf = (
  events: readonly SessionEvent[],
  session: string,
  head: number,
  at: number,
): readonly string[] => {
  const id = JSON.stringify(session);
  return events.map((event, index) => {
    const seq = head + index + 1;
    return lineOf(`{"v":1,"seq":${seq},"id":${id.slice(0, -1)}:${seq}","at":${at},"session":${id},`, event);
  });
};
