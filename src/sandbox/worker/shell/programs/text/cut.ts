import type { CustomCommand } from "../../custom-command.ts";
import { edit, Failure, linesOf, type Options, program, readInputs, readOptions } from "../program.ts";

const names = {
  flags: "sn!",
  valued: "bcdfo",
  long: "bytes:b characters:c delimiter:d fields:f only-delimited:s complement:! output-delimiter:o",
};

/** Returns whether a place (from 1 on) is in a list such as `1,3-5,7-`. */
function readList(list: string): (place: number) => boolean {
  const ranges = list.split(/[, ]/).map((range) => {
    const [, from = "", dash = "", to = ""] = /^(\d*)(-?)(\d*)$/.exec(range) ?? [];
    if (from === "" && to === "") throw new Failure(`invalid field range '${range}'`);
    return [Number(from || 1), to !== "" ? Number(to) : dash === "" ? Number(from) : Infinity] as const;
  });
  return (place) => ranges.some(([from, to]) => place >= from && place <= to);
}

function cutLine(line: string, isIn: (place: number) => boolean, { has, value }: Options): string | null {
  const isChosen = (_: string, at: number): boolean => isIn(at + 1) !== has("!");
  if (!has("f")) return [...line].filter(isChosen).join(value("o") ?? "");
  const delimiter = value("d") ?? "\t";
  if (!line.includes(delimiter)) return has("s") ? null : line;
  return line
    .split(delimiter)
    .filter(isChosen)
    .join(value("o") ?? delimiter);
}

/** Prints parts of lines. */
export const cut: CustomCommand = program("cut", async (args, context) => {
  const options = readOptions(args, names);
  const list = options.value("f") ?? options.value("c") ?? options.value("b");
  if (list === undefined) throw new Failure("you must specify a list of bytes, characters, or fields");
  const delimiter = options.value("d");
  if (delimiter !== undefined && [...delimiter].length !== 1)
    throw new Failure("the delimiter must be a single character");
  const isIn = readList(list);
  return edit(await readInputs(options.operands, context), (text) => {
    const parts = linesOf(text).map((line) => cutLine(line.replace(/\n$/, ""), isIn, options));
    return parts.map((part) => (part === null ? "" : `${part}\n`)).join("");
  });
});
