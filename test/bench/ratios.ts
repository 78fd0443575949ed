import { crowd, firstReply, loop, order, stream } from "./scenarios.ts";
import type { Cost } from "./scenarios.ts";
import type { WorkerServer } from "./server.ts";
import { least, median, most, ratio } from "./table.ts";
import type { Figure } from "./table.ts";

/** Everything that is compared with the floor; both Workers run at once and are measured in turns. */

export interface Sizes {
  readonly repetitions: number;
  /** Turns of the short and of the long run. */
  readonly turns: readonly [number, number];
  readonly sessions: number;
}

type Samples = Map<string, number[]>;

const add = (samples: Samples, name: string, value: number): void => {
  const known = samples.get(name);
  if (known === undefined) samples.set(name, [value]);
  else known.push(value);
};

const addCost = (samples: Samples, name: string, costs: readonly Cost[]): void => {
  add(samples, `${name} wall`, median(costs.map(({ wall }) => wall)));
  add(samples, `${name} cpu`, costs.reduce((sum, { cpu }) => sum + cpu, 0) / costs.length);
};

const repeat = async <T>(times: number, work: () => Promise<T>): Promise<readonly T[]> => {
  const results: T[] = [];
  for (let count = 0; count < times; count++) results.push(await work());
  return results;
};

type Step = (server: WorkerServer, samples: Samples) => Promise<void>;

const stepsOf = ({ turns: [short, long], sessions }: Sizes): readonly Step[] => [
  async (server, samples) =>
    addCost(
      samples,
      "short",
      (await repeat(6, () => loop(server, short, 0))).map(({ turn }) => turn),
    ),
  async (server, samples) => {
    const { turn, next } = await loop(server, long, 9);
    addCost(samples, "long", [turn]);
    addCost(samples, "next", next);
  },
  async (server, samples) => addCost(samples, "one", await repeat(6, () => stream(server, 2_000, 1))),
  async (server, samples) => addCost(samples, "fifty", await repeat(2, () => stream(server, 2_000, 50))),
  async (server, samples) => addCost(samples, "first", await repeat(15, () => firstReply(server))),
  async (server, samples) => {
    const { rate, cpu } = await crowd(server, sessions);
    add(samples, "rate", rate);
    add(samples, "crowd cpu", cpu);
  },
];

/** Until the engine has compiled what runs often: an isolate of many sessions is what is measured, not its first seconds. */
const warm = async (server: WorkerServer): Promise<void> => {
  await repeat(150, () => loop(server, 20, 0));
  await repeat(3, () => stream(server, 2_000, 1));
  await repeat(5, () => firstReply(server));
  await order(server, "Hello.");
};

const figuresOf = (
  { turns: [short, long], sessions }: Sizes,
  floor: Samples,
  limpet: Samples,
): readonly Figure[] => {
  const compare = (name: string, key: string, unit: string, must: Figure["must"], aim: string): Figure =>
    ratio(name, unit, floor.get(key) ?? [], limpet.get(key) ?? [], { must, aim });
  const shortWall = compare(
    `turn with a tool call at ${short} turns, wall`,
    "short wall",
    "ms",
    most(1.8),
    "≤ 1.5 ×",
  );
  const shortCpu = compare(
    `turn with a tool call at ${short} turns, CPU`,
    "short cpu",
    "ms",
    most(1.8),
    "≤ 1.5 ×",
  );
  const noise = 1.15;
  const grown = (of: Figure): Figure["must"] => ({ most: of.value * noise, text: `≤ that at ${short}` });
  return [
    shortWall,
    shortCpu,
    compare(`the same at ${long} turns, wall`, "long wall", "ms", grown(shortWall), ""),
    compare(`the same at ${long} turns, CPU`, "long cpu", "ms", grown(shortCpu), ""),
    compare("2,000 deltas to 1 socket, total time", "one wall", "ms", most(1), ""),
    compare("2,000 deltas to 1 socket, CPU", "one cpu", "ms", null, ""),
    compare("2,000 deltas to 50 sockets, total time", "fifty wall", "ms", most(1), "≤ 0.5 ×"),
    compare("2,000 deltas to 50 sockets, CPU", "fifty cpu", "ms", null, ""),
    compare("create session and first reply, wall", "first wall", "ms", most(2), "≤ 1.5 ×"),
    compare("create session and first reply, CPU", "first cpu", "ms", null, ""),
    compare(`${sessions} sessions at once, 5 turns each, sessions/s`, "rate", "/s", least(0.5), "≥ 0.6 ×"),
    compare(`${sessions} sessions at once, 5 turns each, CPU`, "crowd cpu", "ms", null, ""),
    compare(`one more turn after ${long} turns, warm, wall`, "next wall", "ms", most(2), "≤ 1.5 ×"),
    compare(`one more turn after ${long} turns, warm, CPU`, "next cpu", "ms", null, ""),
  ];
};

/** Waits until a server does nothing more: sessions that ended are put away seconds later, which is no part of the next figure. */
const rested = async (server: WorkerServer): Promise<void> => {
  const end = performance.now() + 30_000;
  for (let quiet = 0; quiet < 4 && performance.now() < end;) {
    const before = server.cpu();
    await new Promise((resolve) => setTimeout(resolve, 500));
    quiet = server.cpu() - before < 5 ? quiet + 1 : 0;
  }
};

/** Measures both in turns, the order reversed each time, and one kind of work after the other, each from rest. */
export const measureRatios = async (
  floor: WorkerServer,
  limpet: WorkerServer,
  sizes: Sizes,
  tell: (text: string) => void,
): Promise<readonly Figure[]> => {
  const samples = { floor: new Map<string, number[]>(), limpet: new Map<string, number[]>() };
  await warm(floor);
  await warm(limpet);
  for (const [index, step] of stepsOf(sizes).entries()) {
    tell(`step ${index + 1}`);
    await Promise.all([rested(floor), rested(limpet)]);
    const both = [() => step(floor, samples.floor), () => step(limpet, samples.limpet)];
    for (let count = 0; count < sizes.repetitions; count++)
      for (const one of count % 2 === 0 ? both : both.toReversed()) await one();
  }
  return figuresOf(sizes, samples.floor, samples.limpet);
};
