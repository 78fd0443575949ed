import type { CustomCommand } from "./custom-command.ts";
import { jobCommands, lastJob } from "./language/job-statements.ts";

const ended = (exitCode: number, stderr = "") => ({ stdout: "", stderr, exitCode });

/** The names of these commands, none of which the shell has itself. */
export const jobCommandNames: readonly string[] = [...Object.values(jobCommands), "jobs", "disown", "kill"];

/** Commands for the jobs of one run, all of which have ended when a script can ask for them. */
export const createJobCommands = (): CustomCommand[] => {
  const statuses = new Map<number, number>();
  const unseen: number[] = [];
  const idOf = (name: string): number =>
    (name.startsWith("%") ? firstId - 1 : 0) + Number(name.replace("%", ""));
  const firstId = 1001;
  return [
    {
      name: jobCommands.end,
      execute: async ([status], { assignShellVariable }) => {
        const id = firstId + statuses.size;
        statuses.set(id, Number(status));
        unseen.push(id);
        await assignShellVariable?.(lastJob, String(id));
        return ended(0);
      },
    },
    {
      name: jobCommands.wait,
      execute: async (args) => {
        const names = args.filter((arg) => !arg.startsWith("-"));
        if (args.includes("-n")) return ended(statuses.get(unseen.shift() ?? 0) ?? 127);
        let status = 0;
        for (const name of names) {
          status = statuses.get(idOf(name)) ?? 127;
          if (status === 127 && !statuses.has(idOf(name)))
            return ended(127, `bash: wait: pid ${name} is not a child of this shell\n`);
        }
        unseen.length = 0;
        return ended(status);
      },
    },
    ...["jobs", "disown"].map((name) => ({ name, execute: async () => ended(0) })),
    {
      name: "kill",
      execute: async (args) => {
        const id = args.filter((arg) => !arg.startsWith("-")).at(-1) ?? "";
        return ended(1, `bash: kill: (${id}) - No such process\n`);
      },
    },
  ];
};
