/** Defines the page of `/console`, which shows a session's stream and answers its asks. Texts become text nodes. */
export const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Limpet</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/console/console.css" />
    <script src="/console/console.js" defer></script>
  </head>
  <body>
    <header>
      <h1>Limpet</h1>
      <form id="opening">
        <label>Key <input id="key" type="password" autocomplete="off" placeholder="none on this machine" /></label>
        <label>Agent <select id="agent"></select></label>
        <button id="create" type="submit">New session</button>
      </form>
      <output id="session"></output>
      <output id="connection" data-state="closed">no session</output>
      <output id="status"></output>
    </header>
    <main id="log" aria-live="polite"></main>
    <section id="asks" aria-label="Open questions"></section>
    <footer>
      <form id="composer">
        <textarea id="text" rows="2" placeholder="Write to the agent" disabled></textarea>
        <label>While it works
          <select id="busy">
            <option value="steer">steer</option>
            <option value="queue">queue</option>
            <option value="interrupt">interrupt</option>
            <option value="rollback">roll back</option>
            <option value="reject">refuse</option>
          </select>
        </label>
        <button id="send" type="submit" disabled>Send</button>
        <button id="cancel" type="button" disabled>Cancel</button>
      </form>
    </footer>
  </body>
</html>
`;
