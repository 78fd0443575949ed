import { LimpetError } from "../../client/index.ts";

/** Waits for what may not be there; null if it is not. */
export const orNull = async <T>(reading: Promise<T>): Promise<T | null> => {
  try {
    return await reading;
  } catch (fault) {
    if (fault instanceof LimpetError && fault.problem.status === 404) return null;
    throw fault;
  }
};
