import * as z from "zod";
import { defineTool, type Tool } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import { findNearestName } from "../../tools/suggest.ts";

/** Skill with a description, as compiled: `files` are the other files of its folder, by relative path. */
export interface LoadableSkill {
  readonly name: string;
  readonly body: string;
  readonly files: Readonly<Record<string, string>>;
}

/** Longest skill or skill file in characters, with the list of its files: none of them is cut. */
const maxSkillLength = 300_000;

const suggestSkill = (name: string, known: readonly string[]): string => {
  const near = findNearestName(name, known);
  return near === null ? `there are: ${known.join(", ")}` : `did you mean "${near}"?`;
};

/** Creates `load_skill` for an agent that has skills. `inWorkspace`: their files are also in `.skills/`. */
export function createLoadSkill(skills: readonly LoadableSkill[], inWorkspace: boolean): Tool {
  return defineTool({
    name: "load_skill",
    description: "Loads the instructions of a skill, or one of the files that belong to it.",
    params: z.strictObject({
      name: z.string().min(1).max(200).describe("Name of the skill."),
      file: z
        .string()
        .min(1)
        .max(500)
        .optional()
        .describe("A file of the skill, as its instructions list it."),
    }),
    safety: "read",
    workspace: "none",
    pinned: true,
    limit: maxSkillLength,
    run: ({ name, file }) => {
      const skill = skills.find((candidate) => candidate.name === name);
      if (skill === undefined) {
        const known = skills.map((each) => each.name);
        return toolError("not_found", `there is no skill "${name}"; ${suggestSkill(name, known)}`);
      }
      const names = Object.keys(skill.files);
      if (file === undefined) {
        const place = inWorkspace ? ` (for commands also in .skills/${name}/)` : "";
        const files = names.length === 0 ? "" : `\n\nFiles: ${names.join(", ")}${place}`;
        return { content: `${skill.body}${files}` };
      }
      const text = Object.hasOwn(skill.files, file) ? skill.files[file] : undefined;
      return text === undefined
        ? toolError("not_found", `the skill ${name} has no file "${file}"; ${suggestSkill(file, names)}`)
        : { content: text };
    },
  });
}
