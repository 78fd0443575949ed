import { workspacePath } from "../paths.ts";
import { skillsFolder } from "../writable.ts";
import { metaOf, setMeta } from "./files/database.ts";
import { fail } from "./errors.ts";
import type { Disk } from "./files/files.ts";
import { runAtomically } from "./files/files.ts";
import { locate } from "./files/locate.ts";
import type { Writer } from "./files/tree.ts";
import { removeTree, writeFile } from "./files/tree.ts";

/**
 * Places the team's skills in the workspace as one tree that only the runtime writes; it is read-only to all
 * others.
 */

const writer: Writer = {
  name: "the team",
  writablePaths: [skillsFolder, `${skillsFolder}/**`],
  guarded: false,
  placesSkills: true,
};

/** Returns the digest of the placed skills; null if none were ever placed. */
export const readPlacedDigest = ({ database }: Disk): string | null => metaOf(database, "skills");

const pathOf = (name: string): string => {
  const path = workspacePath(`${skillsFolder}/${name}`);
  return path.startsWith(`${skillsFolder}/`)
    ? path
    : fail("invalid_request", `files: ${name} is outside ${skillsFolder}`);
};

/** Replaces the whole folder at once. */
export const placeSkills = (
  disk: Disk,
  { digest, files }: { readonly digest: string; readonly files: Readonly<Record<string, string>> },
): void =>
  runAtomically(disk, () => {
    const { entry } = locate(disk, skillsFolder, false);
    if (entry !== null) removeTree(disk, writer, skillsFolder, entry);
    for (const [name, text] of Object.entries(files))
      writeFile(disk, writer, pathOf(name), new TextEncoder().encode(text));
    setMeta(disk.database, "skills", digest);
  });
