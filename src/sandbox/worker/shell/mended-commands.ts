import type { Bash, IFileSystem } from "just-bash/browser";
import { Bash as Shell } from "#shell";
import { hexOf } from "../../sha256.ts";

/** Mends commands of the shell that accept less than people write, or print more, and adds a few. */

type ScriptTransform = Parameters<Bash["registerTransformPlugin"]>[0];

type CustomCommand = NonNullable<
  NonNullable<ConstructorParameters<typeof Bash>[0]>["customCommands"]
>[number];

type Script = ReturnType<Bash["transform"]>["ast"];

type Command = Script["statements"][number]["pipelines"][number]["commands"][number];

type SimpleCommand = Extract<Command, { type: "SimpleCommand" }>;

type Word = SimpleCommand["args"][number];

interface ShortOptions {
  readonly flags: string;
  /** Letters of the options that take a value. */
  readonly valued: string;
}

/** Short options of commands that do not accept them together, or together with their values. */
const shortOptions: Readonly<Record<string, ShortOptions>> = {
  xargs: { flags: "0rt", valued: "IndP" },
  paste: { flags: "s", valued: "d" },
};

const literal = (value: string): Word => ({ type: "Word", parts: [{ type: "Literal", value }] });

const textOf = ({ parts: [part] }: Word): string =>
  part?.type === "Literal" || part?.type === "SingleQuoted" ? part.value : "";

/** Call of a shell with a script: the settings before it, and the index of the script among the arguments. */
interface ShellCall {
  readonly settings: string;
  readonly at: number;
}

/** Reads the flags before the script of `bash -euo pipefail -c …`; returns null if no argument is a script. */
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

const splitShellFlags = (command: SimpleCommand): void => {
  const call = readShellCall(command.args.map(textOf));
  const script = command.args[call?.at ?? 0];
  if (call === null || script === undefined) return;
  const parts: Word["parts"] = [{ type: "SingleQuoted", value: call.settings }, ...script.parts];
  command.args = [literal("-c"), { type: "Word", parts }, ...command.args.slice(call.at + 1)];
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

const mend = (command: SimpleCommand): void => {
  const name = command.name === null ? "" : textOf(command.name);
  if (name === "bash" || name === "sh") splitShellFlags(command);
  if (name === "trap") command.name = literal(trapName);
  const options = Object.hasOwn(shortOptions, name) ? shortOptions[name] : undefined;
  if (options === undefined) return;
  const { words, operands } = splitOptions(command.args, options);
  command.args = [...words, ...(name === "paste" && operands.length === 0 ? [literal("-")] : operands)];
};

const visit = (node: unknown): void => {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node && node.type === "SimpleCommand") mend(node as SimpleCommand);
  for (const part of Object.values(node)) visit(part);
};

/** Lets commands accept options as they are mostly written: `xargs -I{}`, `paste -sd,`, `bash -ec`. */
export const splitShortOptions = (): ScriptTransform => ({
  name: "split-short-options",
  transform: ({ ast }) => {
    visit(ast);
    return { ast };
  },
});

/** Quotes a word for a script. */
export const quoteWord = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

const isFolder = (fs: IFileSystem, path: string): Promise<boolean> =>
  fs.stat(path).then(
    (found) => found.isDirectory,
    () => false,
  );

/** Lists files without the empty lines that the shell's own `ls` prints between them, as if each were a folder. */
const createLs = (fs: IFileSystem): CustomCommand => {
  const shell = new Shell({ fs, commands: ["ls"] });
  return {
    name: "ls",
    execute: async (args, { cwd }) => {
      const list = async (words: readonly string[]) => {
        const script = ["ls", ...words].map(quoteWord).join(" ");
        const { stdout, stderr, exitCode } = await shell.exec(script, { cwd, rawScript: true });
        return { stdout, stderr, exitCode };
      };
      const options = args.filter((arg) => arg.startsWith("-"));
      const operands = args.filter((arg) => !arg.startsWith("-"));
      const areFolders = await Promise.all(operands.map((path) => isFolder(fs, fs.resolvePath(cwd, path))));
      const listsContents = !options.some((option) => /^-\w*d|^--directory$/.test(option));
      const folders = operands.filter((_, at) => listsContents && areFolders[at]);
      const files = operands.filter((path) => !folders.includes(path));
      if (files.length === 0) return list(args);
      const first = await list([...options, ...files]);
      const stdout = first.stdout.replace(/\n\n/g, "\n");
      if (folders.length === 0) return { ...first, stdout };
      const second = await list([...options, ...folders]);
      const title = folders.length === 1 ? `${folders[0]}:\n` : "";
      return {
        stdout: `${stdout}${stdout === "" ? "" : "\n"}${title}${second.stdout}`,
        stderr: first.stderr + second.stderr,
        exitCode: Math.max(first.exitCode, second.exitCode),
      };
    },
  };
};

const failed = (stderr: string) => ({ stdout: "", stderr: `${stderr}\n`, exitCode: 1 });

/** Creates an empty file or folder in `/tmp` and prints its name. */
const mktemp = (fs: IFileSystem): CustomCommand => ({
  name: "mktemp",
  execute: async (args, { cwd }) => {
    const template = args.find((arg) => !arg.startsWith("-")) ?? "/tmp/tmp.XXXXXXXXXX";
    if (!template.includes("XXX")) return failed(`mktemp: too few X's in template '${template}'`);
    const letters = hexOf(crypto.getRandomValues(new Uint8Array(16)));
    const name = template.replace(/X{3,}/, (marks) => letters.slice(0, marks.length));
    const path = fs.resolvePath(cwd, args.includes("-t") ? `/tmp/${name}` : name);
    await (args.includes("-d") ? fs.mkdir(path) : fs.writeFile(path, ""));
    return { stdout: `${path}\n`, stderr: "", exitCode: 0 };
  },
});

/** Returns the target of a path, whose last part may not exist; null if there is none. */
const resolveLinks = async (fs: IFileSystem, path: string): Promise<string | null> => {
  const [, folder = "", name = ""] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
  const parent = (): Promise<string> => fs.realpath(folder === "" ? "/" : folder);
  return fs.realpath(path).catch(() =>
    parent().then(
      (found) => `${found === "/" ? "" : found}/${name}`,
      () => null,
    ),
  );
};

/** Prints the targets of paths, with links resolved. */
const realpath = (fs: IFileSystem): CustomCommand => ({
  name: "realpath",
  execute: async (args, { cwd }) => {
    const options = args.filter((arg) => arg.startsWith("-"));
    if (options.length > 0) return failed(`realpath: ${options[0]} is not supported here`);
    const lines: string[] = [];
    for (const path of args) {
      const found = await resolveLinks(fs, fs.resolvePath(cwd, path));
      if (found === null) return failed(`realpath: ${path}: No such file or directory`);
      lines.push(`${found}\n`);
    }
    return { stdout: lines.join(""), stderr: "", exitCode: 0 };
  },
});

/** Name of `trap` in scripts, since the shell does not look up a command of that name. */
const trapName = "set-trap";

/** Accepts a handler in a script, and warns that it will not run. */
const trap: CustomCommand = {
  name: trapName,
  execute: async (args) => ({
    stdout: "",
    stderr:
      args.length < 2
        ? ""
        : `trap: not supported here; the handler for ${args.slice(1).join(" ")} will not run\n`,
    exitCode: 0,
  }),
};

/** Commands that the shell itself lacks. */
export const addedNames: readonly string[] = ["mktemp", "realpath", trapName];

/** Returns the commands that this file adds or mends. */
export const mendedCommands = (fs: IFileSystem): CustomCommand[] => [
  createLs(fs),
  mktemp(fs),
  realpath(fs),
  trap,
];
