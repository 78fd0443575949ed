import type { CustomCommand } from "../custom-command.ts";
import { owner } from "./file-facts.ts";
import {
  Failure,
  linesOf,
  pipedInto,
  program,
  readInput,
  readOptions,
  succeed,
  textFrom,
} from "./program.ts";

/** Small programs that the shell has not: of the machine and its user, and some that work with files. */

const uname: Readonly<Record<string, string>> = {
  s: "Linux",
  n: "sandbox",
  r: "6.1.0",
  m: "x86_64",
  o: "GNU/Linux",
};

const id = program("id", async (args) => {
  const { has } = readOptions(args, { flags: "ugnrG" });
  if (!has("u") && !has("g") && !has("G"))
    return succeed(`uid=1000(${owner}) gid=1000(${owner}) groups=1000(${owner})\n`);
  return succeed(has("n") ? `${owner}\n` : "1000\n");
});

const truncate = program("truncate", async (args, context) => {
  const { value, operands } = readOptions(args, { flags: "c", valued: "s", long: { size: "s" } });
  const [, sign = "", digits = "", unit = ""] = /^([+-]?)(\d+)([KMG]?)$/.exec(value("s") ?? "") ?? [];
  if (digits === "") throw new Failure(`Invalid number: '${value("s") ?? ""}'`);
  const amount = Number(digits) * 1024 ** " KMG".indexOf(unit || " ");
  for (const path of operands) {
    const before = await readInput(path, context).catch(() => "");
    const size = sign === "" ? amount : Math.max(0, before.length + Number(`${sign}${amount}`));
    const after = before.slice(0, size).padEnd(size, "\0");
    await context.fs.writeFile(context.fs.resolvePath(context.cwd, path), after, "latin1");
  }
  return succeed();
});

const shuf = program("shuf", async (args, context) => {
  const { has, value, operands } = readOptions(args, {
    flags: "er",
    valued: "in",
    long: { "input-range": "i" },
  });
  const [from = 0, to = -1] = (value("i") ?? "").split("-").map(Number);
  const read = async (): Promise<string[]> => {
    if (has("e")) return operands.map((word) => `${word}\n`);
    if (has("i")) return Array.from({ length: to - from + 1 }, (_, at) => `${from + at}\n`);
    const [path] = operands;
    return linesOf(textFrom(path === undefined ? pipedInto(context) : await readInput(path, context)));
  };
  const lines = await read();
  const order = new Map(lines.map((_, at) => [at, Math.random()]));
  const shuffled = [...order].sort(([, a], [, b]) => a - b).map(([at]) => lines[at] ?? "");
  return succeed(shuffled.slice(0, has("n") ? Number(value("n")) : undefined).join(""));
});

const unameProgram = program("uname", async (args) => {
  const { has } = readOptions(args, { flags: "asnrvmpio" });
  const letters = [..."snrmo"].filter((letter) => has("a") || has(letter));
  return succeed(`${(letters.length === 0 ? ["s"] : letters).map((letter) => uname[letter]).join(" ")}\n`);
});

/** Programs that change nothing here, since there is one user. */
const idle = ["chown", "chgrp", "sync"].map((name) => program(name, async () => succeed()));

export const machinePrograms: readonly CustomCommand[] = [
  id,
  truncate,
  shuf,
  unameProgram,
  program("nproc", async () => succeed("1\n")),
  program("umask", async (args) => succeed(args.length === 0 ? "0022\n" : "")),
  ...idle,
];
