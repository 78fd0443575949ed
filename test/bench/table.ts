import { figureSpecs } from "./figures.ts";
import type { FigureKey, FigureSpec, Part } from "./figures.ts";

/** What was measured, pass by pass, and the table that says whether it holds. */

export type Side = "limpet" | "floor";

export interface Results {
  /** One value of one pass. */
  readonly add: (key: FigureKey, value: number, side?: Side) => void;
  /** What else there is to say of a figure; the newest counts. */
  readonly note: (key: FigureKey, text: string) => void;
  readonly rows: (parts: readonly Part[]) => readonly Row[];
}

/** A figure with its spread over the passes. */
export interface Row {
  readonly spec: FigureSpec;
  readonly min: number;
  readonly median: number;
  readonly max: number;
  readonly passes: number;
  /** Medians of both sides, before they are compared. */
  readonly behind: string;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? upper) + upper) / 2;
};

/** The value below which this share of the values lies. */
export const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN;

const digits = (value: number): string =>
  Number.isInteger(value) || value >= 100
    ? value.toFixed(0)
    : value < 10
      ? value.toFixed(2)
      : value.toFixed(1);

const behindOf = (
  { as, unit }: FigureSpec,
  limpet: readonly number[],
  floor: readonly number[],
  note: string,
): string => {
  const compared = as === "ratio" ? `${digits(median(limpet))} against ` : "floor: ";
  const sides = floor.length === 0 ? "" : `${compared}${digits(median(floor))} ${unit}`;
  return [sides, note].filter((text) => text !== "").join("; ");
};

export const createResults = (): Results => {
  const values = { limpet: new Map<FigureKey, number[]>(), floor: new Map<FigureKey, number[]>() };
  const notes = new Map<FigureKey, string>();
  const rowOf = (key: FigureKey): Row => {
    const spec = figureSpecs[key];
    const limpet = values.limpet.get(key) ?? [];
    const floor = values.floor.get(key) ?? [];
    const counted =
      spec.as === "ratio" ? limpet.map((value, pass) => value / (floor[pass] ?? Number.NaN)) : limpet;
    return {
      spec,
      min: Math.min(...counted),
      median: median(counted),
      max: Math.max(...counted),
      passes: counted.length,
      behind: behindOf(spec, limpet, floor, notes.get(key) ?? ""),
    };
  };
  return {
    add: (key, value, side = "limpet") => {
      const known = values[side].get(key);
      if (known === undefined) values[side].set(key, [value]);
      else known.push(value);
    },
    note: (key, text) => void notes.set(key, text),
    rows: (parts) =>
      (Object.keys(figureSpecs) as readonly FigureKey[])
        .filter((key) => parts.includes(figureSpecs[key].part))
        .map(rowOf),
  };
};

/** Whether the median holds the figure's limit; a figure that could not be measured misses it. */
export const holds = ({ spec: { most, least }, median }: Row): boolean =>
  (most === undefined || median <= most) && (least === undefined || median >= least);

const unitOf = ({ as, unit }: FigureSpec): string => (as === "ratio" ? "×" : unit);

const limitOf = (spec: FigureSpec): string => {
  const { most, least } = spec;
  if (most !== undefined && most === least) return `${most} ${unitOf(spec)}`.trim();
  const bound = most === undefined ? (least === undefined ? "" : `≥ ${least}`) : `≤ ${most}`;
  return bound === "" ? "" : `${bound} ${unitOf(spec)}`.trim();
};

const lineOf = (row: Row): string => {
  const { spec, min, median, max, passes, behind } = row;
  const limit = limitOf(spec);
  const verdict = limit === "" ? "" : holds(row) ? "pass" : "**MISS**";
  const measured = `${digits(median)} ${unitOf(spec)}`.trim();
  const spread = passes < 2 ? "" : `${digits(min)} to ${digits(max)}`;
  return `| ${spec.name} | ${limit} | ${measured} | ${spread} | ${verdict} | ${spec.how} | ${behind} |`;
};

export const tableOf = (rows: readonly Row[]): string =>
  [
    "| figure | limit | median | min to max | | how | behind it |",
    "|---|---|---|---|---|---|---|",
    ...rows.map(lineOf),
  ].join("\n");

/** One line for each figure that misses its limit. */
export const missesOf = (rows: readonly Row[]): readonly string[] =>
  rows
    .filter((row) => !holds(row))
    .map(({ spec, median }) => `${spec.name}: ${digits(median)} ${unitOf(spec)}, limit ${limitOf(spec)}`);
