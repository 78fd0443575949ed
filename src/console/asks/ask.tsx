import "../styles/asks.css";
import { useEffect, useRef } from "preact/hooks";
import type { TranscriptAsk } from "../../client/transcript.ts";
import { escapeUnseen } from "../parts/escape.ts";
import { fieldsOf } from "../parts/json.ts";
import { useStore } from "../parts/hooks.ts";
import { useLoad } from "../parts/load.ts";
import type { Loaded } from "../parts/load.ts";
import { slowly, useApp, useSession, useTranscript } from "../state/app.ts";
import { readPages } from "../state/pages.ts";
import type { AskAnswer } from "../state/session.ts";
import { Approval } from "./approval.tsx";
import { takeEdit } from "./edits.ts";
import { AskFrame } from "./frame.tsx";
import type { AskProps } from "./frame.tsx";
import { Question } from "./question.tsx";
import { Raise } from "./raise.tsx";
import { Values } from "./values.tsx";

/** An open ask as a card, where its call stands. */

const webOnly = (url: string): string | undefined =>
  /^https?:\/\//i.test(url) && URL.canParse(url) ? url : undefined;

/** Names the host that is asked for the password: the rest of an address may say anything. */
const SignInLink = ({ url }: { readonly url: string }) =>
  webOnly(url) === undefined ? null : (
    <a class="button primary" href={webOnly(url)} target="_blank" rel="noopener noreferrer">
      Sign in at {escapeUnseen(new URL(url).host)}
    </a>
  );

const Address = ({ url }: { readonly url: string | undefined }) =>
  url === undefined ? (
    <p>Somebody who may decide about approvals has to sign in there.</p>
  ) : (
    <p class="command">
      <code>{escapeUnseen(url)}</code>
    </p>
  );

const SignIn = ({ ask, agent, busy, answer }: AskProps) => (
  <AskFrame ask={ask} icon="shield" tag="Needs you to sign in">
    <h2>
      May {agent} use <span class="mono">{escapeUnseen(ask.authorization?.server ?? "")}</span> in your name?
    </h2>
    <Address url={ask.authorization?.url} />
    <div class="ask-buttons">
      <SignInLink url={ask.authorization?.url ?? ""} />
      <button type="button" class="button" disabled={busy} onClick={() => answer({ decision: "approve" })}>
        I have signed in
      </button>
      <button type="button" class="button" disabled={busy} onClick={() => answer({ decision: "deny" })}>
        Deny
      </button>
    </div>
  </AskFrame>
);

const ClientTool = ({ ask, busy, answer }: AskProps) => (
  <AskFrame ask={ask} icon="tool" tag="Waits for its client">
    <h2>
      The program that began this session has to answer{" "}
      <span class="mono">{escapeUnseen(ask.client_tool?.tool ?? "")}</span>.
    </h2>
    <div class="proposal">
      <Values values={Object.entries(fieldsOf(ask.client_tool?.input))} />
    </div>
    <div class="ask-buttons">
      <button type="button" class="button" disabled={busy} onClick={() => answer({ decision: "cancel" })}>
        Go on without it
      </button>
    </div>
  </AskFrame>
);

const cards = {
  approval: Approval,
  question: Question,
  budget: Raise,
  authorization: SignIn,
  client_tool: ClientTool,
} as const;

/** Answers an ask; why an answer was not taken is said until the next try, or until the ask is closed. */
const useAnswer = (id: string): Pick<AskProps, "busy" | "answer"> => {
  const session = useSession();
  const { report, fault } = useApp();
  const busy = useStore(session.answers)[id] !== undefined;
  const refusal = useRef<string | null>(null);
  const putAway = (): void => {
    if (fault.get() === refusal.current) fault.set(null);
    refusal.current = null;
  };
  useEffect(() => putAway, [id]);
  const send = async (body: AskAnswer): Promise<void> => {
    const sent = session.answer(id, body);
    // An edit would be shown below the closed ask as not used.
    const putBack = takeEdit(id);
    report(sent);
    try {
      await sent;
    } catch {
      putBack();
      refusal.current = fault.get();
    }
  };
  const answer = (body: AskAnswer): void => {
    putAway();
    void send(body);
  };
  return { busy, answer };
};

/** Events hold a long ask in part: nobody decides about it before it is here as a whole. */
const useWhole = (ask: TranscriptAsk): Pick<Loaded<TranscriptAsk>, "value" | "problem"> => {
  const { api } = useApp();
  const { id } = useSession();
  const address = `/sessions/${id}/asks?status=open&limit=200`;
  const load = async (signal: AbortSignal): Promise<TranscriptAsk | null> => {
    if (ask.truncated !== true) return ask;
    const { rows } = await readPages<TranscriptAsk>((cursor) => api.read(address + cursor, { signal }));
    return rows.find((row) => row.id === ask.id) ?? null;
  };
  const { status } = useTranscript(slowly);
  const { value, problem } = useLoad(ask.id, load, status);
  return ask.truncated === true ? { value, problem } : { value: ask, problem: null };
};

/** An open ask of a call, or one that stands by itself. */
export const AskCard = ({ ask, agent }: { readonly ask: TranscriptAsk; readonly agent: string }) => {
  const given = useAnswer(ask.id);
  const { value: whole, problem } = useWhole(ask);
  const { status } = useTranscript(slowly);
  const Card = cards[ask.kind];
  if (whole === null)
    return (
      <AskFrame ask={ask} icon="shield" tag="Is being read">
        <p class="ask-rule">{problem ?? "This is long: it is read as a whole before you decide."}</p>
      </AskFrame>
    );
  // A call may ask again: what was typed for one ask is gone with it.
  return (
    <>
      <Card key={ask.id} ask={whole} agent={escapeUnseen(ask.label ?? agent)} {...given} />
      {given.busy && (
        <p class={status === "live" ? "meta late" : "meta"}>
          {status === "live"
            ? "Your answer is being sent."
            : "Your answer is kept on this device. It goes out when connected."}
        </p>
      )}
    </>
  );
};
