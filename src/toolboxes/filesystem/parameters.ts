import * as z from "zod";

/** A path, as several file tools take it. */
export const pathParameter = (what: string) =>
  z.string().min(1).max(4096).describe(`${what}, relative to the workspace.`);
