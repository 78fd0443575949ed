import { LimpetError } from "../../client/index.ts";
import type { ProblemBody } from "../../client/transcript.ts";
import { formatBytes } from "../parts/format.ts";

/** Says what went wrong in words for people; what the API says of the fields of a request is for programs. */

const words: Readonly<Record<string, string>> = {
  unreachable: "The server was not reached. Try again in a moment.",
  server_silent: "The server did not answer in time. Try again in a moment.",
  unsupported_media_type: "A file of this kind cannot be sent with a message. Put it into Files instead.",
};

const endsSentence = /[.!?…]$/;

/** Says a problem of a request in a sentence. */
export const describeProblem = ({ code, detail, errors = [], meta }: ProblemBody): string => {
  const limit = meta?.["limit"];
  if (code === "payload_too_large" && typeof limit === "number")
    return `This is larger than ${formatBytes(limit)}.`;
  const known = Object.hasOwn(words, code) ? words[code] : undefined;
  if (known !== undefined) return known;
  const [first] = errors;
  if (first === undefined || !detail.startsWith("/")) return detail;
  return `The server did not take this: ${first.message}${endsSentence.test(first.message) ? "" : "."}`;
};

/** Says what was thrown in a sentence. */
export const describeFault = (thrown: unknown): string => {
  if (thrown instanceof LimpetError) return describeProblem(thrown.problem);
  return thrown instanceof Error ? thrown.message : String(thrown);
};

/** Has the refusal of a file name it; what did not reach the server, or wants another key, stays as it is. */
export const nameFile = async <T>({ name }: File, sent: Promise<T>): Promise<T> => {
  try {
    return await sent;
  } catch (fault) {
    throw fault instanceof LimpetError && ![0, 401, 403].includes(fault.problem.status)
      ? new Error(`${name}: ${describeProblem(fault.problem)}`)
      : fault;
  }
};
