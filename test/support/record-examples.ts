import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Takes the examples that the documents of the API lack from what tests saw: run them with `--mode record`, and name
 * the files that have what they printed. Of each kind it takes the shortest that says something. To renew an example,
 * delete the old one first.
 */

const file = join(import.meta.dirname, "../../src/api/documents/examples.json");

type Kind = "requests" | "answers" | "events" | "frames" | "closes" | "problems";

interface Recorded {
  readonly kind: Kind;
  readonly key: string;
  readonly value: unknown;
}

const kinds: readonly Kind[] = ["requests", "answers", "events", "frames", "closes", "problems"];

/** Secrets of tests are no secrets, and still nobody should see one in a document. */
const withoutSecrets = (text: string): string =>
  text
    .replaceAll(/(lk_[a-z2-7]{16}_)[A-Za-z0-9_-]{43}/g, (_, head: string) => head + "x".repeat(43))
    .replaceAll(/"token":"[^"]+"/g, '"token":"lt_example"');

const readLines = (path: string): readonly Recorded[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => {
      const at = line.indexOf("@recorded ");
      return at < 0 ? [] : [JSON.parse(withoutSecrets(line.slice(at + "@recorded ".length))) as Recorded];
    });

/** How much a value says: empty lists and nulls say little. */
const emptiness = (value: unknown): number => (JSON.stringify(value).match(/\[\]|\{\}|null/g) ?? []).length;

/** What programs read of an error: one that has it comes first. */
const telling = ["request_id", "meta", "errors", "retry_after_ms"];

/** What stands in an error that is like its sentence, where the code has several meanings. */
const typical: Readonly<Record<string, string>> = {
  invalid_request: '"unknown_field"',
  unknown_model: "known: ",
  unsupported_media_type: "Content-Type",
  config_incomplete: "GET /readyz",
};

/** The best example says most in little: the smaller, the better. */
const worth = ({ kind, key, value }: Recorded): number => {
  const text = JSON.stringify(value);
  const isVague = kind === "problems" && !text.includes(typical[key] ?? "");
  const told = kind === "problems" ? telling.filter((name) => text.includes(`"${name}":`)).length : 0;
  return text.length + 400 * (emptiness(value) - told) + (isVague ? 2_000 : 0);
};

const known = JSON.parse(readFileSync(file, "utf8")) as Record<Kind, Record<string, unknown>>;
const found = new Map<string, Recorded>();
for (const each of process.argv.slice(2).flatMap(readLines)) {
  const place = `${each.kind} ${each.key}`;
  const best = found.get(place);
  if (best === undefined || worth(each) < worth(best)) found.set(place, each);
}

const merged = kinds.map((kind) => {
  const own = [...found.values()].filter((each) => each.kind === kind);
  const all = { ...Object.fromEntries(own.map(({ key, value }) => [key, value])), ...known[kind] };
  return [kind, Object.fromEntries(Object.entries(all).toSorted(([one], [other]) => (one < other ? -1 : 1)))];
});
writeFileSync(file, `${JSON.stringify(Object.fromEntries(merged), null, 2)}\n`);
