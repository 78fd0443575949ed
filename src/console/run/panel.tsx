import "../styles/run.css";
import { IconButton, Loading, Tabs } from "../parts/controls.tsx";
import { formatTime } from "../parts/format.ts";
import { useStore } from "../parts/hooks.ts";
import { slowly, useApp, useSession, useTranscript } from "../state/app.ts";
import { Events } from "./events.tsx";
import { FilesTab } from "./files.tsx";
import { Overview } from "./overview.tsx";
import { NotesTab, StateTab, TasksTab } from "./stores.tsx";
import { chosenTab, listTabs } from "./tabs.ts";
import type { PanelTab } from "./tabs.ts";

/** The right region: what the run does, costs and leaves behind. */

/** What a tab shows; of a session that was never read there is nothing to show. */
const Content = ({ tab }: { readonly tab: PanelTab }) => {
  const transcript = useTranscript(slowly);
  const session = useSession();
  const isOld = transcript.status === "offline";
  if (transcript.session === null)
    return isOld ? <p class="empty meta">The session cannot be read just now.</p> : <Loading />;
  return (
    <>
      {isOld && (
        <p class="meta">
          As of {formatTime(session.lostAt() ?? Date.now(), Date.now())}, before the connection was lost.
        </p>
      )}
      {tab === "Run" && <Overview transcript={transcript} />}
      {tab === "Tasks" && <TasksTab />}
      {tab === "Notes" && <NotesTab />}
      {tab === "State" && <StateTab />}
      {tab === "Files" && <FilesTab transcript={transcript} />}
      {tab === "Events" && <Events transcript={transcript} />}
    </>
  );
};

export const RunPanel = ({ onClose }: { readonly onClose: () => void }) => {
  const { team } = useApp();
  const { open } = useSession();
  useTranscript(slowly);
  const tabs = listTabs(useStore(team), open.getEvents());
  const chosen = useStore(chosenTab);
  const tab = tabs.includes(chosen) ? chosen : "Run";
  return (
    <aside class="panel" aria-label="Run">
      <header class="head">
        <Tabs
          label="About the run"
          class="panel-tabs"
          controls="panel-tab"
          chosen={tab}
          onChoose={chosenTab.set}
          tabs={tabs.map((id) => ({ id, label: id }))}
        />
        <IconButton name="close" label="Close the panel" onClick={onClose} />
      </header>
      <div class="panel-body" id="panel-tab" role="tabpanel" aria-label={tab} tabIndex={0}>
        <Content tab={tab} />
      </div>
    </aside>
  );
};
