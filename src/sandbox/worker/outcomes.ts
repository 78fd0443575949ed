import { sha256Hex } from "../sha256.ts";
import { fail } from "./errors.ts";
import type { Disk } from "./files/files.ts";
import { atomically } from "./files/files.ts";

/** Milliseconds for which outcomes of commands and keyed changes are kept. */
export const retention = 24 * 60 * 60 * 1000;

/**
 * Runs a change once per key: a used key gives the stored answer, in one transaction with the change.
 * The same key with another body is a `conflict`. Refused changes are not stored, since nothing happened.
 */
export function once<Answer>(
  disk: Disk,
  key: string | undefined,
  body: string,
  change: () => Answer,
): Answer {
  if (key === undefined) return atomically(disk, change);
  const hash = sha256Hex(body);
  return atomically(disk, () => {
    const [known] = disk.database.all<{ body: string; answer: string }>(
      "SELECT body, answer FROM outcomes WHERE key = ?",
      key,
    );
    if (known !== undefined) {
      if (known.body !== hash) fail("conflict", "this Idempotency-Key was used for another request");
      return JSON.parse(known.answer) as Answer;
    }
    const answer = change();
    disk.database.all(
      "INSERT INTO outcomes (key, body, answer, at) VALUES (?, ?, ?, ?)",
      key,
      hash,
      JSON.stringify(answer),
      disk.now(),
    );
    return answer;
  });
}
