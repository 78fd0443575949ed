import type { CustomCommand } from "../custom-command.ts";
import { quoteWord } from "../quote-word.ts";
import { Failure, original, program } from "./program.ts";

/** `find`, which knows links by their type and runs commands where the files are. */

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
    if (/^-(xtype|ok|okdir)$/.test(word)) throw new Failure(`${word} is not supported here`);
    if (word === "-type") call.push(...typeTest(args[(at += 1)] ?? ""));
    else if (word === "-execdir") {
      const end = args.findIndex((each, index) => index > at && (each === ";" || each === "+"));
      if (end < 0) throw new Failure("missing argument to '-execdir'");
      call.push("-exec", "sh", "-c", inFolder(args.slice(at + 1, end)), "sh", "{}", ";");
      at = end;
    } else call.push(word);
  }
  return original(context, call);
});
