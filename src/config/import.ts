import { readDocument } from "./document.ts";
import { child, itemsOf, textOf } from "./located.ts";

/** Names of the skills that a file of the original names in `embedded_skills`; none if it cannot be read. */
export const namedSkills = (content: string): string[] => {
  const { root } = readDocument("", content);
  if (root === null) return [];
  return itemsOf(child(root, "embedded_skills")).flatMap((item) => {
    const name = textOf(child(item, "name")) ?? "";
    return /^[A-Za-z0-9][\w-]{0,63}$/.test(name) ? [name] : [];
  });
};
