import { fieldsOf } from "../chat/json.ts";
import type { FileAct } from "../sandbox/contract.ts";
import type { WorkspaceUse } from "./define-tool.ts";

/** Acts are what calls do outside their session, whatever tool does it: permission rules may name them. */

export const actNames = ["read", "write", "delete", "exec", "egress", "delegate"] as const;
export type Act = (typeof actNames)[number];

/** One act of a call on a path of the workspace, an argv joined by spaces, an address, or the agent called. */
export interface CallAct {
  readonly act: Act;
  readonly subject: string;
  /** The words of a command, which the subject joins by spaces: what an approval remembers tells them apart. */
  readonly argv?: readonly string[];
}

/** Whether a value that a tool returned is an act. */
export const isCallAct = (value: unknown): value is CallAct => {
  const { act, subject, argv = [] } = fieldsOf(value);
  const isArgv = Array.isArray(argv) && argv.every((word) => typeof word === "string");
  return actNames.some((name) => name === act) && typeof subject === "string" && isArgv;
};

/** Whether the subjects of an act are paths. */
export const isFileAct = (act: Act): act is FileAct => act === "read" || act === "write" || act === "delete";

/** What a tool declares about its acts in advance. */
interface Declaration {
  readonly acts?: unknown;
  readonly does?: readonly Act[];
  readonly workspace?: WorkspaceUse;
  readonly hosts?: readonly string[];
}

/** The acts that a tool may do, its main one first; a tool that names none gets those its declaration implies. */
export const actsOf = ({ does, workspace = "none", hosts = [] }: Declaration): readonly Act[] =>
  does ?? [...(workspace === "none" ? [] : [workspace]), ...(hosts.length === 0 ? [] : ["egress" as const])];

/** The acts through which rules bind a tool: none if it does not say what its calls do. */
export const boundActsOf = (tool: Declaration): readonly Act[] =>
  (tool.acts ?? null) === null ? [] : actsOf(tool);
