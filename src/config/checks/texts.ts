import { nodeAt } from "../document/located.ts";
import type { TeamDraft } from "../draft.ts";
import { agentKeys } from "../sections/agents.ts";

/** Finds instructions that are a file's name, and keys that became lines of them because of their indentation. */

const keyLine = /^([a-z_]+):(?:\s|$)/;

/** Returns the first of the keys with which a text ends; lines indented below them belong to them. */
const endingKey = (text: string, isKey: (name: string) => boolean): string | null => {
  let found: string | null = null;
  for (const line of text.trimEnd().split("\n").toReversed()) {
    const [, name] = keyLine.exec(line) ?? [];
    if (name !== undefined && isKey(name)) found = name;
    else if (!/^\s+\S/.test(line)) return found;
  }
  return found;
};

/** Matches a text that is nothing but the name of a text file. */
const fileName = /^@?[\w./\\-]+\.(?:md|mdx|markdown|txt|prompt|tmpl|j2)$/;

export const checkTexts = (draft: TeamDraft): void => {
  for (const { index, value } of draft.agents) {
    if (fileName.test(value.instructions.trim()))
      draft.report(
        "key_ignored",
        ["agents", index, "instructions"],
        "the text is only the name of a file, which is not read",
        { hint: "write the text itself, after |; what all agents read stands in context/*.md" },
      );
    const isMissing = (name: string): boolean =>
      agentKeys.has(name) && nodeAt(draft.written, ["agents", index, name]) === undefined;
    const key = endingKey(value.instructions, isMissing);
    if (key === null) continue;
    draft.report("key_ignored", ["agents", index, "instructions"], `the text ends with the key ${key}`, {
      hint: "a key of the agent begins in the same column as instructions",
    });
  }
};
