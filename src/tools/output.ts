import { countCharacters, firstCharacters, lastCharacters } from "../chat/text.ts";

/** Limits the output of tools. Lengths are code points; no cut splits one. */

const storedLimit = 4 * 1_048_576;

export interface LimitedOutput {
  /** Head, marker and tail within the limit, or the text itself if it fits. */
  readonly text: string;
  readonly omitted: number;
  /** Text stored for `recall`: the whole text, beyond 4 MiB its first and last 2 MiB. */
  readonly full: string;
}

const omissionMarker = (omitted: number, id: string): string =>
  ` … [${omitted} characters omitted; recall("${id}") has the full text] … `;

const truncateStored = (text: string, length: number): string => {
  if (length <= storedLimit) return text;
  const half = storedLimit / 2;
  return `${firstCharacters(text, half)}\n… [${length - storedLimit} characters were not kept] …\n${lastCharacters(text, half)}`;
};

/** Cuts a text to `limit` characters, including the marker; `id` names the stored full text. */
export const limitOutput = (text: string, limit: number, id: string): LimitedOutput => {
  if (text.length <= limit) return { text, omitted: 0, full: text };
  const length = countCharacters(text);
  if (length <= limit) return { text, omitted: 0, full: text };
  // The longest id is assumed, so that equal texts are cut alike whatever their id.
  const room = Math.max(0, limit - omissionMarker(length, id.padEnd(6)).length);
  const head = Math.ceil(room / 2);
  const tail = room - head;
  const omitted = length - head - tail;
  const cut = `${firstCharacters(text, head)}${omissionMarker(omitted, id)}${lastCharacters(text, tail)}`;
  return { text: firstCharacters(cut, limit), omitted, full: truncateStored(text, length) };
};
