import { measureAgents } from "./agents.ts";
import { measureBundle } from "./bundle.ts";
import { measureConsole } from "./console.ts";
import { measureCold, measureCounts, measureCrash } from "./counts.ts";
import { measureEffects } from "./effects.ts";
import { gateParts } from "./figures.ts";
import type { Part } from "./figures.ts";
import { measureFresh } from "./fresh.ts";
import { profile } from "./profile.ts";
import { measureRatios } from "./ratios.ts";
import { openSetup } from "./setup.ts";
import type { Setup } from "./setup.ts";
import { createResults, holds, missesOf, tableOf } from "./table.ts";
import type { Results } from "./table.ts";
import { listFiles } from "./coverage.ts";

/**
 * The product against a floor written by hand, in one run on one machine. It prints a table; the exit code is 1 if a
 * figure misses its limit.
 *
 *     npm run bench                               every figure, five passes
 *     npm run bench -- --passes=1 --only=ratios,fresh,counts,crash,cold,bundle,effects,agents,console
 *     npm run bench -- --gate                     what the gate holds, and a list of what misses
 *     npm run bench -- --profile[=loop|stream|stream50|first|crowd]   CPU by room of the code, and by function
 *     npm run bench -- --files                    files that run between router and socket for one reply
 */

const tell = (text: string): void => void process.stderr.write(`${text}\n`);

const optionOf = (name: string): string | null => {
  const given = process.argv.find(
    (argument) => argument === `--${name}` || argument.startsWith(`--${name}=`),
  );
  return given === undefined ? null : given.slice(name.length + 3);
};

const passes = Number(optionOf("passes") ?? 5);

const measureBoth = async (setup: Setup, results: Results): Promise<void> => {
  const servers = {
    floor: await setup.startSide("floor", "floor"),
    limpet: await setup.startSide("limpet", "limpet"),
  };
  await measureRatios(servers, passes, results, tell);
  await Promise.all([servers.floor.kill(), servers.limpet.kill()]);
};

const measures: Readonly<Record<Part, (setup: Setup, results: Results) => Promise<void>>> = {
  ratios: measureBoth,
  fresh: (setup, results) => measureFresh(setup, passes, results),
  counts: async (setup, results) => measureCounts(await setup.optionsOf("limpet", "counts"), results),
  crash: async (setup, results) => {
    for (let pass = 0; pass < passes; pass++)
      await measureCrash(await setup.optionsOf("limpet", `crash-${pass}`), setup.provider, results);
  },
  cold: async (setup, results) =>
    measureCold(await setup.optionsOf("limpet", "cold"), setup.provider, passes, results),
  bundle: (setup, results) => measureBundle(setup.folder, results),
  effects: (_setup, results) => measureEffects(tell, passes, results),
  agents: (_setup, results) => measureAgents(tell, passes, results),
  console: (_setup, results) => measureConsole(passes, results),
};

const isPart = (name: string): name is Part => Object.hasOwn(measures, name);

const partsOf = (): readonly Part[] => {
  const names = optionOf("only")?.split(",") ?? null;
  if (names !== null) {
    const unknown = names.filter((name) => !isPart(name));
    if (unknown.length > 0) throw new Error(`there is no part ${unknown.join(", ")}`);
    return names.filter(isPart);
  }
  return optionOf("gate") === null ? Object.keys(measures).filter(isPart) : gateParts;
};

const measure = async (setup: Setup): Promise<boolean> => {
  const results = createResults();
  const parts = partsOf();
  for (const part of parts) {
    tell(part);
    await measures[part](setup, results);
  }
  const rows = results.rows(parts);
  process.stdout.write(`${tableOf(rows)}\n`);
  const misses = missesOf(rows);
  if (optionOf("gate") !== null)
    process.stdout.write(
      misses.length === 0
        ? "\nThe gate holds.\n"
        : `\nThe gate fails:\n${misses.map((line) => `- ${line}\n`).join("")}`,
    );
  return rows.every(holds);
};

const setup = await openSetup();
const kind = optionOf("profile");
let isGood = true;
if (kind !== null) await profile(setup, kind === "" ? "loop" : kind);
else if (optionOf("files") !== null) await listFiles(setup);
else isGood = await measure(setup);
setup.close();
process.exit(isGood ? 0 : 1);
