import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import { callSandbox, onPaths } from "../sandbox-call.ts";
import { binaryNote, readFileText } from "./content.ts";
import { pathParameter } from "./parameters.ts";

export const fsReadLines = defineTool({
  name: "fs_read_lines",
  description: "Reads a range of lines of a text file, each with its number.",
  params: z.strictObject({
    path: pathParameter("File to read"),
    offset: z.int().default(1).describe("Number of the first line; lines count from 1."),
    limit: z.int().min(1).max(2000).default(100).describe("How many lines to read, at most 2000."),
  }),
  safety: "read",
  workspace: "read",
  cache: true,
  limit: 50_000,
  does: ["read"],
  acts: ({ path }) => onPaths("read", path),
  run: ({ path, offset, limit }, context) =>
    callSandbox(context, async (sandbox) => {
      if (offset < 0) return toolError("invalid_arguments", "offset: lines count from 1");
      const file = await readFileText(sandbox, path);
      if (file.kind === "error") return file.error;
      if (file.kind === "binary") return { content: binaryNote(path, file) };
      const lines = file.text.split(/\r?\n/);
      if (lines.at(-1) === "") lines.pop();
      const first = Math.max(offset, 1);
      if (first > Math.max(lines.length, 1)) {
        return toolError("invalid_arguments", `offset: ${path} has ${lines.length} lines`);
      }
      const shown = lines.slice(first - 1, first - 1 + limit);
      const numbered = shown.map((line, index) => `${first + index}\t${line}`);
      const header = `[Lines ${shown.length === 0 ? 0 : first}-${first + shown.length - 1} of ${lines.length}]`;
      return { content: [header, ...numbered].join("\n") };
    }),
});
