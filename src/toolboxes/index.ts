import type { Toolbox } from "../tools/define-tool.ts";
import { askUser } from "./ask/ask-user.ts";
import { browserClick } from "./browser/browser-click.ts";
import { browserExtract } from "./browser/browser-extract.ts";
import { browserNavigate } from "./browser/browser-navigate.ts";
import { browserScreenshot } from "./browser/browser-screenshot.ts";
import { browserSearch } from "./browser/browser-search.ts";
import { browserType } from "./browser/browser-type.ts";
import { createLoadSkill, type LoadableSkill } from "./core/load-skill.ts";
import { memoryAppend } from "./core/memory-append.ts";
import { memorySearch } from "./core/memory-search.ts";
import { recall } from "./core/recall.ts";
import { reportStatus } from "./core/report-status.ts";
import { execKill } from "./exec/exec-kill.ts";
import { execPoll } from "./exec/exec-poll.ts";
import { execRun } from "./exec/exec-run.ts";
import { execShell } from "./exec/exec-shell.ts";
import { applyPatch } from "./filesystem/apply-patch.ts";
import { fsCopy } from "./filesystem/fs-copy.ts";
import { fsDelete } from "./filesystem/fs-delete.ts";
import { fsDiff } from "./filesystem/fs-diff.ts";
import { fsEdit } from "./filesystem/fs-edit.ts";
import { fsList } from "./filesystem/fs-list.ts";
import { fsMkdir } from "./filesystem/fs-mkdir.ts";
import { fsMove } from "./filesystem/fs-move.ts";
import { fsPatch } from "./filesystem/fs-patch.ts";
import { fsReadLines } from "./filesystem/fs-read-lines.ts";
import { fsRead } from "./filesystem/fs-read.ts";
import { fsStat } from "./filesystem/fs-stat.ts";
import { fsWrite } from "./filesystem/fs-write.ts";
import { gitCommit } from "./git/git-commit.ts";
import { gitDiff } from "./git/git-diff.ts";
import { gitLog } from "./git/git-log.ts";
import { gitStatus } from "./git/git-status.ts";
import { httpFetch } from "./http/http-fetch.ts";
import { searchContent } from "./search/search-content.ts";
import { searchFiles } from "./search/search-files.ts";
import { listNotes } from "./notes/list-notes.ts";
import { readNote } from "./notes/read-note.ts";
import { writeNote } from "./notes/write-note.ts";
import { sharedStateDelete } from "./state/shared-state-delete.ts";
import { sharedStateGet } from "./state/shared-state-get.ts";
import { sharedStateList } from "./state/shared-state-list.ts";
import { sharedStateSet } from "./state/shared-state-set.ts";
import { sharedTasksCancel } from "./tasks/shared-tasks-cancel.ts";
import { sharedTasksClaim } from "./tasks/shared-tasks-claim.ts";
import { sharedTasksCreate } from "./tasks/shared-tasks-create.ts";
import { sharedTasksGet } from "./tasks/shared-tasks-get.ts";
import { sharedTasksList } from "./tasks/shared-tasks-list.ts";
import { sharedTasksReassign } from "./tasks/shared-tasks-reassign.ts";
import { sharedTasksUpdate } from "./tasks/shared-tasks-update.ts";
import { sharedTasksWatch } from "./tasks/shared-tasks-watch.ts";

/** Built-in toolboxes that need only a call's context. */
export const toolboxes: readonly Toolbox[] = [
  { name: "ask", description: "Questions to the person.", tools: [askUser] },
  {
    name: "filesystem",
    description: "Files of the workspace.",
    tools: [
      fsRead,
      fsReadLines,
      fsList,
      fsStat,
      fsDiff,
      fsWrite,
      fsEdit,
      fsPatch,
      applyPatch,
      fsDelete,
      fsMkdir,
      fsMove,
      fsCopy,
    ],
  },
  { name: "search", description: "Search in the workspace.", tools: [searchContent, searchFiles] },
  {
    name: "exec",
    description: "Commands in the workspace.",
    tools: [execRun, execShell, execPoll, execKill],
  },
  {
    name: "git",
    description: "The git repository of the workspace.",
    tools: [gitStatus, gitDiff, gitLog, gitCommit],
  },
  { name: "http", description: "Requests to the web.", tools: [httpFetch] },
  {
    name: "browser",
    description: "A browser with one page.",
    tools: [browserSearch, browserNavigate, browserClick, browserType, browserExtract, browserScreenshot],
  },
  {
    name: "state",
    description: "Values that all agents of the session share.",
    tools: [sharedStateGet, sharedStateList, sharedStateSet, sharedStateDelete],
  },
  {
    name: "tasks",
    description: "A task board that all agents of the session share.",
    tools: [
      sharedTasksCreate,
      sharedTasksList,
      sharedTasksGet,
      sharedTasksClaim,
      sharedTasksReassign,
      sharedTasksUpdate,
      sharedTasksCancel,
      sharedTasksWatch,
    ],
  },
  {
    name: "notes",
    description: "Notes that outlast the context.",
    tools: [writeNote, readNote, listNotes],
  },
];

/** Properties of an agent that determine its implicit tools. */
interface CoreNeeds {
  /** Skills that the agent can load. */
  readonly skills: readonly LoadableSkill[];
  /** Whether skill files are in the agent's workspace. */
  readonly inWorkspace: boolean;
  /** Whether the agent has a memory. */
  readonly remembers: boolean;
}

/** Returns the implicit toolbox of an agent: `recall` and `report_status`, and the tools for its skills and memory. */
export const createCoreToolbox = ({ skills, inWorkspace, remembers }: CoreNeeds): Toolbox => ({
  name: "core",
  description: "Tools of every agent that has tools.",
  tools: [
    recall,
    reportStatus,
    ...(skills.length === 0 ? [] : [createLoadSkill(skills, inWorkspace)]),
    ...(remembers ? [memorySearch, memoryAppend] : []),
  ],
});
