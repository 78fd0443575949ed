import type { CustomCommand } from "../custom-command.ts";
import { quoteWord } from "../quote-word.ts";
import { pipedInto, program, readOptions, runScript, succeed } from "./program.ts";

const names = {
  flags: "i",
  valued: "uS",
  long: "ignore-environment:i unset:u split-string:S",
  isLeading: true,
};

/** Prints the environment, or runs a command in a changed one. */
export const environment: CustomCommand = program("env", async (args, context) => {
  const { has, value, values, operands } = readOptions(
    args.map((arg) => (arg === "-" ? "-i" : arg)),
    names,
  );
  const given = [...(value("S")?.trim().split(/\s+/) ?? []), ...operands];
  const found = given.findIndex((word) => !/^[a-zA-Z_]\w*=/.test(word));
  const start = found < 0 ? given.length : found;
  const set = given.slice(0, start).map((word) => [word.split("=", 1)[0] ?? "", word.replace(/^\w+=/, "")]);
  const kept = Object.entries(has("i") ? {} : (context.exportedEnv ?? {}));
  const env: Record<string, string> = Object.fromEntries([
    ...kept.filter(([name]) => !values("u").includes(name)),
    ...set,
  ]);
  if (start === given.length) {
    const lines = Object.entries(env).map(([name, text]) => `${name}=${text}\n`);
    return succeed(lines.join(""));
  }
  const words = given.slice(start).map(quoteWord).join(" ");
  const exported = Object.keys(env).join(" ");
  const script = exported === "" ? words : `export ${exported}; ${words}`;
  return runScript(script, context, {
    env: { PATH: context.env.get("PATH") ?? "/usr/bin:/bin", ...env },
    replaceEnv: true,
    stdin: pipedInto(context),
    stdinKind: "bytes",
  });
});
