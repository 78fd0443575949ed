import type { Team } from "../config/team.ts";
import type { SkillFiles } from "../sandbox/contract.ts";
import { sha256Hex } from "../sandbox/sha256.ts";

/** Returns the skill files in the workspace, for agents that run commands; null if there are none. */
export const skillFilesOf = ({ agents, skills }: Team): SkillFiles | null => {
  const withCommands = agents.filter(({ toolboxes }) => toolboxes.some(({ name }) => name === "exec"));
  const known = new Set(withCommands.flatMap((agent) => agent.skills));
  const found = skills.filter(({ name }) => known.has(name));
  if (found.length === 0) return null;
  const files = Object.fromEntries(
    found.flatMap(({ name, body, files: beside }) => [
      [`${name}/SKILL.md`, body],
      ...Object.entries(beside).map(([path, text]) => [`${name}/${path}`, text]),
    ]),
  ) as Record<string, string>;
  return { digest: sha256Hex(JSON.stringify(files)), files };
};
