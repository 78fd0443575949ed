import { meter } from "../../meter.ts";
import type { CustomCommand } from "../custom-command.ts";
import { bytes, Failure, program, readInputs, readOptions } from "./program.ts";

/** `od`, which prints bytes one by one: in octal, hexadecimal or decimal, or as characters. */

const names = {
  flags: "bcvx",
  valued: "AtNj",
  long: "address-radix:A format:t read-bytes:N skip-bytes:j output-duplicates:v",
};

const escapes: Readonly<Record<number, string>> = {
  0: "\\0",
  7: "\\a",
  8: "\\b",
  9: "\\t",
  10: "\\n",
  11: "\\v",
  12: "\\f",
  13: "\\r",
};

const octal = (byte: number): string => byte.toString(8).padStart(3, "0");

type Form = (byte: number) => string;

/** The forms of a byte, by the type that `-t` takes. */
const forms: Readonly<Record<string, Form>> = {
  o1: (byte) => ` ${octal(byte)}`,
  x1: (byte) => ` ${byte.toString(16).padStart(2, "0")}`,
  u1: (byte) => String(byte).padStart(4),
  d1: (byte) => String(byte > 127 ? byte - 256 : byte).padStart(5),
  c: (byte) =>
    (escapes[byte] ?? (byte > 31 && byte < 127 ? String.fromCharCode(byte) : octal(byte))).padStart(4),
};

/** The numbers in which `-A` has addresses printed. */
const radixes: Readonly<Record<string, number>> = { o: 8, x: 16, d: 10 };

/** Returns the function that prints the address of a line in the way of `-A`. */
function addressIn(radix: string): (at: number) => string {
  if (radix === "n") return () => "";
  return (at) => at.toString(radixes[radix] ?? 8).padStart(radix === "x" ? 6 : 7, "0");
}

/** Prints rows of 16 bytes; equal ones in a row once, unless all are wanted. */
function rowsOf(text: string, address: (at: number) => string, form: Form, isWhole: boolean): string {
  let lines = "";
  for (let at = 0; at < text.length; at += 16) {
    const row = text.slice(at, at + 16);
    const shown = Array.from(row, (character) => form(character.charCodeAt(0))).join("");
    if (isWhole || at === 0 || row !== text.slice(at - 16, at)) lines += `${address(at)}${shown}\n`;
    else if (!lines.endsWith("\n*\n")) lines += "*\n";
  }
  return lines;
}

export const od: CustomCommand = program("od", async (args, context) => {
  const { has, value, operands } = readOptions(args, names);
  const form = forms[value("t") ?? (has("c") ? "c" : has("b") ? "o1" : "")];
  if (form === undefined) throw new Failure("only single bytes are supported here: -t x1, o1, u1, d1 or c");
  const start = Number(value("j") ?? 0);
  const end = start + Number(value("N") ?? Infinity);
  const text = meter.walk((await readInputs(operands, context)).slice(start, end));
  const radix = value("A") ?? "o";
  const addressOf = addressIn(radix);
  const address = (at: number): string => addressOf(start + at);
  const last = radix === "n" ? "" : `${address(text.length)}\n`;
  return bytes(rowsOf(text, address, form, has("v")) + last);
});
