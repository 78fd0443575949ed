import { fieldsOf } from "../chat/json.ts";
import type { FileAct } from "../sandbox/contract.ts";
import type { WorkspaceUse } from "./define-tool.ts";

/** Defines acts: what calls do outside their session, whatever their tool; permission rules may name them. */

export const actNames = ["read", "write", "delete", "exec", "egress", "delegate"] as const;
export type Act = (typeof actNames)[number];

/** Act of a call on a path of the workspace, an argv joined by spaces, an address, or the called agent. */
export interface CallAct {
  readonly act: Act;
  readonly subject: string;
  /** Words of a command, which the subject joins by spaces: a remembered approval keeps them apart. */
  readonly argv?: readonly string[];
  /** Text that the command reads as its standard input, which may be a script. */
  readonly stdin?: string | undefined;
  /** Folder in which the command runs; absent: the default one. */
  readonly cwd?: string | undefined;
}

/** Returns whether a value that a tool returned is an act. */
export const isCallAct = (value: unknown): value is CallAct => {
  const { act, subject, argv = [], stdin = "", cwd = "" } = fieldsOf(value);
  const isArgv = Array.isArray(argv) && argv.every((word) => typeof word === "string");
  const areTexts = [subject, stdin, cwd].every((text) => typeof text === "string");
  return actNames.some((name) => name === act) && areTexts && isArgv;
};

/** Returns whether the subjects of an act are paths. */
export const isFileAct = (act: Act): act is FileAct => act === "read" || act === "write" || act === "delete";

/** A tool's advance declaration of its acts. */
interface Declaration {
  readonly acts?: unknown;
  readonly does?: readonly Act[];
  readonly workspace?: WorkspaceUse;
  readonly hosts?: readonly string[];
}

/**
 * Returns the acts that a tool may do, its main one first; a tool that names none gets those its declaration
 * implies.
 */
export const actsOf = ({ does, workspace = "none", hosts = [] }: Declaration): readonly Act[] =>
  does ?? [...(workspace === "none" ? [] : [workspace]), ...(hosts.length === 0 ? [] : ["egress" as const])];

/** Returns the acts through which rules bind a tool: none if it does not declare the acts of its calls. */
export const boundActsOf = (tool: Declaration): readonly Act[] =>
  (tool.acts ?? null) === null ? [] : actsOf(tool);
