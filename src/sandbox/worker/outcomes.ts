import type { ChangeOutcome, FileChange } from "../contract.ts";
import { sha256Hex } from "../sha256.ts";
import { fail } from "./errors.ts";
import type { Disk } from "./files/files.ts";
import { runAtomically } from "./files/files.ts";

/** Milliseconds for which outcomes of commands and keyed changes are kept. */
export const retention = 24 * 60 * 60 * 1000;

/** Replaces the request of a key that was ended before its change arrived. */
const ended = "";

interface StoredOutcome {
  readonly body: string;
  readonly answer: string;
}

const findOutcome = ({ database }: Disk, key: string): StoredOutcome | undefined =>
  database.all<StoredOutcome>("SELECT body, answer FROM outcomes WHERE key = ?", key)[0];

const storeOutcome = ({ database, now }: Disk, key: string, { body, answer }: StoredOutcome): void => {
  database.all("INSERT INTO outcomes (key, body, answer, at) VALUES (?, ?, ?, ?)", key, body, answer, now());
};

/** Returns the changes of a key's parts, in order. */
const changesOfParts = ({ database }: Disk, key: string): readonly FileChange[] =>
  database
    .all<{ answer: string }>(
      "SELECT answer FROM outcomes WHERE key > ? AND key < ? ORDER BY key",
      `${key}/`,
      `${key}0`,
    )
    .flatMap(({ answer }) => JSON.parse(answer) as readonly FileChange[]);

const endKeyWith = (
  disk: Disk,
  key: string,
  outcomeOf: (changes: readonly FileChange[]) => ChangeOutcome | null,
): ChangeOutcome | null =>
  runAtomically(disk, () => {
    const known = findOutcome(disk, key);
    if (known !== undefined) return JSON.parse(known.answer) as ChangeOutcome | null;
    const outcome = outcomeOf(changesOfParts(disk, key));
    storeOutcome(disk, key, { body: ended, answer: JSON.stringify(outcome) });
    return outcome;
  });

/**
 * Ends a key and returns the outcome of its change; null if nothing was changed. Changes not made yet are refused
 * from now on.
 */
export const endKey = (disk: Disk, key: string): ChangeOutcome | null =>
  endKeyWith(disk, key, (changes) => (changes.length === 0 ? null : { changes, partial: true }));

/** Ends a key whose parts are all made, and returns their outcome. */
export const completeKey = (disk: Disk, key: string): ChangeOutcome | null =>
  endKeyWith(disk, key, (changes) => ({ changes }));

/** Refuses a change of an ended key; a repetition is another change, under another key. */
const refuseLate = (): never => fail("capacity_exceeded", "this change came too late; send it again");

/**
 * Runs a change once per key: a used key returns the stored answer, in one transaction with the change. The same
 * key with another body is `key_reused`. Refused changes are not stored, since nothing happened.
 */
export function runOnce<Answer>(
  disk: Disk,
  key: string | undefined,
  body: string,
  change: () => Answer,
): Answer {
  if (key === undefined) return runAtomically(disk, change);
  const hash = sha256Hex(body);
  return runAtomically(disk, () => {
    const known = findOutcome(disk, key);
    if (known !== undefined) {
      if (known.body === ended) refuseLate();
      if (known.body !== hash) fail("key_reused", "this Idempotency-Key was used for another request");
      return JSON.parse(known.answer) as Answer;
    }
    const answer = change();
    storeOutcome(disk, key, { body: hash, answer: JSON.stringify(answer) });
    return answer;
  });
}

/** Part of the changes that a request makes one after the other under one key. */
interface Part {
  readonly key: string | undefined;
  /** Number of the part, from 1. */
  readonly number: number;
  readonly body: string;
}

/** Runs a part of a change once; refuses a new part once the key has ended. */
export function runPartOnce<Answer>(disk: Disk, { key, number, body }: Part, change: () => Answer): Answer {
  if (key === undefined) return runAtomically(disk, change);
  const own = `${key}/${String(number).padStart(6, "0")}`;
  return runAtomically(disk, () => {
    if (findOutcome(disk, key) !== undefined && findOutcome(disk, own) === undefined) refuseLate();
    return runOnce(disk, own, body, change);
  });
}
