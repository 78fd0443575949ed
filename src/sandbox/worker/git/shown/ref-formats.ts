import { formatDate } from "./log-fields.ts";

/** Formats of refs like `%(refname:short) %(committerdate:relative)`. */

export interface ListedRef {
  readonly name: string;
  readonly hash: string;
  readonly short: string;
  readonly type: string;
  /** The text of the tag or commit. */
  readonly text: string;
  /** The commit that it leads to. */
  readonly commit: string;
}

const bodyOf = (text: string): string => text.slice(text.indexOf("\n\n") + 2);
export const titleOf = (text: string): string => bodyOf(text).split("\n")[0] ?? "";

/** The units of times before now, each with the seconds up to which git counts in it. */
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

const dateForms: Readonly<Record<string, string>> = {
  "": "%a %b %e %T %Y %z",
  short: "%F",
  iso: "%F %T %z",
  iso8601: "%F %T %z",
};

/** Writes a time like `1767225600 +0200` in a form of dates; returns undefined if there is no such form. */
function dateIn(time: string, form: string): string | undefined {
  const [seconds = "0", zone = "+0000"] = time.split(" ");
  if (form === "unix") return seconds;
  if (form === "relative") return relativeDate(Number(seconds));
  const [, sign = "+", hours = "", minutes = ""] = /^([+-])(\d\d)(\d\d)$/.exec(zone) ?? [];
  const shift = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60;
  const local = new Date((Number(seconds) + shift) * 1000).toISOString();
  const written = dateForms[form];
  if (written === undefined) return undefined;
  return formatDate(`${local.slice(0, 10)} ${local.slice(11, 19)} ${zone}`, written).replace("  ", " ");
}

/** Returns the name, the address or the date of who made a commit or tag. */
function personIn({ text }: ListedRef, who: string, part: string, form: string): string | undefined {
  const line = new RegExp(`^(?:${who.replace("creator", "committer")}|tagger) (.*) <(.*)> (.*)$`, "m");
  const [, name = "", mail = "", time = ""] = line.exec(text) ?? [];
  if (part === "date") return dateIn(time, form);
  return part === "name" ? name : `<${mail}>`;
}

/** Returns a field of a ref; undefined if there is no such field. */
function fieldOf(ref: ListedRef, field: string, head: string | null): string | undefined {
  const [, who, part = "", form = ""] =
    /^(author|committer|tagger|creator)(name|email|date)(?::([\w-]+))?$/.exec(field) ?? [];
  if (who !== undefined) return personIn(ref, who, part, form);
  const fields: Readonly<Record<string, string>> = {
    refname: ref.name,
    "refname:short": ref.short,
    "refname:lstrip=2": ref.short,
    objectname: ref.hash,
    "objectname:short": ref.hash.slice(0, 7),
    objecttype: ref.type,
    subject: titleOf(ref.text),
    "contents:subject": titleOf(ref.text),
    contents: bodyOf(ref.text).trimEnd(),
    HEAD: ref.name === head ? "*" : " ",
  };
  return fields[field];
}

const pattern = /%\(([^)]*)\)/g;

/** Returns the first field of a format that this git lacks; undefined if it has them all. */
export const unknownField = (form: string): string | undefined =>
  [...form.matchAll(pattern)]
    .map(([, field = ""]) => field)
    .find(
      (field) =>
        fieldOf({ name: "", hash: "", short: "", type: "", text: "", commit: "" }, field, null) === undefined,
    );

/** Puts the fields of a ref into a format. */
export const formatRef = (ref: ListedRef, form: string, head: string | null): string =>
  form
    .replace(pattern, (_, field: string) => fieldOf(ref, field, head) ?? "")
    .replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
