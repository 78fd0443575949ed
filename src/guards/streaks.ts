import { shortDigest } from "../sandbox/sha256.ts";
import { callKeyOf } from "./detectors.ts";
import type { CallKey, ComparedCall } from "./detectors.ts";

/**
 * Stores streaks of calls that outlive the window, as one short text, since every commit writes it: for each call
 * `;`, 8 characters of its digest, 4 of its newest outcome, its count; the longest untouched first.
 */

type EndedCall = ComparedCall & { readonly outcome: string };

const keyLength = 8;
const outcomeLength = 4;

const maxStreaks = 256;
const newestStreaks = maxStreaks / 2;

const digestOf = (call: CallKey): string => shortDigest(callKeyOf(call)).slice(0, keyLength);

/** Stored streak of a call: outcome and count. */
type KeptStreak = string;

/** Returns the length of a stored streak; 0 without one. */
export const streakLength = (kept: KeptStreak | undefined): number =>
  kept === undefined ? 0 : Number(kept.slice(outcomeLength));

/** Extends a streak by one more outcome; with `strict` every outcome counts as equal. */
export const extendStreak = (kept: KeptStreak | undefined, outcome: string, strict: boolean): KeptStreak => {
  const start = outcome.slice(0, outcomeLength);
  const goesOn = kept !== undefined && (strict || kept.startsWith(start));
  return `${start}${goesOn ? streakLength(kept) + 1 : 1}`;
};

/** Finds the stored streak of a call. */
export const findStreak = (counts: string, call: CallKey): KeptStreak | undefined => {
  if (counts === "") return undefined;
  const at = counts.indexOf(`;${digestOf(call)}`);
  if (at < 0) return undefined;
  const end = counts.indexOf(";", at + 1);
  return counts.slice(at + 1 + keyLength, end < 0 ? undefined : end);
};

/**
 * Counts ended calls. Above 256 streaks the newest half stays, and of the others those with the lowest keys, so
 * that cycles longer than the stored list return to those keys and are still counted.
 */
export const countEndedCalls = (counts: string, ended: readonly EndedCall[], strict: boolean): string => {
  const all = new Map<string, KeptStreak>();
  for (const each of counts.split(";").slice(1)) all.set(each.slice(0, keyLength), each.slice(keyLength));
  for (const call of ended) {
    const key = digestOf(call);
    const kept = all.get(key);
    all.delete(key);
    all.set(key, extendStreak(kept, call.outcome, strict));
  }
  if (all.size > maxStreaks) {
    const older = [...all.keys()].slice(0, all.size - newestStreaks).toSorted();
    for (const key of older.slice(maxStreaks - newestStreaks)) all.delete(key);
  }
  let text = "";
  for (const [key, kept] of all) text += `;${key}${kept}`;
  return text;
};
