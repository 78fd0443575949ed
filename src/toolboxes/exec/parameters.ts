import * as z from "zod";

/** Parameters that the command tools share. */
export const commandParameters = {
  cwd: z.string().min(1).max(4096).optional().describe("Folder to run in; omitted: the default one."),
  timeout: z.number().positive().max(86_400).optional().describe("Seconds after which it is ended."),
  background: z.boolean().default(false).describe("Return an exec_id at once; follow it with exec_poll."),
};

export const execIdParameter = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,128}$/)
  .describe("Id of a command that runs in the background.");
