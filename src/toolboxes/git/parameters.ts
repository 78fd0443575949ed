import * as z from "zod";

/** Path below the folder of the repository. */
export const pathParameter = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => !path.startsWith("/") && !path.split("/").includes("..") && !path.includes("\0"), {
    error: 'name a path below the folder of the repository, without ".."',
  });
