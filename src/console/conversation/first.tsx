import { useState } from "preact/hooks";
import { Menu } from "../parts/controls.tsx";
import { useStore } from "../parts/hooks.ts";
import type { AgentRow } from "../state/agents.ts";
import { useApp } from "../state/app.ts";
import { firstPlace } from "../state/drafts.ts";
import type { WaitingOpening } from "../state/opening.ts";
import { Composer } from "./composer.tsx";

interface AgentMenuProps {
  readonly agents: readonly AgentRow[];
  readonly agent: AgentRow;
  readonly onChoose: (name: string) => void;
}

const labelOf = ({ prefix, name }: AgentRow): string => `${prefix} ${name}`.trim();

const AgentMenu = ({ agents, agent, onChoose }: AgentMenuProps) => (
  <Menu
    label="Which agent"
    opens="down"
    side="left"
    items={agents.map((each) => ({
      label: labelOf(each),
      hint: each.description,
      checked: each === agent,
      run: () => onChoose(each.name),
    }))}
  >
    {labelOf(agent)}
  </Menu>
);

interface StartersProps {
  readonly starters: AgentRow["starters"];
  readonly onStart: (text: string) => void;
}

const Starters = ({ starters, onStart }: StartersProps) =>
  starters.length === 0 ? null : (
    <section class="starters" aria-label="To begin with">
      <h2>To begin with</h2>
      <ul>
        {starters.map(({ say, shows }) => (
          <li key={say}>
            <button type="button" onClick={() => onStart(say)}>
              <code>{say}</code>
              <span>{shows}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );

interface WaitingProps {
  readonly opening: WaitingOpening;
  readonly onWithdraw: () => void;
}

/** The message whose session the server has not created yet. */
const Waiting = ({ opening: { content, files, isMissed }, onWithdraw }: WaitingProps) => (
  <div class="entry said kept" role="status">
    <div class="bubble">{[content, ...files.map((name) => `[${name}]`)].join(" ").trim()}</div>
    <span class={isMissed ? "meta" : "meta late"}>
      {isMissed ? "Kept on this device · goes out when connected · " : "Being sent"}
      {isMissed && (
        <button type="button" class="link" onClick={onWithdraw}>
          Withdraw
        </button>
      )}
    </span>
  </div>
);

interface FieldProps {
  readonly agents: readonly AgentRow[];
  readonly agent: AgentRow | undefined;
  readonly onChoose: (name: string) => void;
  readonly onStart: (text: string, files: readonly File[]) => Promise<void>;
}

const StartField = ({ agents, agent, onChoose, onStart }: FieldProps) => (
  <>
    <Composer
      place={firstPlace}
      placeholder={() => "Write a message"}
      modes={[]}
      verb={() => "Start"}
      answers={false}
      isPrimary
      tall
      onSend={(text, _, files) => onStart(text, files)}
    >
      {agent !== undefined && agents.length > 1 && (
        <AgentMenu agents={agents} agent={agent} onChoose={onChoose} />
      )}
    </Composer>
    <Starters starters={agent?.starters ?? []} onStart={(text) => void onStart(text, [])} />
  </>
);

/** The first page: the message typed here creates the session. */
export const FirstPage = () => {
  const { team, opening, report } = useApp();
  const waiting = useStore(opening.waiting);
  const known = useStore(team);
  const [wanted, setWanted] = useState<string | null>(null);
  const agents = known?.agents ?? [];
  const agent = agents.find(({ name }) => name === (wanted ?? known?.entry)) ?? agents[0];
  const begin = (text: string, files: readonly File[]): Promise<void> => {
    const begun = opening.start(wanted, text, files);
    report(begun);
    // What was not sent stands in the field already.
    return begun.catch(() => void requestAnimationFrame(() => document.getElementById("composer")?.focus()));
  };
  return (
    <main class="first" id="conversation">
      <div class="first-column">
        <h1>What should {agent?.name ?? "the agent"} do?</h1>
        <p class="quiet-text">
          Your first message starts a session.
          {known?.isScripted === true &&
            " This team runs on a script: it needs no key, and its costs are made up."}
        </p>
        {waiting === null ? (
          <StartField agents={agents} agent={agent} onChoose={setWanted} onStart={begin} />
        ) : (
          <Waiting opening={waiting} onWithdraw={opening.withdraw} />
        )}
      </div>
    </main>
  );
};
