import { formatDate } from "./commit-dates.ts";
import { personIn, titleOf } from "./commit-object.ts";

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

const messageOf = (text: string): string => text.slice(text.indexOf("\n\n") + 2);

/** Returns the first line of the message of a ref's tag or commit. */
export const subjectOf = ({ text }: ListedRef): string => titleOf(messageOf(text));

/** Returns the name, the address or the date of who made a commit or tag. */
function personField({ text }: ListedRef, who: string, part: string, form: string): string | undefined {
  const { name, mail, time } = personIn(text, `${who.replace("creator", "committer")}|tagger`);
  if (part === "date") return formatDate(time, form);
  return part === "name" ? name : `<${mail}>`;
}

/** Returns a field of a ref; undefined if there is no such field. */
function fieldOf(ref: ListedRef, field: string, head: string | null): string | undefined {
  const [, who, part = "", form = ""] =
    /^(author|committer|tagger|creator)(name|email|date)(?::([\w-]+))?$/.exec(field) ?? [];
  if (who !== undefined) return personField(ref, who, part, form);
  const fields: Readonly<Record<string, string>> = {
    refname: ref.name,
    "refname:short": ref.short,
    "refname:lstrip=2": ref.short,
    objectname: ref.hash,
    "objectname:short": ref.hash.slice(0, 7),
    objecttype: ref.type,
    subject: subjectOf(ref),
    "contents:subject": subjectOf(ref),
    contents: messageOf(ref.text).trimEnd(),
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
