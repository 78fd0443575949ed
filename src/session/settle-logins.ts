import { advanceSession } from "../agent/loop/advance.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { answerAsk } from "../agent/turn/ask-answers.ts";
import type { LoginSettlement } from "./rpc.ts";

/** This file answers a session's asks to sign in at a server, once somebody has signed in there or refused to. */

/** Names as the answerer whoever signed in, of whom the deployment knows nothing. */
const signer = "login";

/** Answers every open ask of the session to sign in at this server. */
export const settleLogins = (draft: Draft, { server, granted }: LoginSettlement): void => {
  const decision = granted ? "approve" : "deny";
  for (const ask of Object.values(draft.state.asks)) {
    const { authorization } = ask;
    if (authorization?.login !== true || authorization.server !== server) continue;
    answerAsk(draft, ask, decision, signer, { decision }, { do: "settle", status: "ok", text: decision });
  }
  advanceSession(draft, "ask");
};
