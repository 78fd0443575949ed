import type { LocalizedFile, LocalizeQuery } from "../../contract.ts";
import { workspacePath } from "../../paths.ts";
import { fail } from "../errors.ts";
import type { Disk, Entry } from "../files/files.ts";
import { requireOpen } from "../files/locate.ts";
import type { Found } from "../files/tree.ts";
import type { LocalizeSearch } from "../requests.ts";
import { walkFiles, readText } from "./files.ts";
import { countWork, startPace } from "./pace.ts";
import { lineAt, shownContext } from "./text-lines.ts";

/** Finds the files that a text may be about, by their names and their words. */

const maxFiles = 2000;

const maxFileBytes = 256 * 1024;

/** Number of files that are read although their paths do not match. */
const maxUnnamed = 200;

const maxFound = 10;

/** Milliseconds after which the files found so far are the answer. */
const maxTime = 8_000;

/** Lines shown before and after the first match. */
const around = 2;

const scores = { exactPath: 50, partOfPath: 20, identifier: 3, phrase: 5 };

/** Folders of dependencies and builds. */
const skippedFolders = new Set(
  ".git .hg .svn .skills node_modules bower_components jspm_packages vendor third_party site-packages venv virtualenv __pycache__ dist build out target obj coverage tmp Pods DerivedData".split(
    " ",
  ),
);

/** Files and folders that are searched although their names begin with a dot: of editors, formatters and CI. */
const openDotNames = new Set(
  ".github .gitlab-ci.yml .circleci .travis.yml .drone.yml .woodpecker.yml .azure-pipelines.yml .editorconfig .vscode .idea .cursorrules .cursor .prettierrc .prettierignore .eslintrc .eslintignore .eslintrc.js .eslintrc.cjs .eslintrc.json .eslintrc.yml .oxlintrc.json .oxfmtrc.json .stylelintrc .clang-format .clang-tidy .rustfmt.toml .golangci.yml .rubocop.yml .flake8 .pylintrc .pre-commit-config.yaml .gitignore .gitattributes .dockerignore".split(
    " ",
  ),
);

/** Matches names of keys and secrets, in lower case. */
const secretName =
  /^(?:id_(?:rsa|dsa|ecdsa|ed25519).*|(?:credentials?|secrets?|passwords?|htpasswd)(?:\.(?:json|ya?ml|toml|ini|txt|conf|cfg|properties))?|.*\.(?:pem|key|p8|p12|pfx|jks|keystore|kdbx|asc|gpg|ppk|crt|cer|der|env|tfvars|tfstate))$/;

const binaryName =
  /\.(?:png|jpe?g|gif|webp|bmp|ico|tiff?|avif|heic|psd|pdf|docx?|xlsx?|pptx?|zip|gz|tgz|bz2|xz|zst|7z|rar|tar|jar|war|class|o|a|so|dylib|dll|exe|lib|wasm|pyc|pyd|bin|dat|db|sqlite3?|mp[34]|m4a|mov|avi|mkv|webm|wav|flac|ogg|ttf|otf|woff2?|eot|iso|dmg|apk|ipa)$/;

/** Returns whether an entry may be searched, by its name and size; links are not followed. */
const passes = ({ name, type, size }: Entry): boolean => {
  if (name.startsWith(".") && !openDotNames.has(name)) return false;
  if (type === "directory") return !skippedFolders.has(name);
  const small = name.toLowerCase();
  return size <= maxFileBytes && !secretName.test(small) && !binaryName.test(small);
};

const small = (terms: readonly string[]): readonly string[] => [
  ...new Set(terms.map((term) => term.toLowerCase())),
];

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

const scorePath = (path: string, terms: readonly string[]): number => {
  const looked = path.toLowerCase();
  const name = looked.slice(looked.lastIndexOf("/") + 1);
  return sum(
    terms.map((term) => {
      if (term === looked || term === name) return scores.exactPath;
      return looked.includes(term) ? scores.partOfPath : 0;
    }),
  );
};

/** Returns the line that contains a position of the lower-case text, whose lines are those of the text. */
const lineOf = (smallText: string, position: number): number => {
  let line = 1;
  for (let at = smallText.indexOf("\n"); at >= 0 && at < position; at = smallText.indexOf("\n", at + 1))
    line += 1;
  return line;
};

const snippetAt = (text: string, line: number): NonNullable<LocalizedFile["snippet"]> => {
  let start = 0;
  for (let passed = 1; passed < line; passed += 1) start = lineAt(text, start).next;
  return { line: Math.max(1, line - around), lines: shownContext(text, start, around).lines };
};

/** Returns the score of a text, and its lines around the first matching word. */
const scoreText = (
  text: string,
  { identifiers, phrases }: Pick<LocalizeQuery, "identifiers" | "phrases">,
): Pick<LocalizedFile, "score" | "snippet"> => {
  const looked = text.toLowerCase();
  const places = (terms: readonly string[]): readonly number[] =>
    terms.map((term) => looked.indexOf(term)).filter((at) => at >= 0);
  const [named, said] = [places(identifiers), places(phrases)];
  if (named.length + said.length === 0) return { score: 0 };
  const score = named.length * scores.identifier + said.length * scores.phrase;
  return { score, snippet: snippetAt(text, lineOf(looked, Math.min(...named, ...said))) };
};

const relativeTo = ({ path: folder }: Found, path: string): string =>
  folder === "." ? path : path.slice(folder.length + 1);

const isBetter = (a: LocalizedFile, b: LocalizedFile): number =>
  b.score - a.score || (a.path < b.path ? -1 : 1);

/**
 * Finds the files whose paths or texts match best: each term counts once in a file, in any case; equal scores are
 * ordered by path. At most 2000 files are searched; texts are read of files whose paths match, and of the first 200
 * others.
 */
export async function localize(disk: Disk, query: LocalizeSearch): Promise<readonly LocalizedFile[]> {
  const start = requireOpen(disk, workspacePath(query.directory));
  if (start.entry.type !== "directory") fail("conflict", `${query.directory} is a file, not a folder`);
  const paths = small(query.paths);
  const words = { identifiers: small(query.identifiers), phrases: small(query.phrases) };
  const pace = startPace(disk, maxTime);
  const found: LocalizedFile[] = [];
  let unread = maxUnnamed;
  let left = maxFiles;
  for await (const { path: at, entry } of walkFiles(disk, pace, start, passes)) {
    const path = relativeTo(start, at);
    const byPath = scorePath(path, paths);
    const isRead = byPath > 0 || unread-- > 0;
    const text = (isRead ? readText(disk, entry) : null) ?? "";
    const { score, ...rest } = scoreText(text, words);
    if (byPath + score > 0) found.push({ path, score: byPath + score, ...rest });
    const going = countWork(disk, pace, at.length + text.length, 0);
    if (--left === 0 || (going !== true && !(await going))) break;
  }
  return found.sort(isBetter).slice(0, maxFound);
}
