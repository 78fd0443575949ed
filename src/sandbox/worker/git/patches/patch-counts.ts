import { joinNames } from "../shown/diff-notes.ts";
import type { PatchedFile } from "./read-patch.ts";

/** How many lines patches add to and take from each file. */

const nameOf = ({ from, to }: PatchedFile): string =>
  from !== null && to !== null && from !== to ? joinNames(from, to) : (to ?? from ?? "");

const countOf = ({ hunks }: PatchedFile, mark: "-" | "+"): number =>
  hunks.flatMap(({ lines }) => lines).filter((line) => line.mark === mark).length;

/** Most signs of the graph of a file. */
const graphWidth = 40;

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Counts the lines that changes add and remove, as numbers or as a graph. */
export function countChanges(changes: readonly PatchedFile[], form: "numbers" | "graph"): string {
  const rows = changes.map((change) => ({
    name: nameOf(change),
    added: countOf(change, "+"),
    removed: countOf(change, "-"),
  }));
  if (form === "numbers")
    return rows.map(({ name, added, removed }) => `${added}\t${removed}\t${name}\n`).join("");
  const most = Math.max(...rows.map(({ added, removed }) => added + removed));
  const width = Math.max(...rows.map(({ name }) => name.length));
  const digits = Math.max(4, `${most}`.length);
  const scale = (count: number): number =>
    most <= graphWidth || count === 0 ? count : Math.max(1, Math.round((count * graphWidth) / most));
  const lines = rows.map(({ name, added, removed }) => {
    const signs = "+".repeat(scale(added)) + "-".repeat(scale(removed));
    return ` ${name.padEnd(width)} | ${`${added + removed}`.padStart(digits)} ${signs}`.trimEnd();
  });
  const sum = (key: "added" | "removed"): number => rows.reduce((all, row) => all + row[key], 0);
  const [added, removed] = [sum("added"), sum("removed")];
  const parts = [
    ` ${plural(rows.length, "file")} changed`,
    ...(added > 0 || removed === 0 ? [`${plural(added, "insertion")}(+)`] : []),
    ...(removed > 0 || added === 0 ? [`${plural(removed, "deletion")}(-)`] : []),
  ];
  return `${[...lines, parts.join(", ")].join("\n")}\n`;
}
