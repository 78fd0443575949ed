import type { Context, CustomCommand, Result } from "../custom-command.ts";
import { bytes, Failure, linesOf, program, readInput, readOptions } from "./program.ts";

/** `head` and `tail`. */

interface Piece {
  readonly isBytes: boolean;
  /** How many are meant, with the sign that says from where they are counted. */
  readonly count: number;
  readonly sign: string;
}

const names = {
  flags: "qvfzF",
  valued: "ncs",
  long: { lines: "n", bytes: "c", quiet: "q", silent: "q", verbose: "v", follow: "f", retry: "" },
};

const units: Readonly<Record<string, number>> = {
  "": 1,
  b: 512,
  k: 1024,
  K: 1024,
  kB: 1000,
  M: 1 << 20,
  MB: 1e6,
};

function readPiece(what: string | undefined, isBytes: boolean): Piece {
  const [, sign = "", count = "", unit = ""] = /^([+-]?)(\d+)([a-zA-Z]*)$/.exec(what ?? "10") ?? [];
  const factor = units[unit];
  if (count === "" || factor === undefined)
    throw new Failure(`invalid number of ${isBytes ? "bytes" : "lines"}: '${what ?? ""}'`);
  return { isBytes, count: Number(count) * factor, sign };
}

/** Returns where a piece of so many lines or bytes is cut: those before it are of the head. */
const cutHead = ({ count, sign }: Piece, total: number): readonly [number, number] => [
  0,
  sign === "-" ? Math.max(0, total - count) : count,
];

const cutTail = ({ count, sign }: Piece, total: number): readonly [number, number] => [
  sign === "+" ? Math.max(0, count - 1) : Math.max(0, total - count),
  total,
];

const take = (text: string, piece: Piece, cut: typeof cutHead): string => {
  if (piece.isBytes) return text.slice(...cut(piece, text.length));
  const lines = linesOf(text);
  return lines.slice(...cut(piece, lines.length)).join("");
};

/** Writes `-5` and `+5` as `-n 5` and `-n +5`. */
const spell = (args: readonly string[], name: string): string[] =>
  args.flatMap((arg, at) => {
    const [, old = "", letter = ""] = /^-(\d+)([a-z]?)$/.exec(arg) ?? [];
    const isValue = /^-[a-z]*[nc]$/.test(args[at - 1] ?? "");
    if (isValue) return [arg];
    if (name === "tail" && /^\+\d+$/.test(arg)) return ["-n", arg];
    return old === "" ? [arg] : [letter === "c" ? "-c" : "-n", old];
  });

const createEnd = (name: string, cut: typeof cutHead): CustomCommand =>
  program(name, async (args, context: Context): Promise<Result> => {
    const { has, value, operands } = readOptions(spell(args, name), names);
    const piece = readPiece(value("c") ?? value("n"), has("c"));
    const files = operands.length === 0 ? ["-"] : operands;
    const isTitled = has("v") || (files.length > 1 && !has("q"));
    const parts: string[] = [];
    let stderr = "";
    for (const path of files) {
      try {
        const text = take(await readInput(path, context), piece, cut);
        const title = `${parts.length === 0 ? "" : "\n"}==> ${path === "-" ? "standard input" : path} <==\n`;
        parts.push(`${isTitled ? title : ""}${text}`);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        stderr += `${name}: cannot open '${path}' for reading: ${error.message.slice(path.length + 2)}\n`;
      }
    }
    return bytes(parts.join(""), stderr, stderr === "" ? 0 : 1);
  });

export const ends: readonly CustomCommand[] = [createEnd("head", cutHead), createEnd("tail", cutTail)];
