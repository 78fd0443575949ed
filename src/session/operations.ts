import type { CommandHandler } from "./command.ts";
import { answerCommand } from "./operations/answer.ts";
import { compactCommand, pinCommand } from "./operations/compact.ts";
import { contextCommand } from "./operations/context.ts";
import { asksCommand, inputsCommand, runsCommand, threadsCommand } from "./operations/lists.ts";
import {
  eventsCommand,
  getInputCommand,
  messagesCommand,
  getRunCommand,
  usageCommand,
} from "./operations/queries.ts";
import { cancelCommand, editInputCommand, sendCommand, withdrawCommand } from "./operations/send.ts";
import { clearCommand, createCommand, getCommand, patchCommand } from "./operations/session.ts";
import { notesCommand, stateCommand, tasksCommand } from "./operations/stores.ts";
import type { Operation } from "./rpc.ts";

/** Maps each operation of a session to its handler, except `delete` and `snapshot`, which need the session's shell. */
export const sessionCommands: Record<Exclude<Operation, "delete" | "snapshot">, CommandHandler> = {
  create: createCommand,
  get: getCommand,
  patch: patchCommand,
  pin: pinCommand,
  send: sendCommand,
  messages: messagesCommand,
  inputs: inputsCommand,
  input: getInputCommand,
  edit_input: editInputCommand,
  withdraw: withdrawCommand,
  runs: runsCommand,
  run: getRunCommand,
  threads: threadsCommand,
  cancel: cancelCommand,
  asks: asksCommand,
  answer: answerCommand,
  events: eventsCommand,
  clear: clearCommand,
  compact: compactCommand,
  context: contextCommand,
  usage: usageCommand,
  state: stateCommand,
  tasks: tasksCommand,
  notes: notesCommand,
};
