import type { CustomCommand } from "../custom-command.ts";
import { Failure, forEach, linesOf, program, readInput, readOptions } from "./program.ts";

/** `head` and `tail`. */

interface Piece {
  readonly isBytes: boolean;
  /** Number of lines or bytes, with the sign that decides from where they are counted. */
  readonly count: number;
  readonly sign: string;
}

const names = {
  flags: "qvfzF",
  valued: "ncs",
  long: "lines:n bytes:c quiet:q silent:q verbose:v follow:f retry:",
};

const units: Readonly<Record<string, number>> = { "": 1, b: 512, k: 1024, K: 1024, kB: 1000, M: 1 << 20 };

function readPiece(what: string | undefined, isBytes: boolean): Piece {
  const [, sign = "", count = "", unit = ""] = /^([+-]?)(\d+)([a-zA-Z]*)$/.exec(what ?? "10") ?? [];
  const factor = units[unit];
  if (count === "" || factor === undefined)
    throw new Failure(`invalid number of ${isBytes ? "bytes" : "lines"}: '${what ?? ""}'`);
  return { isBytes, count: Number(count) * factor, sign };
}

/** Returns where a piece of so many lines or bytes begins and ends. */
type Cut = (piece: Piece, total: number) => readonly [start: number, end: number];

const cutHead: Cut = ({ count, sign }, total) => [0, sign === "-" ? Math.max(0, total - count) : count];

const cutTail: Cut = ({ count, sign }, total) => [
  sign === "+" ? Math.max(0, count - 1) : Math.max(0, total - count),
  total,
];

const take = (text: string, piece: Piece, cut: Cut): string => {
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

const createEnd = (name: string, cut: Cut): CustomCommand =>
  program(name, async (args, context) => {
    const { has, value, operands } = readOptions(spell(args, name), names);
    const piece = readPiece(value("c") ?? value("n"), has("c"));
    const isTitled = has("v") || (operands.length > 1 && !has("q"));
    let gap = "";
    const result = await forEach(name, operands.length === 0 ? ["-"] : operands, async (path) => {
      const text = take(await readInput(path, context, `cannot open '${path}' for reading`), piece, cut);
      const title = isTitled ? `${gap}==> ${path === "-" ? "standard input" : path} <==\n` : "";
      gap = "\n";
      return title + text;
    });
    return { ...result, stdoutKind: "bytes" };
  });

export const ends: readonly CustomCommand[] = [createEnd("head", cutHead), createEnd("tail", cutTail)];
