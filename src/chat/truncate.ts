import { countCharacters, firstCharacters, lastCharacters } from "./text.ts";

/** This file cuts texts to head and tail. Lengths are code points, and no cut splits one. */

const truncationMarker = (shown: number, total: number, recall: string | null): string =>
  ` … [${shown} of ${total} characters shown${recall === null ? "" : `; recall("${recall}") has the full text`}] … `;

/** Pads an id to the longest width, so that equal texts are cut alike whatever the length of their ids. */
export const widestId = (recall: string | null): string | null => recall?.padEnd(6) ?? null;

/** Whether a text has more than `most` characters. */
export const isLonger = (text: string, most: number): boolean =>
  text.length > most && (text.length > 2 * most || countCharacters(text) > most);

/** Cuts to `most` characters, the marker included; `recall` names the stored whole, `total` is its original length. */
export const truncateText = (
  text: string,
  most: number,
  recall: string | null = null,
  total?: number,
): string => {
  if (!isLonger(text, most)) return text;
  const whole = total ?? countCharacters(text);
  const room = Math.max(0, most - truncationMarker(whole, whole, widestId(recall)).length);
  const head = Math.ceil(room / 2);
  const tail = room - head;
  const cut = `${firstCharacters(text, head)}${truncationMarker(room, whole, recall)}${lastCharacters(text, tail)}`;
  return firstCharacters(cut, most);
};
