import { parseJson } from "../parts/json.ts";
import { keepFiles } from "./files.ts";
import { keepInTab, ownName, readTab } from "./tab.ts";

/** What was typed and is not acknowledged yet. */

export interface KeptInput {
  readonly session: string;
  /** The command's id, under which it is sent again. */
  readonly id: string;
  readonly content: string;
  readonly mode: "queue" | "steer" | "interrupt";
  /** The names of its files; the browser's database has them under `inputPlace`. */
  readonly files?: readonly string[];
  /** It is taken back, and the server has not said so yet. */
  readonly withdrawn?: true;
}

const name = "limpet-kept";

const readAll = (): readonly KeptInput[] =>
  (parseJson(readTab(ownName(name)) ?? "[]") ?? []) as unknown as readonly KeptInput[];

const writeAll = (inputs: readonly KeptInput[]): void => keepInTab(ownName(name), JSON.stringify(inputs));

/** Names where the files of an input are kept. */
export const inputPlace = (id: string): string => ownName(`input ${id}`);

export const readKeptInputs = (session: string): readonly KeptInput[] =>
  readAll().filter((each) => each.session === session);

export const keepInput = (input: KeptInput): void =>
  writeAll([...readAll().filter(({ id }) => id !== input.id), input]);

/** Notes that an input is to be taken back, if it is kept. */
export const keepWithdrawal = (id: string): void =>
  writeAll(readAll().map((each) => (each.id === id ? { ...each, withdrawn: true } : each)));

export const dropInput = (id: string): void => {
  const inputs = readAll();
  writeAll(inputs.filter((each) => each.id !== id));
  if (inputs.some((each) => each.id === id && each.files !== undefined)) void keepFiles(inputPlace(id), []);
};
