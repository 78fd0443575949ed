import type { CommandContext, CustomCommand, Result } from "../custom-command.ts";
import { bytes, bytesOf, original, program } from "./program.ts";

/** `printf` and `echo -e`, which write `\xff` and `\377` as bytes, where the shell writes characters. */

/** The first of 256 private characters, which stand for bytes while the shell's own command works with text. */
const firstMark = 0xf700;

const markOf = (byte: number): string => String.fromCharCode(firstMark + byte);

const escapes = /\\(?:\\|x([0-9a-fA-F]{1,2})|(0?[0-7]{1,3}))/g;

const markBytes = (text: string): string =>
  text.replace(escapes, (found, hex: string | undefined, octal: string | undefined) => {
    const digits = hex ?? octal;
    const byte = digits === undefined ? 0 : Number.parseInt(digits, hex === undefined ? 8 : 16) & 255;
    return byte < 128 ? found : markOf(byte);
  });

/** Replaces marks by their bytes. */
function unmark({ stdout, ...rest }: Result): Result {
  const text = stdout.replace(/[^\0-\x7f]/gu, (character) => {
    const code = character.charCodeAt(0) - firstMark;
    return code >= 0 && code < 256 && character.length === 1 ? String.fromCharCode(code) : bytesOf(character);
  });
  return { ...rest, ...bytes(text, rest.stderr, rest.exitCode) };
}

/** Writes words, of which the first `last` may have escapes in them. */
const write = async (args: readonly string[], context: CommandContext, last = Infinity): Promise<Result> => {
  const marked = args.map((arg, at) => (at < last ? markBytes(arg) : arg));
  const isSame = marked.every((arg, at) => arg === args[at]);
  return isSame ? original(context, args) : unmark(await original(context, marked));
};

export const byteEscapes: readonly CustomCommand[] = [
  program("printf", (args, context) => {
    if (args[0] === "-v") return original(context, args);
    const format = args[0] === "--" ? 1 : 0;
    return write(args, context, args[format]?.includes("%b") ? Infinity : format + 1);
  }),
  program("echo", (args, context) => {
    const flags = args.filter(
      (arg, at) => /^-[neE]+$/.test(arg) && args.slice(0, at).every((each) => /^-[neE]+$/.test(each)),
    );
    return flags.some((flag) => flag.includes("e")) ? write(args, context) : original(context, args);
  }),
];
