import type { CustomCommand } from "../custom-command.ts";
import { quoteWord } from "../quote-word.ts";
import { original, program } from "./program.ts";

/** Has `find` know links by their type and run commands where the files are. */

const types: Readonly<Record<string, readonly string[]>> = {
  f: ["-type", "f"],
  d: ["-type", "d"],
  l: ["(", "-not", "-type", "f", "-not", "-type", "d", ")"],
};

const typeTest = (list: string): readonly string[] => {
  const tests = list.split(",").map((type) => types[type] ?? ["-type", type]);
  const [first = [], ...more] = tests;
  return more.length === 0 ? first : ["(", ...first, ...more.flatMap((test) => ["-o", ...test]), ")"];
};

/** Returns a script that runs words in the folder of the file that it is given. */
const inFolder = (words: readonly string[]): string => {
  const command = words.map((word) => word.split("{}").map(quoteWord).join('"$f"')).join(" ");
  return `case $1 in */*) cd "\${1%/*}/" && f=./\${1##*/};; *) f=./$1;; esac; ${command}`;
};

/** Finds files. */
export const find: CustomCommand = program("find", (args, context) => {
  const call: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (word === "-type" || word === "-xtype") call.push(...typeTest(args[(at += 1)] ?? ""));
    else if (word === "-execdir" || word === "-ok" || word === "-okdir") {
      const end = args.findIndex((each, index) => index > at && (each === ";" || each === "+"));
      call.push("-exec", "sh", "-c", inFolder(args.slice(at + 1, end)), "sh", "{}", ";");
      at = end;
    } else call.push(word);
  }
  return original(context, call);
});
