import type { LimpetClient } from "../../client/index.ts";
import type { CommandArguments } from "../usage.ts";
import type { Person } from "./person.ts";

/** What a command for a running deployment gets. */

/** Error of an invalid command line; its message says what is valid. */
export class UsageError extends Error {}

/** Returns the line that runs a command against the same deployment, for a person to copy. */
export type WriteCommand = (words: string) => string;

export type CommandFlags = CommandArguments["flags"];

export interface RemoteContext {
  readonly client: LimpetClient;
  readonly person: Person;
  readonly names: readonly string[];
  readonly flags: CommandFlags;
  readonly writeCommand: WriteCommand;
  /** Prints a value as JSON if requested, otherwise the lines for people. */
  readonly show: (value: unknown, lines: () => readonly string[]) => void;
}
