import { useState } from "preact/hooks";
import { IconButton, Tabs } from "../parts/controls.tsx";
import { formatTime } from "../parts/format.ts";
import { useStore } from "../parts/hooks.ts";
import { slowly, useApp, useSession, useTranscript } from "../state/app.ts";
import { Events } from "./events.tsx";
import { FilesTab } from "./files.tsx";
import { Overview } from "./overview.tsx";
import { NotesTab, StateTab, TasksTab } from "./stores.tsx";

/** The right region: what the run does, costs and leaves behind. */

const tabs = ["Run", "Tasks", "Notes", "State", "Files", "Events"] as const;
type PanelTab = (typeof tabs)[number];

export const RunPanel = ({ onClose }: { readonly onClose: () => void }) => {
  const transcript = useTranscript(slowly);
  const session = useSession();
  const { team } = useApp();
  const [tab, setTab] = useState<PanelTab>("Run");
  const agent = useStore(team)?.agents.find(({ name }) => name === transcript.session?.agent);
  const isOld = transcript.status === "offline";
  return (
    <aside class="panel" aria-label="Run">
      <header class="head">
        <Tabs
          label="About the run"
          class="panel-tabs"
          controls="panel-tab"
          chosen={tab}
          onChoose={setTab}
          tabs={tabs.map((id) => ({ id, label: id }))}
        />
        <IconButton name="close" label="Close the panel" onClick={onClose} />
      </header>
      <div class="panel-body" id="panel-tab" role="tabpanel" aria-label={tab} tabIndex={0}>
        {isOld && (
          <p class="meta">
            As of {formatTime(session.lostAt() ?? Date.now(), Date.now())}, before the connection was lost.
          </p>
        )}
        {tab === "Run" && <Overview transcript={transcript} agent={agent} />}
        {tab === "Tasks" && <TasksTab seq={transcript.seq} />}
        {tab === "Notes" && <NotesTab seq={transcript.seq} />}
        {tab === "State" && <StateTab seq={transcript.seq} />}
        {tab === "Files" && <FilesTab transcript={transcript} />}
        {tab === "Events" && <Events transcript={transcript} />}
      </div>
    </aside>
  );
};
