/** Defines the style sheet of the page. */
export const style = `:root {
  color-scheme: light dark;
  font: 15px/1.5 system-ui, sans-serif;
  --line: color-mix(in srgb, CanvasText 18%, Canvas);
  --soft: color-mix(in srgb, CanvasText 6%, Canvas);
}
* { box-sizing: border-box; }
body { margin: 0; height: 100dvh; display: flex; flex-direction: column; }
header, footer, #asks { padding: 0.6rem 1rem; border-color: var(--line); border-style: solid; border-width: 0; }
header { display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; align-items: center; border-bottom-width: 1px; }
header h1 { font-size: 1.1rem; margin: 0; }
header output { font-size: 0.85rem; opacity: 0.8; }
form { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; margin: 0; }
footer { border-top-width: 1px; }
#composer textarea { flex: 1 1 20rem; }
input, select, textarea, button { font: inherit; padding: 0.25rem 0.5rem; }
#log { flex: 1; overflow-y: auto; padding: 1rem; display: flex; flex-direction: column; gap: 0.6rem; }
#log:empty::before { content: "New session begins a conversation with the chosen agent."; opacity: 0.65; }
#log > *, .ask { max-width: 54rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.user { align-self: flex-end; background: var(--soft); border-radius: 0.6rem; padding: 0.4rem 0.8rem; }
[data-agent] { margin-left: 1.5rem; }
[data-agent]::before { content: attr(data-agent); display: block; opacity: 0.65; font-size: 0.85rem; }
.note { opacity: 0.65; font-size: 0.85rem; }
.failure { color: #c0392b; }
.open::after { content: "▍"; opacity: 0.6; }
details { border: 1px solid var(--line); border-radius: 0.4rem; padding: 0.2rem 0.6rem; white-space: normal; }
summary { cursor: pointer; }
pre { margin: 0.3rem 0; white-space: pre-wrap; max-height: 20rem; overflow: auto; font-size: 0.85rem; }
.ask textarea { width: 100%; font-family: ui-monospace, monospace; font-size: 0.85rem; }
#asks { max-height: 65dvh; overflow-y: auto; }
.ask code { background: var(--soft); padding: 0 0.3rem; }
.ask { border-left: 4px solid #d9822b; padding: 0.3rem 0.8rem; margin: 0.4rem 0; }
#connection[data-state="live"] { color: #27864b; }
#connection[data-state="waiting"], #connection[data-state="connecting"] { color: #b8741a; }
#connection[data-state="failed"] { color: #c0392b; }
`;
