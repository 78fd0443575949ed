/** What stands before the command of git: where it runs, and settings of this one call. */

/** Settings by their names in lower case. */
export type GitSettings = Readonly<Record<string, string>>;

export interface GitCall {
  /** Each is a path from the one before. */
  readonly folders: readonly string[];
  readonly settings: GitSettings;
  /** The command and its arguments. */
  readonly args: readonly string[];
}

/** Options that change nothing where there is no pager, no hook and no lock of others. */
const idle = new Set([
  "--no-pager",
  "-P",
  "-p",
  "--paginate",
  "--no-optional-locks",
  "--no-replace-objects",
  "--no-advice",
]);

const valued = /^(-C|-c|--git-dir|--work-tree)(?:=([^]*))?$/;

/** Returns a setting of a call as `name=value`; a name alone is switched on. */
const readSetting = (text: string): readonly [string, string] => {
  const [, name = "", value = "true"] = /^([^=]*)(?:=([^]*))?$/.exec(text) ?? [];
  return [name.toLowerCase(), value];
};

/** Returns the folder that a folder of git's own files belongs to. */
const folderOfGit = (path: string): string => path.replace(/(^|\/)\.git\/?$/, "$1") || ".";

/** Reads what stands before the command. */
export function readCall(given: readonly string[]): GitCall {
  const folders: string[] = [];
  const settings = new Map<string, string>();
  const read: Readonly<Record<string, (value: string) => void>> = {
    "-c": (value) => settings.set(...readSetting(value)),
    "-C": (value) => folders.push(value || "."),
    "--git-dir": (value) => folders.push(folderOfGit(value)),
  };
  let at = 0;
  for (; at < given.length; at += 1) {
    const word = given[at] ?? "";
    if (idle.has(word)) continue;
    const [, option, glued] = valued.exec(word) ?? [];
    if (option === undefined) break;
    if (glued === undefined) at += 1;
    read[option]?.(glued ?? given[at] ?? "");
  }
  return { folders, settings: Object.fromEntries(settings), args: given.slice(at) };
}
