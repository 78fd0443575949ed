import * as z from "zod";
import type { InitialFile } from "../../agent/state/files.ts";
import type { Draft } from "../../agent/transaction/draft.ts";
import { SandboxError } from "../../sandbox/contract.ts";
import { workspacePath } from "../../sandbox/paths.ts";
import { isProtected } from "../../sandbox/writable.ts";
import { wellFormedText } from "../command.ts";
import { refuseField } from "../problems.ts";
import { base64Of, storeBlob } from "./blobs.ts";

/**
 * Takes the files that a session begins with. They are stored at once and placed at the first use of the
 * workspace.
 */

const fileSchema = z
  .strictObject({
    path: wellFormedText(4_096).min(1).describe("From the root of the workspace."),
    content: wellFormedText(8_388_608).optional().describe("Text."),
    data: z.string().max(8_388_608).optional().describe("Base64, or a data URL."),
  })
  .refine(({ content, data }) => (content === undefined) !== (data === undefined), {
    error: "give exactly one of content and data",
  });

/** Schema for the files of a creation; the limit of its body holds for all of them together. */
export const initialFilesSchema = z.array(fileSchema).max(100);

type GivenFile = z.output<typeof fileSchema>;

/** Returns a path of the workspace without detours; refuses one that leads out of it. */
export const insidePath = (path: string, pointer: string): string => {
  try {
    return workspacePath(path);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return refuseField("invalid_request", pointer, error.message);
  }
};

/** Returns the path without detours; refuses one that no file can have. */
export const writablePath = (path: string, pointer: string): string => {
  const found = insidePath(path, pointer);
  return found !== "." && !isProtected(found)
    ? found
    : refuseField("invalid_request", pointer, "no file may be written there; use another path");
};

/** Refuses a path that is there twice, or that is also a folder of another. */
const requireDistinct = (paths: readonly string[]): void => {
  const known = new Set(paths);
  for (const [index, path] of paths.entries()) {
    const folders = path.split("/").map((_, end, segments) => segments.slice(0, end).join("/"));
    const clash = paths.indexOf(path) < index ? path : folders.find((folder) => known.has(folder));
    if (clash !== undefined)
      refuseField("invalid_request", `/files/${index}/path`, `another file has the path ${clash}`);
  }
};

const storeFile = (
  draft: Draft,
  { content, data = "" }: GivenFile,
  index: number,
): Omit<InitialFile, "path"> =>
  content === undefined
    ? { blob: storeBlob(draft, data && base64Of(data, `/files/${index}/data`)), encoding: "base64" }
    : { blob: storeBlob(draft, content), encoding: "utf-8" };

/** Stores the files of a creation; from now on the session has a workspace. */
export const storeInitialFiles = (draft: Draft, files: readonly GivenFile[]): void => {
  if (files.length === 0) return;
  const paths = files.map((file, index) => writablePath(file.path, `/files/${index}/path`));
  requireDistinct(paths);
  draft.state.initialFiles = files.map((file, index) => ({
    path: paths[index] ?? "",
    ...storeFile(draft, file, index),
  }));
  draft.state.sandboxed = true;
};
