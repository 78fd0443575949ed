import type { Command } from "./command.ts";
import { answer } from "./operations/answer.ts";
import { compact, pin } from "./operations/compact.ts";
import { context } from "./operations/context.ts";
import { asks, inputs, runs, threads } from "./operations/lists.ts";
import { events, input, messages, run, usage } from "./operations/queries.ts";
import { cancel, editInput, send, withdraw } from "./operations/send.ts";
import { clear, create, get, patch } from "./operations/session.ts";
import { notes, state, tasks } from "./operations/stores.ts";
import type { Operation } from "./rpc.ts";

/** Every operation of a session but those that its shell alone can do: deleting it, and its snapshot with live items. */
export const commands: Record<Exclude<Operation, "delete" | "snapshot">, Command> = {
  create,
  get,
  patch,
  pin,
  send,
  messages,
  inputs,
  input,
  edit_input: editInput,
  withdraw,
  runs,
  run,
  threads,
  cancel,
  asks,
  answer,
  events,
  clear,
  compact,
  context,
  usage,
  state,
  tasks,
  notes,
};
