import { fail } from "./errors.ts";

/** Bytes of bodies and files that the workspaces of an isolate hold together, since they share its memory. */
const mostBytes = 64 * 1024 * 1024;

let held = 0;

/** Does work that holds the given bytes; refuses it, to be sent again, while others hold too many. */
export const holdBytes = async <T>(bytes: number, work: () => Promise<T>): Promise<T> => {
  if (held > 0 && held + bytes > mostBytes)
    fail("capacity_exceeded", "other files are being written; send it again");
  held += bytes;
  try {
    return await work();
  } finally {
    held -= bytes;
  }
};
