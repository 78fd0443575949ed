import type { CommandContext, CustomCommand } from "../custom-command.ts";
import { statOf } from "./file-facts.ts";
import { Failure, original, program, readOptions } from "./program.ts";

/** `date -d` and `touch -d` with relative dates: `2024-01-31 +1 day`, `3 days ago`. */

const seconds: Readonly<Record<string, number>> = {
  sec: 1,
  second: 1,
  min: 60,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  fortnight: 1_209_600,
};

const monthsIn: Readonly<Record<string, number>> = { month: 1, year: 12 };

interface Shift {
  readonly count: number;
  readonly unit: string;
}

const shiftPattern =
  /([+-]?)\s*\b(\d+|an?(?=\s)|next(?=\s)|last(?=\s))\s*(sec|second|min|minute|hour|day|week|fortnight|month|year)s?\b(\s+ago\b)?/gi;

const named: Readonly<Record<string, number>> = { a: 1, an: 1, next: 1, last: -1 };

/** Takes the shifts out of a text: `+1 day`, `2 hours ago`, `next week`. */
function takeShifts(text: string): { readonly shifts: readonly Shift[]; readonly rest: string } {
  const shifts: Shift[] = [];
  const rest = text.replace(shiftPattern, (_, sign: string, amount: string, unit: string, ago?: string) => {
    const size = named[amount.toLowerCase()] ?? Number(amount);
    const isBack = (sign === "-") !== (ago !== undefined);
    shifts.push({ count: isBack ? -size : size, unit: unit.toLowerCase() });
    return " ";
  });
  return { shifts, rest: rest.trim() };
}

function shifted(time: number, { count, unit }: Shift): number {
  const step = seconds[unit];
  if (step !== undefined) return time + count * step * 1000;
  const date = new Date(time);
  date.setUTCMonth(date.getUTCMonth() + count * (monthsIn[unit] ?? 0));
  return date.getTime();
}

/** Returns the time that a text without shifts means; NaN if it means no time. */
function timeOf(text: string, now: number): number {
  const unix = /^@(-?\d+(?:\.\d+)?)$/.exec(text)?.[1];
  if (unix !== undefined) return Number(unix) * 1000;
  const days = { today: 0, now: 0, "": 0, yesterday: -1, tomorrow: 1 }[text.toLowerCase()];
  if (days !== undefined) return now + days * 86_400_000;
  const hasZone = /(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})$/.test(text) && /:/.test(text);
  return Date.parse(hasZone ? text : `${text} UTC`) || Date.parse(text);
}

/** Returns the milliseconds that a date means. */
function readDate(text: string, now: number): number {
  const { shifts, rest } = takeShifts(text.trim());
  const base = timeOf(rest.replace(/\s+/g, " "), now);
  return shifts.reduce(shifted, base);
}

const isoFormats: Readonly<Record<string, string>> = {
  "": "+%Y-%m-%d",
  date: "+%Y-%m-%d",
  hours: "+%Y-%m-%dT%H+00:00",
  minutes: "+%Y-%m-%dT%H:%M+00:00",
  seconds: "+%Y-%m-%dT%H:%M:%S+00:00",
};

/** Returns the milliseconds that `-d` or the file of `-r` means; null if there is neither. */
async function givenTime(
  context: CommandContext,
  text: string | undefined,
  path: string | undefined,
): Promise<number | null> {
  if (path !== undefined)
    return (await statOf(context, path, "failed to get attributes of", true)).mtime.getTime();
  if (text === undefined) return null;
  const time = text.length > 200 ? NaN : readDate(text, Date.now());
  if (Number.isNaN(time))
    throw new Failure(`invalid date '${text}'; write it as 2026-01-31 10:00:00 or 3 days ago`);
  return time;
}

const dateNames = {
  flags: "uR",
  valued: "dr",
  long: "date:d reference:r utc:u universal:u rfc-email:R rfc-2822:R",
};

const date = program("date", async (args, context) => {
  const isIso = (arg: string): boolean => /^(-u?I|--iso-8601)/.test(arg);
  const iso = args.find(isIso)?.replace(/^(-u?I|--iso-8601=?)/, "");
  const format = iso === undefined ? undefined : isoFormats[iso];
  if (iso !== undefined && format === undefined) throw new Failure(`invalid argument '${iso}' for '-I'`);
  const options = args.filter((arg) => !isIso(arg));
  const { value, operands, words } = readOptions(options, dateNames);
  const kept = words.filter((word) => word === "-u" || word === "-R");
  const shown = [...kept, ...(format === undefined ? operands : [format])];
  const time = await givenTime(context, value("d"), value("r"));
  return original(context, time === null ? shown : ["-d", `@${Math.floor(time / 1000)}`, ...shown]);
});

/** Writes `-t 202401020304.05` as a date. */
const stampDate = (stamp: string): string =>
  stamp.replace(
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d\d))?$/,
    (_, year, month, day, hour, minute, second = "00") =>
      `${year}-${month}-${day} ${hour}:${minute}:${second}`,
  );

const touchNames = {
  flags: "acmhf",
  valued: "drt",
  long: "date:d reference:r no-create:c no-dereference:h",
};

const touch = program("touch", async (args, context) => {
  const { value, operands, has } = readOptions(args, touchNames);
  const stamp = value("t");
  const text = value("d") ?? (stamp === undefined ? undefined : stampDate(stamp));
  const time = await givenTime(context, text, value("r"));
  const day = time === null ? [] : ["-d", new Date(time).toISOString()];
  return original(context, [...day, ...(has("c") ? ["-c"] : []), "--", ...operands]);
});

export const dates: readonly CustomCommand[] = [date, touch];
