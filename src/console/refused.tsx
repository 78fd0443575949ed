import { useStore } from "./parts/hooks.ts";
import { Mark } from "./parts/icons.tsx";
import { useApp } from "./state/app.ts";

/** The pages where there is nothing to see without another key, or another session. */

const missingWords = [
  "There is no such session",
  "It was deleted, or it belongs to somebody else. Its address is not a secret: nothing was lost by opening it.",
] as const;

const forbiddenWords = [
  "This key may not open this session",
  "It works here, but it was not given the right to read sessions.",
] as const;

/** A session that there is not, or that this key may not open. */
export const NoSession = ({ missing }: { readonly missing: boolean }) => {
  const [title, text] = missing ? missingWords : forbiddenWords;
  const { go } = useApp();
  return (
    <main class="first" id="conversation">
      <div class="first-column">
        <h1>{title}</h1>
        <p class="quiet-text">{text}</p>
        <div class="row-of-buttons">
          <button type="button" class="button primary" onClick={() => go({ session: null, context: null })}>
            Start a new session
          </button>
          <button type="button" class="button" onClick={() => location.reload()}>
            Use another key
          </button>
        </div>
      </div>
    </main>
  );
};

/** Asks for the key where the server wants one; it goes into the memory of this page and nowhere else. */
export const KeyPage = () => {
  const { key, sessions } = useApp();
  const { state } = useStore(sessions.list);
  const tried = useStore(key) !== "";
  return (
    <main class="first key-page" id="conversation">
      <form
        class="first-column"
        onSubmit={(event) => {
          event.preventDefault();
          const field = event.currentTarget.elements.namedItem("key");
          if (field instanceof HTMLInputElement) key.set(field.value.trim());
        }}
      >
        <Mark />
        <h1>
          {tried && state === "refused" ? "This key does not open this server" : "This server needs a key"}
        </h1>
        <p class="quiet-text">It stays in the memory of this page: a reload forgets it.</p>
        <label>
          Key
          <input
            id="composer"
            name="key"
            class="field"
            type="password"
            autocomplete="off"
            autofocus
            required
          />
        </label>
        <div class="row-of-buttons">
          <button type="submit" class="button primary">
            Open
          </button>
        </div>
      </form>
    </main>
  );
};
