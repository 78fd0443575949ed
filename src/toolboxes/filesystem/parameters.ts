import * as z from "zod";

/** Parameters that several file tools share. */
export const pathParameter = (what: string) =>
  z.string().min(1).max(4096).describe(`${what}, relative to the workspace.`);

export const overwriteParameter = z
  .boolean()
  .default(false)
  .describe("Replace what is at the destination already.");
