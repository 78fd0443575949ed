import type { SimpleCommand, Word } from "./script-syntax.ts";
import { literal, textOf } from "./script-syntax.ts";

interface ShortOptions {
  readonly flags: string;
  /** Options whose value follows. */
  readonly valued: string;
}

/** The short options of commands that do not take them together, or together with their values. */
const shortOptions: Readonly<Record<string, ShortOptions>> = {
  paste: { flags: "s", valued: "d" },
};

/** How a shell is asked to run a script: what is set before, and which of its arguments the script is. */
interface ShellCall {
  readonly settings: string;
  readonly at: number;
}

/** Reads the flags before the script of `bash -euo pipefail -c …`; null if it runs no script of its arguments. */
export const readShellCall = (args: readonly string[]): ShellCall | null => {
  let settings = "";
  for (let at = 0; /^-[a-z]+$/.test(args[at] ?? ""); at += 1) {
    const letters = (args[at] ?? "").slice(1);
    const plain = letters.replace(/[clio]/g, "");
    if (plain !== "") settings += `set -${plain}; `;
    if (letters.includes("o")) settings += `set -o ${args[(at += 1)] ?? ""}; `;
    if (letters.includes("c")) return { settings, at: at + 1 };
  }
  return null;
};

/** Splits `-sd,` into `-s -d ,`; `awaits` means that the value of the last option is the next word. */
const splitOption = (
  word: Word,
  { flags, valued }: ShortOptions,
): { readonly words: readonly Word[]; readonly awaits: boolean } => {
  const text = textOf(word);
  const words: Word[] = [];
  for (let at = 1; at < text.length; at += 1) {
    const letter = text.charAt(at);
    if (!flags.includes(letter) && !valued.includes(letter)) return { words: [word], awaits: false };
    words.push(literal(`-${letter}`));
    if (flags.includes(letter)) continue;
    const rest = text.slice(at + 1);
    const value = [...(rest === "" ? [] : literal(rest).parts), ...word.parts.slice(1)];
    return value.length === 0
      ? { words, awaits: true }
      : { words: [...words, { type: "Word", parts: value }], awaits: false };
  }
  return { words, awaits: false };
};

/** Splits the options before the operands. */
const splitOptions = (
  args: readonly Word[],
  options: ShortOptions,
): { readonly words: readonly Word[]; readonly operands: readonly Word[] } => {
  const words: Word[] = [];
  let at = 0;
  for (let word = args[0]; word !== undefined && /^-[a-zA-Z0]/.test(textOf(word)); word = args[at]) {
    const { words: split, awaits } = splitOption(word, options);
    words.push(...split, ...(awaits ? args.slice(at + 1, at + 2) : []));
    at += awaits ? 2 : 1;
  }
  return { words, operands: args.slice(at) };
};

/** Lets commands take options as they are mostly written: `paste -sd,`. */
export const mendOptions = (command: SimpleCommand, name: string): void => {
  const options = Object.hasOwn(shortOptions, name) ? shortOptions[name] : undefined;
  if (options === undefined) return;
  const { words, operands } = splitOptions(command.args, options);
  command.args = [...words, ...(name === "paste" && operands.length === 0 ? [literal("-")] : operands)];
};
