/** Dates as git writes and reads them. */

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = "January February March April May June July August September October November December".split(
  " ",
);

/** The units of times before now, each with its seconds and those up to which git counts in it. */
const units = [
  ["second", 1, 90],
  ["minute", 60, 5_400],
  ["hour", 3_600, 129_600],
  ["day", 86_400, 1_209_600],
  ["week", 604_800, 6_048_000],
  ["month", 2_629_800, 31_536_000],
  ["year", 31_557_600, Infinity],
] as const;

function relativeDate(seconds: number): string {
  const ago = Math.max(0, Math.floor(Date.now() / 1000) - seconds);
  const [unit, size] = units.find(([, , most]) => ago < most) ?? units[0];
  const count = Math.round(ago / size);
  return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
}

/** The forms of `--date=`, as `strftime` writes them. */
const forms: Readonly<Record<string, string>> = {
  "": "%a %b %E %T %Y %z",
  default: "%a %b %E %T %Y %z",
  local: "%a %b %E %T %Y",
  short: "%F",
  iso: "%F %T %z",
  iso8601: "%F %T %z",
  "iso-strict": "%FT%T%:z",
  "iso8601-strict": "%FT%T%:z",
  rfc: "%a, %E %b %Y %T %z",
  rfc2822: "%a, %E %b %Y %T %z",
};

const two = (number: number): string => `${number}`.padStart(2, "0");

/** Writes a date as `strftime` does. */
function writeDate(seconds: number, zone: string, form: string): string {
  const [, sign = "+", hours = "", minutes = ""] = /^([+-])(\d\d)(\d\d)$/.exec(zone) ?? [];
  const shift = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60;
  const date = new Date((seconds + shift) * 1000);
  const [day = "", time = ""] = date.toISOString().slice(0, 19).split("T");
  const [year = "", month = "", dayOfMonth = ""] = day.split("-");
  const hour = date.getUTCHours();
  const weekday = `${days[date.getUTCDay()]}`;
  const monthName = `${months[date.getUTCMonth()]}`;
  const fields: Readonly<Record<string, string>> = {
    Y: year,
    m: month,
    d: dayOfMonth,
    e: `${date.getUTCDate()}`.padStart(2),
    E: `${date.getUTCDate()}`,
    y: year.slice(2),
    H: two(hour),
    I: two(((hour + 11) % 12) + 1),
    M: time.slice(3, 5),
    S: time.slice(6),
    p: hour < 12 ? "AM" : "PM",
    F: day,
    T: time,
    R: time.slice(0, 5),
    D: `${month}/${dayOfMonth}/${year.slice(2)}`,
    a: weekday.slice(0, 3),
    A: weekday,
    b: monthName.slice(0, 3),
    B: monthName,
    s: `${seconds}`,
    z: zone,
    ":z": `${zone.slice(0, 3)}:${zone.slice(3)}`,
    Z: "UTC",
    n: "\n",
    "%": "%",
  };
  return form.replace(/%(:z|[a-zA-Z%])/g, (all, letter: string) => fields[letter] ?? all);
}

/** Writes a time of a commit (`1767225600 +0200`) in a form of `--date=`; undefined if there is no such form. */
export function formatDate(time: string, form: string): string | undefined {
  const [seconds = "0", zone = "+0000"] = time.split(" ");
  if (form === "unix") return seconds;
  if (form === "raw") return `${seconds} ${zone}`;
  if (form === "relative" || form === "human") return relativeDate(Number(seconds));
  const written = form.startsWith("format:") ? form.slice("format:".length) : forms[form];
  return written === undefined ? undefined : writeDate(Number(seconds), zone, written);
}

/** Writes a time like `2 weeks ago` or `yesterday` as one that the package reads; others stay. */
export function absoluteTime(text: string, now: number): string {
  const words = text.toLowerCase().trim().replaceAll(/[._]/g, " ");
  const [, count, name = ""] =
    /^(\d+|an?|last) (second|minute|hour|day|week|month|year)s?(?: ago)?$/.exec(words) ?? [];
  const size = units.find(([unit]) => unit === name)?.[1] ?? 0;
  const seconds = count === undefined ? undefined : (Number(count) || 1) * size;
  const named: Readonly<Record<string, number>> = { now: 0, today: 0, yesterday: 86_400 };
  const ago = seconds ?? named[words];
  return ago === undefined ? text : new Date(now - ago * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}
