import type { CustomCommand } from "./custom-command.ts";
import { wantsMore } from "./language/endless-loops.ts";
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
import { od } from "./programs/od.ts";
import { pathPrograms } from "./programs/paths.ts";
import { sed } from "./programs/text/sed.ts";
import { shells } from "./programs/shells.ts";
import { stat } from "./programs/stat.ts";
import { xargs } from "./programs/xargs.ts";

/** Warns that a handler will not run, and lets the script continue. */
const trap: CustomCommand = {
  name: trapName,
  execute: async (args) => ({
    stdout: "",
    stderr: `trap: not supported here; the handler for ${args.slice(1).join(" ")} will not run\n`,
    exitCode: 0,
  }),
};

/** Answers whether a file has fewer lines than wanted. */
const more: CustomCommand = {
  name: wantsMore,
  execute: async ([path = "", lines], { fs }) => {
    const count = (await fs.readFile(path)).split("\n").length - 1;
    return { stdout: "", stderr: "", exitCode: count < Number(lines) ? 0 : 1 };
  },
};

const added: readonly CustomCommand[] = [cmp, more, od, trap, ...machinePrograms, ...pathPrograms];

/** The commands that the shell itself lacks. */
export const addedNames: readonly string[] = [...added.map(({ name }) => name), ...jobCommandNames];

/** Returns the commands that are added to the shell or replace its own. */
export const mendedCommands = (): CustomCommand[] => [
  ...added,
  ...createJobCommands(),
  ...byteEscapes,
  ...linkPrograms,
  ...ends,
  ...dates,
  ...shells,
  ...textPrograms,
  awk,
  cp,
  cut,
  diff,
  environment,
  find,
  jq,
  ls,
  sed,
  stat,
  xargs,
];
