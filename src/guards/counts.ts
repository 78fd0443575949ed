import { shortDigest } from "../sandbox/sha256.ts";
import { keyOf } from "./detectors.ts";
import type { Key, Seen } from "./detectors.ts";

/**
 * Streaks of calls that outlive the window, as one short text, since it is written with each commit: for each
 * call `;`, 8 characters that tell it from others, 4 of its newest outcome, its count; the longest untouched first.
 */

/** A call with its outcome. */
type Ended = Seen & { readonly outcome: string };

const keyLength = 8;
const outcomeLength = 4;

const most = 256;
const newest = most / 2;

const digestOf = (call: Key): string => shortDigest(keyOf(call)).slice(0, keyLength);

/** The streak of a call as it is kept: outcome and count. */
type Kept = string;

/** How long a kept streak is; 0 without one. */
export const lengthOf = (kept: Kept | undefined): number =>
  kept === undefined ? 0 : Number(kept.slice(outcomeLength));

/** The streak once the call came to an outcome again; `strict` counts whatever came of it. */
export const continued = (kept: Kept | undefined, outcome: string, strict: boolean): Kept => {
  const start = outcome.slice(0, outcomeLength);
  const goesOn = kept !== undefined && (strict || kept.startsWith(start));
  return `${start}${goesOn ? lengthOf(kept) + 1 : 1}`;
};

/** The kept streak of a call. */
export const keptOf = (counts: string, call: Key): Kept | undefined => {
  if (counts === "") return undefined;
  const at = counts.indexOf(`;${digestOf(call)}`);
  if (at < 0) return undefined;
  const end = counts.indexOf(";", at + 1);
  return counts.slice(at + 1 + keyLength, end < 0 ? undefined : end);
};

/**
 * Counts ended calls. Of more than 256 the newest half stays, and of the others those with the lowest keys: cycles that are
 * longer than what is kept come back to them, and are counted by them.
 */
export const counted = (counts: string, ended: readonly Ended[], strict: boolean): string => {
  const all = new Map<string, Kept>();
  for (const each of counts.split(";").slice(1)) all.set(each.slice(0, keyLength), each.slice(keyLength));
  for (const call of ended) {
    const key = digestOf(call);
    const kept = all.get(key);
    all.delete(key);
    all.set(key, continued(kept, call.outcome, strict));
  }
  if (all.size > most) {
    const older = [...all.keys()].slice(0, all.size - newest).toSorted();
    for (const key of older.slice(most - newest)) all.delete(key);
  }
  let text = "";
  for (const [key, kept] of all) text += `;${key}${kept}`;
  return text;
};
