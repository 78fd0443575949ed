import type * as z from "zod";
import type { CommandAnswer, ReadContext, WriteContext } from "./command.ts";
import { parseParams } from "./command.ts";
import type { Scope } from "./rpc.ts";

/** Defines what an operation of a session is: everything that HTTP, sockets and the session know of it. */

interface OperationRow<Name extends string, Params extends z.ZodObject> {
  readonly name: Name;
  /** One sentence that says what the operation does. */
  readonly summary: string;
  /** Scopes of which a caller needs one. */
  readonly scopes: readonly [Scope, ...Scope[]];
  /** HTTP path, with `:name` for each parameter in it. The key of a write holds for its whole path. */
  readonly path: `/v1/sessions${string}`;
  /** Schema of the values of path, query and body together. */
  readonly params: Params;
  /** Whether the path is served without `/v1`, too. */
  readonly alias?: true;
  /** Whether the operation answers with the session, so that the answer has its `ETag`. */
  readonly isTagged?: true;
  /** Whether the caller is sent on to the session's workspace, which is ready before the answer is sent. */
  readonly entersWorkspace?: true;
}

interface ReadRow<Name extends string, Params extends z.ZodObject> extends OperationRow<Name, Params> {
  readonly run: (context: ReadContext, params: z.output<Params>) => CommandAnswer;
}

interface WriteRow<Name extends string, Params extends z.ZodObject> extends OperationRow<Name, Params> {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** Whether the long bodies of inputs are allowed. */
  readonly takesContent?: true;
  /** Returns whether unchecked parameters ask for what may begin a run, for which the tenant must have room. */
  readonly mayStartRun?: (params: Readonly<Record<string, unknown>>) => boolean;
  /** What `If-Match` names: the session's head, or the version of its input; absent: the operation takes none. */
  readonly matches?: "session" | "input";
  /** Whether the operation begins the session that it is performed on, which its route names. */
  readonly creates?: true;
  /** Command of the WebSocket; `body` names the field of its frame that holds the body, if it has one. */
  readonly frame?: { readonly body: string | null };
  readonly run: (context: WriteContext, params: z.output<Params>) => CommandAnswer;
}

/** Operation that only reads. */
export interface ReadOperation<
  Name extends string = string,
  Params extends z.ZodObject = z.ZodObject,
> extends OperationRow<Name, Params> {
  readonly kind: "read";
  readonly method: "GET";
  /** Checks the parameters, then runs. */
  readonly run: (context: ReadContext, params: unknown) => CommandAnswer;
}

/** Operation that changes the session in one commit. */
export interface WriteOperation<
  Name extends string = string,
  Params extends z.ZodObject = z.ZodObject,
> extends Omit<WriteRow<Name, Params>, "run"> {
  readonly kind: "write";
  /** Checks the parameters, then runs. */
  readonly run: (context: WriteContext, params: unknown) => CommandAnswer;
}

export type Operation = ReadOperation | WriteOperation;

export const defineRead = <Name extends string, Params extends z.ZodObject>(
  row: ReadRow<Name, Params>,
): ReadOperation<Name, Params> => ({
  ...row,
  kind: "read",
  method: "GET",
  run: (context, params) => row.run(context, parseParams(row.params, params)),
});

export const defineWrite = <Name extends string, Params extends z.ZodObject>(
  row: WriteRow<Name, Params>,
): WriteOperation<Name, Params> => ({
  ...row,
  kind: "write",
  run: (context, params) => row.run(context, parseParams(row.params, params)),
});

/** Returns whether an operation needs a session that exists. */
export const needsSession = (operation: Operation): boolean =>
  operation.kind === "read" || operation.creates !== true;

/** Lists the path parameters other than the session. */
export const pathParametersOf = ({ path }: Operation): readonly string[] =>
  [...path.matchAll(/:(\w+)/g)].flatMap(([, name = ""]) => (name === "session" ? [] : [name]));

/** Returns whether the body may be absent, as all parameters may. */
export const isBodyOptional = ({ method, params }: Operation): boolean =>
  method === "DELETE" || params.safeParse({}).success;
