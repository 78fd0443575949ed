import { isJsonObject, parseJson } from "../chat/json.ts";
import type { Sandbox } from "../sandbox/contract.ts";
import { readOrDefault, readText } from "./read-text.ts";

/** Finds the command that tests a project by the files in its folder. */

/** Bytes that are read of a file. */
const mostBytes = 1_048_576;

interface Sign {
  readonly file: string;
  readonly command: string;
  /** Returns whether the file's text asks for the command; if omitted, its presence does. */
  readonly fits?: (text: string) => boolean;
}

const hasTestScript = (text: string): boolean => {
  const json = parseJson(text);
  const scripts = isJsonObject(json) ? json["scripts"] : null;
  return isJsonObject(scripts) && typeof scripts["test"] === "string" && scripts["test"] !== "";
};

/** A rule of a Makefile may name several targets before its colon. */
const hasTestTarget = (text: string): boolean =>
  text.split("\n").some((line) => {
    const [, targets = ""] = /^([^\s:=#][^:=#]*):(?!:*=)/.exec(line) ?? [];
    return targets.split(/\s+/).includes("test");
  });

/** Lists the signs in the order in which they are looked for. */
const signs: readonly Sign[] = [
  { file: "go.mod", command: "go test ./..." },
  { file: "Cargo.toml", command: "cargo test" },
  { file: "package.json", command: "npm test", fits: hasTestScript },
  { file: "Makefile", command: "make test", fits: hasTestTarget },
  { file: "pytest.ini", command: "pytest" },
  { file: "pyproject.toml", command: "pytest", fits: (text) => /^[ \t]*\[tool\.pytest/m.test(text) },
];

/** Returns the command of the first sign in a folder of the workspace, or null if there is none. */
export const detectCommand = async (sandbox: Sandbox, folder: string): Promise<string | null> => {
  const entries = await readOrDefault(sandbox.list(folder), []);
  const names = entries.flatMap(({ name, type }) => (type === "directory" ? [] : [name]));
  for (const { file, command, fits } of signs) {
    if (!names.includes(file)) continue;
    if (fits === undefined || fits(await readText(sandbox, `${folder}/${file}`, mostBytes))) return command;
  }
  return null;
};
