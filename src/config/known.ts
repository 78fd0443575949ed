/** Names that a team file may use: built-in toolboxes and their tools (toolboxes spec §3). */

/** Toolbox → its tools. `core` and `agents` are implicit; `agents` may be listed to narrow it. */
export const builtInToolboxes: Readonly<Record<string, readonly string[]>> = {
  ask: ["ask_user"],
  filesystem: [
    "fs_read",
    "fs_read_lines",
    "fs_list",
    "fs_stat",
    "fs_diff",
    "fs_write",
    "fs_edit",
    "fs_patch",
    "apply_patch",
    "fs_delete",
    "fs_mkdir",
    "fs_move",
    "fs_copy",
  ],
  search: ["search_content", "search_files"],
  exec: ["exec_run", "exec_shell", "exec_poll", "exec_kill"],
  git: ["git_status", "git_diff", "git_log", "git_commit"],
  http: ["http_fetch"],
  browser: [
    "browser_search",
    "browser_navigate",
    "browser_click",
    "browser_type",
    "browser_extract",
    "browser_screenshot",
  ],
  state: ["shared_state_get", "shared_state_list", "shared_state_set", "shared_state_delete"],
  tasks: [
    "shared_tasks_create",
    "shared_tasks_list",
    "shared_tasks_get",
    "shared_tasks_claim",
    "shared_tasks_reassign",
    "shared_tasks_update",
    "shared_tasks_cancel",
    "shared_tasks_watch",
  ],
  notes: ["write_note", "read_note", "list_notes"],
  agents: [
    "list_agents",
    "delegate_to_agent",
    "spawn_agents",
    "spawn_agent",
    "dispatch_tasks",
    "check_children",
    "steer_child",
    "cancel_child",
    "answer_child",
    "delegate",
  ],
};

/** Tools that every agent has without a toolbox being listed. */
export const coreTools: readonly string[] = [
  "recall",
  "load_skill",
  "report_status",
  "task_complete",
  "request_input",
  "handoff",
  "memory_search",
  "memory_append",
];

export const builtInTools: readonly string[] = [...Object.values(builtInToolboxes).flat(), ...coreTools];
