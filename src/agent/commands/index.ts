import type { Operation } from "../rpc.ts";
import { answer } from "./answer.ts";
import type { Command } from "./command.ts";
import { compact } from "./compact.ts";
import { context } from "./context.ts";
import { pin } from "./pin.ts";
import { asks, inputs, runs, threads } from "./lists.ts";
import { events, input, messages, run, usage } from "./queries.ts";
import { cancel, editInput, send, withdraw } from "./send.ts";
import { notes, state, tasks } from "./stores.ts";
import { clear, create, get, patch } from "./session.ts";

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
