/** Formats of logs with the fields that the package does not know: they are made from others that it does. */

/** A format as the package takes it, and what makes its output whole. */
export interface PreparedFormat {
  readonly format: string;
  readonly complete: (output: string) => string;
}

/** Marks around the text that `complete` rewrites after the package has filled the fields in; no message has them. */
const [begin, end] = ["\x01", "\x02"];

const marked = (kind: string, field: string): string => `${begin}${kind}:${field}${end}`;

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = "January February March April May June July August September October November December".split(
  " ",
);

const two = (number: number): string => `${number}`.padStart(2, "0");

/** Writes a date as `strftime` does; `text` is a date like `2026-01-31 10:00:00 +0200`. */
export function formatDate(text: string, form: string): string {
  const [day = "", time = "", zone = ""] = text.split(" ");
  const date = new Date(`${day}T${time}Z`);
  const [year = "", month = "", dayOfMonth = ""] = day.split("-");
  const [hour = "", minute = "", second = ""] = time.split(":");
  const weekday = `${days[date.getUTCDay()]}`;
  const monthName = `${months[date.getUTCMonth()]}`;
  const hours = date.getUTCHours();
  const fields: Readonly<Record<string, string>> = {
    Y: year,
    m: month,
    d: dayOfMonth,
    e: `${date.getUTCDate()}`.padStart(2),
    y: year.slice(2),
    H: hour,
    I: two(((hours + 11) % 12) + 1),
    M: minute,
    S: second,
    p: hours < 12 ? "AM" : "PM",
    F: day,
    T: time,
    R: `${hour}:${minute}`,
    D: `${month}/${dayOfMonth}/${year.slice(2)}`,
    a: weekday.slice(0, 3),
    A: weekday,
    b: monthName.slice(0, 3),
    B: monthName,
    z: zone,
    Z: "UTC",
    n: "\n",
    "%": "%",
  };
  return form.replace(/%([a-zA-Z%])/g, (all, letter: string) => fields[letter] ?? all);
}

const makers: Readonly<Record<string, (text: string) => string>> = {
  day: (text) => text.slice(0, 10),
  strict: (text) => text.replace(/Z$/, "+00:00"),
};

// oxlint-disable-next-line no-control-regex -- The marks, which no message has.
const between = /\x01([^:\x01\x02]*):([^\x01\x02]*)\x02/g;

/** Rewrites the text between the marks. */
const complete = (output: string, dateForm: string): string =>
  output.replace(between, (_, kind: string, value: string) =>
    kind === "date" ? formatDate(value, dateForm) : (makers[kind]?.(value) ?? value),
  );

const fields: readonly (readonly [RegExp, (...parts: readonly string[]) => string])[] = [
  [/^%C\([^)]*\)/, () => ""],
  [/^%C(?:red|green|blue|reset|yellow|cyan|magenta|white|black|bold|dim)/, () => ""],
  [/^%x([0-9a-fA-F]{2})/, (_, code = "") => String.fromCharCode(Number.parseInt(code, 16))],
  [/^%([ac])([NEL])/, (_, who = "", what = "") => `%${who}${what.toLowerCase().replace("l", "e")}`],
  [/^%([ac])s/, (_, who = "") => marked("day", `%${who}I`)],
  [/^%([ac])I/, (_, who = "") => marked("strict", `%${who}I`)],
  [/^%%/, () => "%%"],
];

/** Replaces the fields that the package does not know. */
function prepare(format: string): string {
  let prepared = "";
  for (let at = 0; at < format.length;) {
    const rest = format.slice(at);
    const found = fields.flatMap(([pattern, make]) => {
      const parts = pattern.exec(rest);
      return parts === null ? [] : [{ length: parts[0].length, text: make(...parts) }];
    })[0];
    const taken = found ?? { length: 1, text: format.charAt(at) };
    prepared += taken.text;
    at += taken.length;
  }
  return prepared;
}

/** Returns whether a format has fields that this git lacks: columns, and the title as the name of a file. */
export const hasColumns = (format: string): boolean => /%(?:[<>f])/.test(format.replaceAll("%%", ""));

/** Prepares a format for the package; `dateForm` is the form of dates for `strftime`, if there is one. */
export function prepareFormat(format: string, dateForm: string | null): PreparedFormat {
  const dated =
    dateForm === null ? format : format.replace(/%([ac])d/g, (_, who: string) => marked("date", `%${who}i`));
  return { format: prepare(dated), complete: (output) => complete(output, dateForm ?? "") };
}

const units: Readonly<Record<string, number>> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_629_800,
  year: 31_557_600,
};

/** Writes a time like `2 weeks ago` or `yesterday` as one that the package reads; others stay. */
export function absoluteTime(text: string, now: number): string {
  const words = text.toLowerCase().trim().replaceAll(/[._]/g, " ");
  const [, count, unit = ""] =
    /^(\d+|an?|last) (second|minute|hour|day|week|month|year)s?(?: ago)?$/.exec(words) ?? [];
  const seconds = count === undefined ? undefined : (Number(count) || 1) * (units[unit] ?? 0);
  const named: Readonly<Record<string, number>> = { now: 0, today: 0, yesterday: units["day"] ?? 0 };
  const ago = seconds ?? named[words];
  return ago === undefined ? text : new Date(now - ago * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}
