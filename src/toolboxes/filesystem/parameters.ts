import * as z from "zod";

/** Returns the path parameter that several file tools share. */
export const pathParameter = (what: string) =>
  z.string().min(1).max(4096).describe(`${what}, relative to the workspace.`);
