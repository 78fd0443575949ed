import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAsyncapi, createOpenapi } from "../../../src/api/documents/index.ts";
import { findBrokenChannels, findBrokenMessages, findBrokenRoutes } from "./breaking.ts";

/**
 * The documents as clients know them. `node test/api/documents/golden.ts` takes up what was added; what breaks clients
 * is taken up only with `--breaking`, which needs a new version of the API.
 */

type Document = Readonly<Record<string, unknown>>;

export interface Documents {
  readonly openapi: Document;
  readonly asyncapi: Document;
}

const file = join(import.meta.dirname, "documents.golden");

/** Leaves out what no program reads. */
const withoutTexts = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) =>
      ["example", "examples"].includes(key) || (key === "description" && typeof each === "string")
        ? []
        : [[key, withoutTexts(each)]],
    ),
  );
};

export const readGolden = (): Documents => JSON.parse(readFileSync(file, "utf8")) as Documents;

export const currentDocuments = (): Documents =>
  withoutTexts({ openapi: createOpenapi(), asyncapi: createAsyncapi() }) as Documents;

export const findBroken = (before: Documents, after: Documents): readonly string[] => [
  ...findBrokenRoutes(before.openapi, after.openapi),
  ...findBrokenMessages(before.asyncapi, after.asyncapi),
  ...findBrokenChannels(before.asyncapi, after.asyncapi),
];

if (process.argv[1] === import.meta.filename) {
  const now = currentDocuments();
  const broken = process.argv.includes("--breaking") ? [] : findBroken(readGolden(), now);
  if (broken.length > 0) {
    console.error(broken.join("\n"));
    process.exitCode = 1;
  } else writeFileSync(file, `${JSON.stringify(now)}\n`);
}
