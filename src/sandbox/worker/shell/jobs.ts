import type { CustomCommand } from "./custom-command.ts";
import { jobCommands, lastJob } from "./language/job-statements.ts";

const ended = (exitCode: number, stderr = "") => ({ stdout: "", stderr, exitCode });

/** The names of the commands for jobs, none of which the shell itself has. */
export const jobCommandNames: readonly string[] = [...Object.values(jobCommands), "jobs", "disown", "kill"];

const firstId = 1001;

/** Returns the id of a job by its id or its number: `1002`, `%2`. */
const idOf = (name: string): number =>
  name.startsWith("%") ? firstId - 1 + Number(name.slice(1)) : Number(name);

/** Returns commands for the jobs of one run, which have ended before a script can name them. */
export const createJobCommands = (): CustomCommand[] => {
  const statuses = new Map<number, number>();
  const unseen: number[] = [];
  const end: CustomCommand["execute"] = async ([status], { assignShellVariable }) => {
    const id = firstId + statuses.size;
    statuses.set(id, Number(status));
    unseen.push(id);
    await assignShellVariable?.(lastJob, String(id));
    return ended(0);
  };
  const wait: CustomCommand["execute"] = async (args) => {
    if (args.includes("-n")) return ended(statuses.get(unseen.shift() ?? 0) ?? 127);
    let status = 0;
    for (const name of args.filter((arg) => !arg.startsWith("-"))) {
      const found = statuses.get(idOf(name));
      if (found === undefined) return ended(127, `bash: wait: pid ${name} is not a child of this shell\n`);
      status = found;
    }
    unseen.length = 0;
    return ended(status);
  };
  const kill: CustomCommand["execute"] = async (args) =>
    ended(1, `bash: kill: (${args.findLast((arg) => !arg.startsWith("-")) ?? ""}) - No such process\n`);
  const idle: CustomCommand["execute"] = async () => ended(0);
  return Object.entries({
    [jobCommands.end]: end,
    [jobCommands.wait]: wait,
    kill,
    jobs: idle,
    disown: idle,
  }).map(([name, execute]) => ({ name, execute }));
};
