// Asks again, every few seconds, for the part of a page that changes by itself, and puts it in place. The page says
// where to ask and how often; without this script it is right as of the moment it was loaded.
const part = () => document.getElementById('live');
let timer;

// A page that nobody looks at asks for nothing.
function wait() {
  clearTimeout(timer);
  const it = part();
  if (it?.dataset.live && !document.hidden) timer = setTimeout(ask, Number(it.dataset.every) * 1000);
}

async function ask() {
  const before = part();
  try {
    const answer = await fetch(before.dataset.live, { headers: { 'X-Live': '1' } });
    // The session is over, and the page leads to the log-in.
    if (answer.redirected) location.reload();
    else if (answer.status === 200) replace(before, await answer.text());
  } catch { /* The server is away. It may be back when it is asked the next time. */ }
  wait();
}

function replace(before, html) {
  // Not under the hands of somebody who marks a text.
  const chosen = getSelection();
  if (!before.isConnected || (!chosen.isCollapsed && before.contains(chosen.anchorNode))) return;
  const states = new Map([...before.querySelectorAll('details[id]')].map((it) => [it.id, it.open]));
  const focused = before.contains(document.activeElement) && document.activeElement.id;
  before.outerHTML = html;
  for (const it of part().querySelectorAll('details[id]')) it.open = states.get(it.id) ?? it.open;
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(timer);
  if (!document.hidden && part()?.dataset.live) ask();
});
wait();
