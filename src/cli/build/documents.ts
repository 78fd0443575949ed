import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { buildOnce, filesIn } from "./source-mark.ts";

/** Writes the files that the Worker serves and does not load: `.limpet/public`, by address. */

const root = resolve(import.meta.dirname, "../../..");

/** Pages that coding agents read as one text. */
const pages = ["README.md", "src/api/reference.md", "config/reference.md"];

const readPages = (): string =>
  pages.map((page) => `<!-- ${page} -->\n\n${readFileSync(join(root, page), "utf8").trim()}\n`).join("\n");

/** Writes a file unless it is unchanged, since `wrangler dev` reloads for each file that changes. */
const writeChanged = (path: string, text: string): void => {
  const target = join(root, ".limpet/public", path);
  if (existsSync(target) && readFileSync(target, "utf8") === text) return;
  mkdirSync(dirname(target), { recursive: true });
  const draft = join(root, ".limpet", `.${process.pid}-document`);
  writeFileSync(draft, text);
  renameSync(draft, target);
};

/** Matches rooms that do not affect the descriptions. */
const others = /^src\/(?:console|cli|client)\//;

/** Writes the descriptions of the API unless they are up to date; they are the same for every team. */
export const writeDocuments = (): Promise<void> =>
  buildOnce(
    "documents",
    [...pages, "src/cli/build/documents.ts", ...filesIn("src", /\.ts$/).filter((file) => !others.test(file))],
    async () => {
      const { createOpenapi, createAsyncapi } = await import("../../api/documents/index.ts");
      writeChanged("v1/openapi.json", JSON.stringify(createOpenapi()));
      writeChanged("v1/asyncapi.json", JSON.stringify(createAsyncapi()));
      writeChanged("llms.txt", readPages());
    },
  );
