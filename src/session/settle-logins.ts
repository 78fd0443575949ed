import type { Ask } from "../agent/state/ask.ts";
import type { Session } from "../agent/state/session.ts";
import { advanceSession } from "../agent/loop/advance.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { answerAsk } from "../agent/turn/ask-answers.ts";
import type { LoginSettlement } from "./rpc.ts";

/** Answers a session's asks to sign in at a server, once a person has signed in there or refused to. */

/** Stands for whoever signed in, since the deployment does not know who it was. */
const signer = "login";

/** Lists the open asks to sign in at a server. */
const loginAsks = ({ asks }: Pick<Session, "asks">, server: string): readonly Ask[] =>
  Object.values(asks).filter(
    ({ authorization }) => authorization?.login === true && authorization.server === server,
  );

/** Returns whether the session waits for a person to sign in at this server. */
export const awaitsLogin = (session: Pick<Session, "asks">, server: string): boolean =>
  loginAsks(session, server).length > 0;

/** Answers every open ask of the session to sign in at this server. */
export const settleLogins = (draft: Draft, { server, granted }: LoginSettlement): void => {
  const decision = granted ? "approve" : "deny";
  for (const ask of loginAsks(draft.state, server))
    answerAsk(
      draft,
      ask,
      { decision, by: signer, body: { decision } },
      { do: "settle", status: "ok", text: decision },
    );
  advanceSession(draft, "ask");
};
