import type { ComponentChildren } from "preact";
import type { Json } from "../../chat/message.ts";
import { Loading } from "../parts/controls.tsx";
import { escapeInLine, escapeInLines, escapeJson } from "../parts/escape.ts";
import { useLoad } from "../parts/load.ts";
import type { Loaded } from "../parts/load.ts";
import { Markdown } from "../parts/markdown.tsx";
import { slowly, useApp, useSession, useTranscript } from "../state/app.ts";
import { orNull } from "../state/missing.ts";
import { readPages } from "../state/pages.ts";
import { storeChanges } from "./tabs.ts";

/** The stores that the agents of a session share: tasks, notes, values. */

const useStoreRows = <T,>(path: string, tab: keyof typeof storeChanges): Loaded<readonly T[] | null> => {
  const { api } = useApp();
  const { id, open } = useSession();
  useTranscript(slowly);
  const address = `/sessions/${id}/${path}`;
  const version = open.getEvents().findLast(storeChanges[tab])?.seq;
  const read = async (signal: AbortSignal): Promise<readonly T[]> =>
    (await readPages<T>((cursor) => api.read(address + cursor, { signal }))).rows;
  // A store that no agent uses does not exist, which is no fault.
  return useLoad(address, (signal) => orNull(read(signal)), version);
};

interface ListProps<T> {
  readonly loaded: Loaded<readonly T[] | null>;
  readonly none: string;
  readonly missing: string;
  readonly show: (row: T) => ComponentChildren;
}

const Rows = <T,>({ loaded: { state, value, problem }, none, missing, show }: ListProps<T>) => {
  if (state === "loading") return <Loading />;
  if (state === "ready" && value === null) return <p class="empty meta">{missing}</p>;
  return (
    <>
      {problem !== null && <p class="empty bad">{problem}</p>}
      {value?.length === 0 && <p class="empty meta">{none}</p>}
      {value !== null && value.length > 0 && <ul class="store">{value.map(show)}</ul>}
    </>
  );
};

interface TaskRow {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly status: string;
  readonly assignee: string | null;
  readonly blocked: boolean;
}

const taskWords: Readonly<Record<string, string>> = {
  pending: "open",
  in_progress: "working",
  completed: "done",
  failed: "failed",
  cancelled: "cancelled",
};

const taskTone: Readonly<Record<string, string>> = { completed: "good", failed: "bad" };

export const TasksTab = () => (
  <Rows
    loaded={useStoreRows<TaskRow>("tasks?limit=200", "Tasks")}
    none="No tasks yet."
    missing="No agent of this session has tasks."
    show={({ id, title, description, status, blocked }) => (
      <li key={id}>
        <p class="store-head">
          <strong>{escapeInLine(title)}</strong>
          <span class={taskTone[status] ?? "quiet-text"}>
            {blocked ? "waits for another" : (taskWords[status] ?? status)}
          </span>
        </p>
        {description !== "" && <p class="quiet-text">{escapeInLines(description)}</p>}
      </li>
    )}
  />
);

export const NotesTab = () => (
  <Rows
    loaded={useStoreRows<{ readonly name: string; readonly content: string }>("notes?limit=200", "Notes")}
    none="No notes yet."
    missing="No agent of this session keeps notes."
    show={({ name, content }) => (
      <li key={name}>
        <p class="store-head">
          <strong>{escapeInLine(name)}</strong>
        </p>
        <Markdown text={content} />
      </li>
    )}
  />
);

export const StateTab = () => (
  <Rows
    loaded={useStoreRows<{ readonly key: string; readonly value: Json }>("state?limit=200", "State")}
    none="No values yet."
    missing="No agent of this session shares values."
    show={({ key, value }) => (
      <li key={key}>
        <p class="store-head">
          <strong class="mono">{escapeInLine(key)}</strong>
        </p>
        <pre class="output">{typeof value === "string" ? escapeInLines(value) : escapeJson(value)}</pre>
      </li>
    )}
  />
);
