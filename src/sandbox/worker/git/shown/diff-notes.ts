/** `git diff --check`: what is wrong with the new lines of patches. */

const pathsOf = (patch: string): string => /^(?:\+\+\+ b\/|rename to )(.*?)\t?$/m.exec(patch)?.[1] ?? "";

const faults: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/[ \t\r]$/, "trailing whitespace"],
  [/^ *\t* +\t/, "space before tab in indent"],
  [/^(?:<{7}|={7}|>{7}|\|{7})(?: |$)/, "leftover conflict marker"],
];

/** Names the new lines of patches that end with a space or are marks of a conflict. */
export function checkPatches(text: string): string {
  const notes: string[] = [];
  for (const patch of text.split(/^(?=diff --git )/m)) {
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
