import type { CustomCommand } from "../custom-command.ts";
import { owner } from "./file-facts.ts";
import {
  bytes,
  bytesOf,
  Failure,
  failWith,
  forEach,
  linesOf,
  program,
  readInput,
  readInputs,
  readOptions,
  succeed,
} from "./program.ts";

/** Small programs that the shell lacks: about the machine and its user, and some that work with files or lines. */

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

/** Bytes that a file may have. */
const largest = 32 * 1024 * 1024;

const truncate = program("truncate", async (args, context) => {
  const { has, value, operands } = readOptions(args, { flags: "c", valued: "s", long: "size:s no-create:c" });
  const [, sign = "", digits = "", unit = ""] = /^([+-]?)(\d+)([KMG]?)$/.exec(value("s") ?? "") ?? [];
  if (digits === "") throw new Failure(`Invalid number: '${value("s") ?? ""}'`);
  const amount = Number(digits) * 1024 ** " KMG".indexOf(unit || " ");
  return forEach("truncate", operands, async (path) => {
    const place = context.fs.resolvePath(context.cwd, path);
    const isThere = await context.fs.exists(place);
    if (!isThere && has("c")) return undefined;
    const before = isThere ? await readInput(path, context) : "";
    const size = sign === "" ? amount : Math.max(0, before.length + Number(`${sign}${amount}`));
    if (size > largest) throw new Failure(`failed to truncate '${path}' at ${size} bytes: File too large`);
    const after = before.slice(0, size) + "\0".repeat(Math.max(0, size - before.length));
    await context.fs.writeFile(place, after, "latin1").catch(failWith(`cannot open '${path}' for writing`));
    return undefined;
  });
});

/** Lines that `shuf` and `yes` may print. */
const mostLines = 100_000;

/** Returns so many of the numbers below a size, in random order. */
function pick(size: number, count: number): number[] {
  const moved = new Map<number, number>();
  return Array.from({ length: count }, (_, at) => {
    const other = at + Math.floor(Math.random() * (size - at));
    const found = moved.get(other) ?? other;
    moved.set(other, moved.get(at) ?? at);
    return found;
  });
}

const shuf = program("shuf", async (args, context) => {
  const { has, value, operands } = readOptions(args, {
    flags: "e",
    valued: "in",
    long: "echo:e input-range:i head-count:n",
  });
  const [, from, to] = /^(\d+)-(\d+)$/.exec(value("i") ?? "0-0") ?? [];
  if (from === undefined || to === undefined) throw new Failure(`invalid input range: '${value("i") ?? ""}'`);
  const lines =
    has("i") || has("e")
      ? operands.map((word) => bytesOf(`${word}\n`))
      : linesOf(await readInputs(operands, context));
  const size = has("i") ? Math.max(0, Number(to) - Number(from) + 1) : lines.length;
  const count = Math.min(size, Number(value("n") ?? Infinity));
  if (!(count <= mostLines)) throw new Failure(`more than ${mostLines} lines; name fewer with -n`);
  const lineAt = (at: number): string =>
    has("i") ? `${Number(from) + at}\n` : (lines[at] ?? "").replace(/\n?$/, "\n");
  return bytes(pick(size, count).map(lineAt).join(""));
});

/** Prints a line many times: a pipeline runs its commands one after another, so that nothing ends it early. */
const yes = program("yes", async (args) => {
  const line = `${args.length === 0 ? "y" : args.join(" ")}\n`;
  const count = Math.min(mostLines, Math.ceil(1_000_000 / line.length));
  return { ...succeed(line.repeat(count)), stderr: `yes: ended after ${count} lines\n`, exitCode: 141 };
});

const unameProgram = program("uname", async (args) => {
  const { has } = readOptions(args, { flags: "asnrvmpio" });
  const letters = [..."snrmo"].filter((letter) => has("a") || has(letter));
  return succeed(`${(letters.length === 0 ? ["s"] : letters).map((letter) => uname[letter]).join(" ")}\n`);
});

/** Programs that change nothing here, since the sandbox has one user. */
const idle = ["chown", "chgrp", "sync"].map((name) => program(name, async () => succeed()));

export const machinePrograms: readonly CustomCommand[] = [
  id,
  truncate,
  shuf,
  unameProgram,
  yes,
  program("nproc", async () => succeed("1\n")),
  program("umask", async (args) => succeed(args.length === 0 ? "0022\n" : "")),
  ...idle,
];
