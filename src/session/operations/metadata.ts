import * as z from "zod";
import { subjectOf } from "../../agent/memory/remember.ts";
import type { Session } from "../../agent/state/session.ts";
import { wellFormedText } from "../command.ts";
import { refuseField } from "../problems.ts";

/** Defines metadata: pairs of texts from the session's owner. `subject` names the person whose memory agents use. */

const mostPairs = 16;

const isFull = (pairs: object): boolean => Object.keys(pairs).length > mostPairs;

export const metadataSchema = z
  .record(wellFormedText(64).min(1), wellFormedText(512))
  .refine((pairs) => !isFull(pairs), `at most ${mostPairs} pairs`);

/** Changes all metadata except `subject`, which is fixed when the session is created. */
export const changeMetadata = (
  before: Session["metadata"],
  given: Session["metadata"],
): Session["metadata"] => {
  const subject = subjectOf(before);
  const wanted = subjectOf(given) ?? subject;
  if (wanted !== subject)
    return refuseField(
      "invalid_request",
      "/metadata/subject",
      "it is set when a session is created and stays; leave it out, or create another session for this subject",
    );
  const after = subject === null ? given : { ...given, subject };
  if (isFull(after))
    return refuseField(
      "invalid_request",
      "/metadata",
      `at most ${mostPairs} pairs, and the subject, which stays, is one of them; leave one out`,
    );
  return after;
};
