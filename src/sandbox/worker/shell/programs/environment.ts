import type { CustomCommand } from "../custom-command.ts";
import { quoteWord } from "../quote-word.ts";
import { Failure, pipedInto, program, succeed } from "./program.ts";

interface Setting {
  readonly isEmpty: boolean;
  readonly removed: readonly string[];
  readonly set: Readonly<Record<string, string>>;
  readonly words: readonly string[];
}

/** Spells `--unset=NAME` and `-S 'words'` as the words that they stand for. */
const spell = (args: readonly string[]): string[] => {
  const [first, ...rest] = args;
  if (first === undefined) return [];
  if (first.startsWith("--unset=")) return ["-u", first.slice(8), ...rest];
  if (/^(-S|--split-string)$/.test(first)) return [...(rest[0] ?? "").split(/\s+/), ...rest.slice(1)];
  return [{ "-": "-i", "--ignore-environment": "-i", "--unset": "-u" }[first] ?? first, ...rest];
};

/** Reads `-i`, `-u NAME` and `NAME=value` before the words of a command. */
function readSetting(args: readonly string[]): Setting {
  const removed: string[] = [];
  const set: Record<string, string> = {};
  let isEmpty = false;
  let words = spell(args);
  for (; words.length > 0; words = spell(words)) {
    const [word = "", ...rest] = words;
    const [, name, value = ""] = /^([a-zA-Z_]\w*)=([^]*)$/.exec(word) ?? [];
    words = rest;
    if (name !== undefined) set[name] = value;
    else if (word === "-i") isEmpty = true;
    else if (word === "-u") removed.push(...words.splice(0, 1));
    else if (word === "--") return { isEmpty, removed, set, words };
    else if (word.startsWith("-")) throw new Failure(`invalid option -- '${word.replace(/^-+/, "")}'`, 125);
    else return { isEmpty, removed, set, words: [word, ...rest] };
  }
  return { isEmpty, removed, set, words: [] };
}

/** Prints the environment, or runs a command in a changed one. */
export const environment: CustomCommand = program("env", async (args, context) => {
  const { isEmpty, removed, set, words } = readSetting(args);
  const kept = Object.entries(isEmpty ? {} : (context.exportedEnv ?? {}));
  const env = { ...Object.fromEntries(kept.filter(([name]) => !removed.includes(name))), ...set };
  if (words.length === 0)
    return succeed(
      Object.entries(env)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(""),
    );
  const script = `export ${Object.keys(env).join(" ")}; ${words.map(quoteWord).join(" ")}`;
  const path = context.env.get("PATH") ?? "/usr/bin:/bin";
  const run = context.exec?.(script, {
    cwd: context.cwd,
    env: { PATH: path, ...env },
    replaceEnv: true,
    stdin: pipedInto(context),
    stdinKind: "bytes",
  });
  return (await run) ?? succeed();
});
