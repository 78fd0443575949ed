import * as z from "zod";
import { utf8Length } from "../../chat/tokens.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { describeChange, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

export const fsWrite = defineTool({
  name: "fs_write",
  description:
    "Writes a whole file and creates missing folders. An existing file is replaced; its mode stays.",
  params: z.strictObject({
    path: pathParameter("File to write"),
    content: z.string().describe("The whole content of the file."),
  }),
  safety: "idempotent",
  workspace: "write",
  does: ["write"],
  acts: ({ path }) => onPaths("write", path),
  run: ({ path, content }, context) =>
    describeChange(
      context,
      (sandbox, options) => sandbox.write(path, content, options),
      () => `Wrote ${utf8Length(content)} bytes to ${path}.`,
    ),
});
