/** Notes on patches: what happened to files as a whole, and what is wrong with their new lines. */

const pathsOf = (patch: string): string => /^(?:\+\+\+ b\/|rename to )(.*?)\t?$/m.exec(patch)?.[1] ?? "";

const nameIn = (patch: string): string => {
  const both = /^diff --git a\/(.*)$/m.exec(patch)?.[1] ?? "";
  return both.slice(0, (both.length - " b/".length) / 2);
};

const summaryOf = (patch: string): string => {
  const head = patch.split(/^@@ /m)[0] ?? "";
  const wordAfter = (start: string): string | undefined => new RegExp(`^${start} (.*)$`, "m").exec(head)?.[1];
  const [created, deleted] = [wordAfter("new file mode"), wordAfter("deleted file mode")];
  if (created !== undefined) return ` create mode ${created} ${nameIn(head)}\n`;
  if (deleted !== undefined) return ` delete mode ${deleted} ${nameIn(head)}\n`;
  const [before, after] = [wordAfter("old mode"), wordAfter("new mode")];
  const [from, to = ""] = [wordAfter("rename from"), wordAfter("rename to")];
  const change = before === undefined ? "" : ` mode change ${before} => ${after}`;
  if (from === undefined) return change === "" ? "" : `${change} ${nameIn(head)}\n`;
  const renamed = ` rename ${joinNames(from, to)} (${wordAfter("similarity index")})\n`;
  return change === "" ? renamed : `${renamed}${change}\n`;
};

/** Writes two paths as one where they are the same: `src/{a => b}/x`. */
export function joinNames(from: string, to: string): string {
  const [before, after] = [from.split("/"), to.split("/")];
  let start = 0;
  while (start < Math.min(before.length, after.length) - 1 && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  if (start === 0 && end === 0) return `${from} => ${to}`;
  const middle = (parts: readonly string[]): string => parts.slice(start, parts.length - end).join("/");
  const first = before.slice(0, start).map((part) => `${part}/`);
  const last = end === 0 ? [] : before.slice(-end).map((part) => `/${part}`);
  return `${first.join("")}{${middle(before)} => ${middle(after)}}${last.join("")}`;
}

const patchesIn = (text: string): readonly string[] => text.split(/^(?=diff --git )/m);

/** Lists the files that patches create, delete and rename, and those whose mode they change. */
export const summarizePatches = (text: string): string => patchesIn(text).map(summaryOf).join("");

const faults: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/[ \t\r]$/, "trailing whitespace"],
  [/^ *\t* +\t/, "space before tab in indent"],
  [/^(?:<{7}|={7}|>{7}|\|{7})(?: |$)/, "leftover conflict marker"],
];

/** Names the new lines of patches that end with a space or are marks of a conflict. */
export function checkPatches(text: string): string {
  const notes: string[] = [];
  for (const patch of patchesIn(text)) {
    let line = 0;
    const at = patch.search(/^@@ /m);
    for (const each of at < 0 ? [] : patch.slice(at).split("\n")) {
      const start = /^@@ -\S+ \+(\d+)/.exec(each)?.[1];
      if (start !== undefined) line = Number(start) - 1;
      else if (/^[ +]/.test(each)) line += 1;
      const [, what] = (each.startsWith("+") && faults.find(([fault]) => fault.test(each.slice(1)))) || [];
      if (what !== undefined) notes.push(`${pathsOf(patch)}:${line}: ${what}.\n${each}\n`);
    }
  }
  return notes.join("");
}
