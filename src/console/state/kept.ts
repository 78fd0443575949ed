/** What was typed and is not acknowledged yet: kept in this tab, over a reload too. No key is in it. */

export interface KeptInput {
  readonly session: string;
  /** The command's id, under which it is sent again. */
  readonly id: string;
  readonly content: string;
  readonly mode: "queue" | "steer" | "interrupt";
  /** It is taken back, and the server has not said so yet. */
  readonly withdrawn?: true;
}

const name = "limpet-kept";

const isKept = (value: unknown): value is KeptInput =>
  typeof value === "object" &&
  value !== null &&
  ["session", "id", "content", "mode"].every(
    (key) => typeof (value as Record<string, unknown>)[key] === "string",
  );

/** Reads what is kept; storage that cannot be read holds nothing. */
const readAll = (): readonly KeptInput[] => {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(name) ?? "[]");
    return Array.isArray(found) ? found.filter(isKept) : [];
  } catch {
    return [];
  }
};

/** Storage that is full or forbidden keeps nothing over a reload; the page itself still does. */
const writeAll = (inputs: readonly KeptInput[]): void => {
  try {
    sessionStorage.setItem(name, JSON.stringify(inputs));
  } catch {
    // The input stays in memory, from where it is sent.
  }
};

export const readKeptInputs = (session: string): readonly KeptInput[] =>
  readAll().filter((each) => each.session === session);

export const keepInput = (input: KeptInput): void =>
  writeAll([...readAll().filter(({ id }) => id !== input.id), input]);

/** Notes that an input is to be taken back, if it is kept. */
export const keepWithdrawal = (id: string): void =>
  writeAll(readAll().map((each) => (each.id === id ? { ...each, withdrawn: true } : each)));

export const dropInput = (id: string): void => writeAll(readAll().filter((each) => each.id !== id));
