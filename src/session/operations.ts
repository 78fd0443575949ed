import type { Operation } from "./define-operation.ts";
import { answerOperation } from "./operations/answer.ts";
import { clearOperation, compactOperation, pinOperation } from "./operations/chat.ts";
import { contextOperation } from "./operations/context.ts";
import { forkOperation, rewindOperation } from "./operations/fork.ts";
import { migrateOperation } from "./operations/migrate.ts";
import {
  asksOperation,
  inputsOperation,
  runsOperation,
  threadsOperation,
  notesOperation,
  stateOperation,
  tasksOperation,
} from "./operations/lists.ts";
import {
  eventsOperation,
  inputOperation,
  messagesOperation,
  runOperation,
  snapshotOperation,
  usageOperation,
} from "./operations/queries.ts";
import { cancelOperation, editInputOperation, sendOperation, withdrawOperation } from "./operations/send.ts";
import { createOperation, deleteOperation, getOperation, patchOperation } from "./operations/session.ts";
import { readUploadOperation, uploadOperation, uploadsOperation } from "./operations/uploads.ts";
import {
  deleteFileOperation,
  readFileOperation,
  unpackOperation,
  workspaceOperation,
  writeFileOperation,
} from "./operations/workspace.ts";

/** All operations of a session. Routes, frames, scopes and keys follow from this list. */
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
  rewindOperation,
  forkOperation,
  migrateOperation,
  compactOperation,
  usageOperation,
  stateOperation,
  tasksOperation,
  notesOperation,
  workspaceOperation,
  readFileOperation,
  writeFileOperation,
  deleteFileOperation,
  unpackOperation,
  uploadOperation,
  uploadsOperation,
  readUploadOperation,
] as const satisfies readonly Operation[];

export type SessionOperation = (typeof operations)[number];

export type OperationName = SessionOperation["name"];

const byName = new Map<OperationName, SessionOperation>(operations.map((each) => [each.name, each]));

export const findOperation = (name: OperationName): SessionOperation => {
  const found = byName.get(name);
  if (found === undefined) throw new Error(`there is no operation ${name}`);
  return found;
};
