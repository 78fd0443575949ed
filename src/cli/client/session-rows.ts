import type { LimpetClient } from "../../client/index.ts";
import { money, oneLine } from "./plain.ts";

/** Formats sessions as distinguishable rows of a list. */

type SessionSummary = Awaited<ReturnType<LimpetClient["sessions"]["list"]>>["data"][number];

/** Most characters of a title: by it a person tells sessions apart, so no other column takes its place. */
const longestTitle = 40;

/** Lines with columns of the same width. */
export const tableLines = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => [...(row[column] ?? "")].length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
};

const twoDigits = (number: number): string => String(number).padStart(2, "0");

/** Formats a time of today to the second, one of this year to the minute, an older one as its date. */
export const localTime = (at: number, now: number): string => {
  const [time, today] = [new Date(at), new Date(now)];
  const date = `${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())}`;
  const minute = `${twoDigits(time.getHours())}:${twoDigits(time.getMinutes())}`;
  if (time.getFullYear() !== today.getFullYear()) return `${time.getFullYear()}-${date}`;
  return time.toDateString() === today.toDateString()
    ? `${minute}:${twoDigits(time.getSeconds())}`
    : `${date} ${minute}`;
};

const callCount = (calls: number): string => `${calls} ${calls === 1 ? "call" : "calls"}`;

/** Formats a row for each session. The title comes last, where a narrow terminal breaks the row. */
export const sessionLines = (sessions: readonly SessionSummary[], now: number): readonly string[] =>
  tableLines(
    sessions.map(({ id, status, last_end: end, agent, updated_at, usage, title }) => [
      id,
      status === "idle" && end?.state === "failed" ? `failed: ${end.reason}` : status,
      oneLine(agent, 16),
      localTime(updated_at, now),
      callCount(usage.calls),
      money(usage.cost_usd),
      oneLine(title ?? "", longestTitle),
    ]),
  );
