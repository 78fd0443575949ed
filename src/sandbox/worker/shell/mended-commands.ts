import type { IFileSystem } from "just-bash/browser";
import { hexOf } from "../../sha256.ts";
import type { CustomCommand } from "./custom-command.ts";
import { trapName } from "./language/exit-handler.ts";
import { createJobCommands, jobCommandNames } from "./jobs.ts";
import { awk } from "./programs/text/awk.ts";
import { byteEscapes } from "./programs/byte-escapes.ts";
import { cp } from "./programs/cp.ts";
import { cut } from "./programs/text/cut.ts";
import { dates } from "./programs/dates.ts";
import { cmp, diff } from "./programs/diff.ts";
import { ends } from "./programs/ends.ts";
import { environment } from "./programs/environment.ts";
import { linkPrograms } from "./programs/links.ts";
import { find } from "./programs/find.ts";
import { textPrograms } from "./programs/text/grep-sort.ts";
import { jq } from "./programs/text/jq.ts";
import { ls } from "./programs/ls.ts";
import { machinePrograms } from "./programs/machine.ts";
import { sed } from "./programs/text/sed.ts";
import { shells } from "./programs/shells.ts";
import { stat } from "./programs/stat.ts";
import { xargs } from "./programs/xargs.ts";

/** This file mends commands of the shell that take less than people write, or print more, and adds a few. */

const failed = (stderr: string) => ({ stdout: "", stderr: `${stderr}\n`, exitCode: 1 });

/** Makes an empty file or folder in `/tmp` and prints its name. */
const mktemp = (fs: IFileSystem): CustomCommand => ({
  name: "mktemp",
  execute: async (args, { cwd }) => {
    const template = args.find((arg) => !arg.startsWith("-")) ?? "/tmp/tmp.XXXXXXXXXX";
    if (!template.includes("XXX")) return failed(`mktemp: too few X's in template '${template}'`);
    const letters = hexOf(crypto.getRandomValues(new Uint8Array(16)));
    const name = template.replace(/X{3,}/, (marks) => letters.slice(0, marks.length));
    const path = fs.resolvePath(cwd, args.includes("-t") ? `/tmp/${name}` : name);
    await (args.includes("-d") ? fs.mkdir(path) : fs.writeFile(path, ""));
    return { stdout: `${path}\n`, stderr: "", exitCode: 0 };
  },
});

/** Returns where a path leads, whose last part may not exist; null if it leads nowhere. */
const resolveLinks = async (fs: IFileSystem, path: string): Promise<string | null> => {
  const [, folder = "", name = ""] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
  const parent = (): Promise<string> => fs.realpath(folder === "" ? "/" : folder);
  return fs.realpath(path).catch(() =>
    parent().then(
      (found) => `${found === "/" ? "" : found}/${name}`,
      () => null,
    ),
  );
};

/** Prints where paths lead, links resolved. */
const realpath = (fs: IFileSystem): CustomCommand => ({
  name: "realpath",
  execute: async (args, { cwd }) => {
    const options = args.filter((arg) => arg.startsWith("-"));
    if (options.length > 0) return failed(`realpath: ${options[0]} is not supported here`);
    const lines: string[] = [];
    for (const path of args) {
      const found = await resolveLinks(fs, fs.resolvePath(cwd, path));
      if (found === null) return failed(`realpath: ${path}: No such file or directory`);
      lines.push(`${found}\n`);
    }
    return { stdout: lines.join(""), stderr: "", exitCode: 0 };
  },
});

/** Lets a script go on that sets a handler, and says that it will not run. */
const trap: CustomCommand = {
  name: trapName,
  execute: async (args) => ({
    stdout: "",
    stderr: `trap: not supported here; the handler for ${args.slice(1).join(" ")} will not run\n`,
    exitCode: 0,
  }),
};

/** The commands that the shell does not have itself. */
export const addedNames: readonly string[] = [
  "cmp",
  ...machinePrograms.map(({ name }) => name),
  "mktemp",
  "realpath",
  trapName,
  ...jobCommandNames,
];

/** The commands that this file makes or mends. */
export const mendedCommands = (fs: IFileSystem): CustomCommand[] => [
  mktemp(fs),
  realpath(fs),
  trap,
  ...createJobCommands(),
  ...byteEscapes,
  ...linkPrograms,
  ...ends,
  awk,
  cmp,
  cp,
  cut,
  ...dates,
  diff,
  environment,
  find,
  jq,
  ls,
  ...machinePrograms,
  sed,
  ...shells,
  stat,
  ...textPrograms,
  xargs,
];
