import type { Operation } from "./define-operation.ts";
import { answerOperation } from "./operations/answer.ts";
import { compactOperation, pinOperation } from "./operations/compact.ts";
import { contextOperation } from "./operations/context.ts";
import { asksOperation, inputsOperation, runsOperation, threadsOperation } from "./operations/lists.ts";
import {
  eventsOperation,
  inputOperation,
  messagesOperation,
  runOperation,
  snapshotOperation,
  usageOperation,
} from "./operations/queries.ts";
import { cancelOperation, editInputOperation, sendOperation, withdrawOperation } from "./operations/send.ts";
import {
  clearOperation,
  createOperation,
  deleteOperation,
  getOperation,
  patchOperation,
} from "./operations/session.ts";
import { notesOperation, stateOperation, tasksOperation } from "./operations/stores.ts";

/** Lists every operation of a session. Routes, frames, scopes and keys follow from it. */
export const operations = [
  createOperation,
  getOperation,
  patchOperation,
  deleteOperation,
  sendOperation,
  messagesOperation,
  pinOperation,
  inputsOperation,
  inputOperation,
  editInputOperation,
  withdrawOperation,
  runsOperation,
  runOperation,
  contextOperation,
  threadsOperation,
  cancelOperation,
  asksOperation,
  answerOperation,
  eventsOperation,
  snapshotOperation,
  clearOperation,
  compactOperation,
  usageOperation,
  stateOperation,
  tasksOperation,
  notesOperation,
] as const satisfies readonly Operation[];

export type SessionOperation = (typeof operations)[number];

export type OperationName = SessionOperation["name"];

const byName = new Map<OperationName, SessionOperation>(operations.map((each) => [each.name, each]));

export const findOperation = (name: OperationName): SessionOperation => {
  const found = byName.get(name);
  if (found === undefined) throw new Error(`there is no operation ${name}`);
  return found;
};
