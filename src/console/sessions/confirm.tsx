import { Confirm } from "../parts/dialog.tsx";
import { useApp } from "../state/app.ts";
import { readRows } from "./shown.ts";
import { titleOf } from "./status.ts";

/** What is asked once before something is taken away from a session, or all of it. */

const questions = {
  clear: {
    title: "Clear",
    text: "The agent no longer sees its conversation, your view of it is emptied, too, and a new count of costs begins. The originals stay in the Events tab.",
    verb: "Clear it",
  },
  delete: {
    title: "Delete",
    text: "Its conversation and files are removed for good; what it cost stays counted.",
    verb: "Delete it",
  },
} as const;

export type SessionQuestion = keyof typeof questions;

interface SessionConfirmProps {
  readonly id: string;
  readonly question: SessionQuestion;
  readonly onClose: () => void;
}

/** Asks, and clears or deletes the session. */
export const SessionConfirm = ({ id, question, onClose }: SessionConfirmProps) => {
  const app = useApp();
  const { sessions, go, report, route } = app;
  const act = (): void => {
    if (question === "clear") return report(sessions.clear(id));
    if (route.get().session === id) go({ session: null, context: null });
    report(sessions.remove(id));
  };
  const row = readRows(app).rows.find((each) => each.id === id);
  const name = row === undefined ? "this session" : `“${titleOf(row)}”`;
  const { title, ...words } = questions[question];
  return <Confirm {...words} title={`${title} ${name}?`} onDo={act} onClose={onClose} />;
};
