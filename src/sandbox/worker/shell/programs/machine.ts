import type { CustomCommand } from "../custom-command.ts";
import { owner } from "./file-facts.ts";
import { program, readOptions, succeed } from "./program.ts";

/** Small programs that the shell lacks: about the machine and its user. */

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

const unameProgram = program("uname", async (args) => {
  const { has } = readOptions(args, { flags: "asnrvmpio" });
  const letters = [..."snrmo"].filter((letter) => has("a") || has(letter));
  return succeed(`${(letters.length === 0 ? ["s"] : letters).map((letter) => uname[letter]).join(" ")}\n`);
});

/** Programs that change nothing here, since the sandbox has one user. */
const idle = ["chown", "chgrp", "sync"].map((name) => program(name, async () => succeed()));

export const machinePrograms: readonly CustomCommand[] = [
  id,
  unameProgram,
  program("nproc", async () => succeed("1\n")),
  program("umask", async (args) => succeed(args.length === 0 ? "0022\n" : "")),
  ...idle,
];
