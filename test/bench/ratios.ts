import type { FigureKey } from "./figures.ts";
import { crowd, firstReply, loop, order, pace, stream } from "./scenarios.ts";
import type { Cost } from "./scenarios.ts";
import type { WorkerServer } from "./server.ts";
import { median, quantile } from "./table.ts";
import type { Results, Side } from "./table.ts";

/** Everything that is compared with the floor on a warm isolate; both Workers run at once and are measured in turns. */

const repeat = async <T>(times: number, work: () => Promise<T>): Promise<readonly T[]> => {
  const results: T[] = [];
  for (let count = 0; count < times; count++) results.push(await work());
  return results;
};

type Add = (key: FigureKey, value: number) => void;

const addCosts = (add: Add, wall: FigureKey, cpu: FigureKey, costs: readonly Cost[]): void => {
  add(wall, median(costs.map((cost) => cost.wall)));
  add(cpu, costs.reduce((sum, cost) => sum + cost.cpu, 0) / costs.length);
};

const turns = async (server: WorkerServer, count: number, times: number): Promise<readonly Cost[]> =>
  (await repeat(times, () => loop(server, count, 0))).map(({ turn }) => turn);

const pacedDeltas = 200;
const gapMs = 2;

/** One pass of one kind of work on one server. */
type Step = (server: WorkerServer, add: Add) => Promise<void>;

const steps: readonly Step[] = [
  async (server, add) => addCosts(add, "loop20Wall", "loop20Cpu", await turns(server, 20, 6)),
  async (server, add) => addCosts(add, "loop100Wall", "loop100Cpu", await turns(server, 100, 2)),
  async (server, add) => {
    const { turn, next } = await loop(server, 400, 9);
    addCosts(add, "loop400Wall", "loop400Cpu", [turn]);
    addCosts(add, "nextWall", "nextCpu", next);
  },
  async (server, add) =>
    addCosts(add, "burst1Wall", "burst1Cpu", await repeat(6, () => stream(server, 2_000, 1))),
  async (server, add) =>
    addCosts(add, "burst50Wall", "burst50Cpu", await repeat(2, () => stream(server, 2_000, 50))),
  async (server, add) => {
    const answers = await repeat(5, () => pace(server, pacedDeltas, gapMs, 1));
    add("firstDelta", median(answers.map(([first = Number.NaN]) => first)));
    add("paced1P50", median(answers.flat()));
    add("paced1P99", quantile(answers.flat(), 0.99));
  },
  async (server, add) => {
    const delays = (await repeat(2, () => pace(server, pacedDeltas, gapMs, 50))).flat();
    add("paced50P50", median(delays));
    add("paced50P99", quantile(delays, 0.99));
  },
  async (server, add) => addCosts(add, "firstWall", "firstCpu", await repeat(15, () => firstReply(server))),
  async (server, add) => {
    const { rate, cpu } = await crowd(server, 200);
    add("crowdRate", rate);
    add("crowdCpu", cpu);
  },
];

/** Until the engine has compiled what runs often: an isolate of many sessions is what is measured, not its first seconds. */
const warm = async (server: WorkerServer): Promise<void> => {
  await repeat(150, () => loop(server, 20, 0));
  await repeat(3, () => stream(server, 2_000, 1));
  await repeat(5, () => firstReply(server));
  await order(server, "Hello.");
};

/** Waits until a server does nothing more: sessions that ended are put away seconds later, which is no part of the next figure. */
const rest = async (server: WorkerServer): Promise<void> => {
  const end = performance.now() + 30_000;
  for (let quiet = 0; quiet < 4 && performance.now() < end;) {
    const before = server.cpu();
    await new Promise((resolve) => setTimeout(resolve, 500));
    quiet = server.cpu() - before < 5 ? quiet + 1 : 0;
  }
};

/** Measures both in turns, the order reversed each time, and one kind of work after the other, each from rest. */
export const measureRatios = async (
  servers: Readonly<Record<Side, WorkerServer>>,
  passes: number,
  results: Results,
  tell: (text: string) => void,
): Promise<void> => {
  await warm(servers.floor);
  await warm(servers.limpet);
  for (const [index, step] of steps.entries()) {
    tell(`step ${index + 1} of ${steps.length}`);
    await Promise.all([rest(servers.floor), rest(servers.limpet)]);
    const sides: readonly Side[] = ["floor", "limpet"];
    for (let pass = 0; pass < passes; pass++)
      for (const side of pass % 2 === 0 ? sides : sides.toReversed())
        await step(servers[side], (key, value) => results.add(key, value, side));
  }
};
