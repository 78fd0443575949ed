/** Numbers and times as people read them. */

const grouped = new Intl.NumberFormat("en-US");

const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);

/** Says a number with its noun: `1 line`, `2 lines`. */
export const countOf = (count: number, one: string, many?: string): string =>
  `${grouped.format(count)} ${plural(count, one, many)}`;

/** Formats a number for tables: `30,702`. */
export const formatCount = (count: number): string => grouped.format(Math.round(count));

/** Formats tokens for summaries: `950`, `30.7k`, `512k`, `1.2M`. */
export const formatTokens = (count: number): string => {
  if (count < 1_000) return String(Math.round(count));
  if (count < 99_950) return `${(count / 1_000).toFixed(1)}k`;
  if (count < 999_500) return `${Math.round(count / 1_000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
};

/** Formats a signed number of tokens for tables: `+1,286`, `−47,902`. */
export const formatSigned = (count: number): string =>
  `${count < 0 ? "−" : "+"}${grouped.format(Math.abs(Math.round(count)))}`;

/** No sum is written with more digits than this one. */
const leastUsd = 0.00001;

/** So many digits after the point show cents, or two significant ones of what is less than a cent. */
const digitsOf = (usd: number): number =>
  usd >= leastUsd && usd < 0.00995 ? Math.min(5, 1 - Math.floor(Math.log10(usd))) : 2;

/**
 * Formats USD in cents, and less than a cent with two significant digits; an unknown price reads as such. A sum
 * that stands beside a lesser one gets as many digits as that one needs, so that they can be compared and add up.
 */
export const formatUsd = (usd: number | null | undefined, lesser = 0): string => {
  if (usd === null || usd === undefined) return "no price";
  if (usd > 0 && usd < leastUsd) return `<$${leastUsd.toFixed(5)}`;
  return `$${usd.toFixed(Math.max(digitsOf(usd), digitsOf(lesser)))}`;
};

/** Finds the least of sums that needs digits; infinite if none does. */
export const findLeastUsd = (sums: readonly (number | null)[]): number =>
  sums.reduce<number>(
    (least, sum) => (sum !== null && sum >= leastUsd ? Math.min(least, sum) : least),
    Infinity,
  );

/** Formats a share of one: `36 %`. */
export const formatShare = (share: number): string => `${Math.round(share * 100)} %`;

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Formats how long something took: `5 ms`, `4.1 s`, `44 s`, `3 min 1 s`, `2 h 5 min`. */
export const formatDuration = (ms: number): string => {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9_950) return `${(ms / second).toFixed(1)} s`;
  if (ms < minute) return `${Math.min(59, Math.round(ms / second))} s`;
  const [unit, part, names] = ms < hour ? [minute, second, ["min", "s"]] : [hour, minute, ["h", "min"]];
  const whole = Math.floor(ms / unit);
  const rest = Math.floor((ms % unit) / part);
  return rest === 0 ? `${whole} ${names[0]}` : `${whole} ${names[0]} ${rest} ${names[1]}`;
};

/** Formats how long ago something was: `now`, `6 min`, `2 h`, `5 d`. */
export const formatAge = (at: number, now: number): string => {
  const ms = now - at;
  if (ms < minute) return "now";
  if (ms < hour) return `${Math.floor(ms / minute)} min`;
  return ms < day ? `${Math.floor(ms / hour)} h` : `${Math.floor(ms / day)} d`;
};

/** Formats how long something still takes, in at most two units, without seconds beside hours. */
export const formatUntil = (at: number, now: number): string =>
  at - now < second ? "a moment" : formatDuration(Math.max(second, Math.round((at - now) / second) * second));

const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });

/** Formats the time of a day: `14:07`. */
export const formatClock = (at: number): string => clockFormat.format(at);

const startOfDay = (at: number): number => new Date(at).setHours(0, 0, 0, 0);

/** Formats a time of today as `14:07`, others with their day. */
export const formatTime = (at: number, now: number): string => {
  const days = Math.round((startOfDay(now) - startOfDay(at)) / day);
  if (days === 0) return formatClock(at);
  if (days === 1) return "yesterday";
  return new Date(at).toLocaleDateString(undefined, { day: "numeric", month: "short" });
};

/** Formats a time of today to the second, others with their date, too. */
export const formatMoment = (at: number, now: number): string => {
  const words = startOfDay(now) === startOfDay(at) ? "toLocaleTimeString" : "toLocaleString";
  return new Date(at)[words](undefined, { hour12: false });
};

/** Names the group of days that a time belongs to. */
export const nameDays = (at: number, now: number): string => {
  const days = Math.round((startOfDay(now) - startOfDay(at)) / day);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return "Last week";
  return days < 31 ? "Last month" : "Earlier";
};

/** Formats the part of a bar that is filled, at most all of it, as a width in CSS. */
export const formatPercent = (share: number): string =>
  `${Math.min(100, Math.max(0, share * 100)).toFixed(2)}%`;

/** Formats bytes: `412 KB`. */
export const formatBytes = (bytes: number): string => {
  if (bytes < 1_000) return countOf(bytes, "byte");
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
};

/** Counts the lines of a text; a final line break begins no line. */
export const countLines = (text: string): number =>
  text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);

/** How far the server's clock, by which the times that it tells are measured, is ahead of this machine's. */
let clockOffset = 0;

export const serverNow = (): number => Date.now() + clockOffset;

/** Takes note of an answer's date, which is cut to the second, and of when its request was sent. */
export const noteDate = (date: string | null, sent: number): void => {
  const at = Date.parse(date ?? "");
  if (at > 0) clockOffset = Math.min(Math.max(clockOffset, at - Date.now()), at + 1_000 - sent);
};
