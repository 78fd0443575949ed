/** The figures and their verdicts, as one Markdown table. */

export interface Figure {
  readonly name: string;
  /** What is measured against `must`, already with its unit. */
  readonly measured: string;
  readonly value: number;
  readonly must: { readonly most?: number; readonly least?: number; readonly text: string } | null;
  readonly aim: string;
  /** Absolute values behind a ratio. */
  readonly note: string;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? upper) + upper) / 2;
};

/** Whether a figure holds its must; one without a must always does. */
export const holds = ({ value, must }: Figure): boolean =>
  must === null || (value <= (must.most ?? Infinity) && value >= (must.least ?? -Infinity));

const digits = (value: number): string =>
  value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0);

/** A ratio to the floor: each repetition is compared with the floor's of the same moment, and the median counts. */
export const ratio = (
  name: string,
  unit: string,
  floor: readonly number[],
  limpet: readonly number[],
  bounds: Pick<Figure, "must" | "aim">,
): Figure => {
  const ratios = limpet.map((value, index) => value / (floor[index] ?? Number.NaN));
  const value = median(ratios);
  const spread = `${digits(Math.min(...ratios))} to ${digits(Math.max(...ratios))}`;
  const note = `${digits(median(limpet))} against ${digits(median(floor))} ${unit}; ${spread} over ${ratios.length}`;
  return { name, value, measured: `${digits(value)} ×`, note, ...bounds };
};

export const most = (limit: number, unit = "×"): Figure["must"] => ({
  most: limit,
  text: `≤ ${limit} ${unit}`,
});
export const least = (limit: number, unit = "×"): Figure["must"] => ({
  least: limit,
  text: `≥ ${limit} ${unit}`,
});

/** An absolute figure. */
export const absolute = (
  name: string,
  value: number,
  unit: string,
  bounds: Pick<Figure, "must" | "aim">,
  note = "",
): Figure => ({ name, value, measured: `${digits(value)} ${unit}`.trim(), note, ...bounds });

export const tableOf = (figures: readonly Figure[]): string =>
  [
    "| work | must | aim | measured | | behind it |",
    "|---|---|---|---|---|---|",
    ...figures.map(
      (figure) =>
        `| ${figure.name} | ${figure.must?.text ?? ""} | ${figure.aim} | ${figure.measured} | ${figure.must === null ? "" : holds(figure) ? "pass" : "**FAIL**"} | ${figure.note} |`,
    ),
  ].join("\n");
