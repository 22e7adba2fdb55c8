// Keeps the list of the sandbox inbox up to date. The page is not loaded anew: a row that stays keeps its
// element, so the focus, a selection and the scroll position stay where they are.
const EVERY_MS = 5000;

async function update() {
  if (document.hidden) return;
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) throw new Error(`the inbox answers ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [here, fresh] = [document, page].map((it) => it.querySelector("main"));
  const [list, next] = [here, fresh].map((it) => it.querySelector(".mails"));
  if (list && next) {
    rows(list, next);
    replace(here, fresh, ".head .muted");
    links(here, fresh);
  } else if (list || next) {
    here.replaceChildren(...fresh.childNodes);
  }
}

function rows(list, next) {
  const known = new Map([...list.children].map((row) => [row.dataset.id, row]));
  let arrived = 0;
  let at = list.firstElementChild;
  for (const fresh of [...next.children]) {
    const row = known.get(fresh.dataset.id);
    if (row) {
      known.delete(fresh.dataset.id);
      replace(row, fresh, "time");
      at = row.nextElementSibling;
    } else {
      list.insertBefore(document.adoptNode(fresh), at);
      arrived += 1;
    }
  }
  for (const row of known.values()) {
    if (row.contains(document.activeElement)) {
      (row.nextElementSibling ?? row.previousElementSibling)?.querySelector("a")?.focus();
    }
    row.remove();
  }
  if (arrived > 0) say(arrived === 1 ? "1 new message" : `${arrived} new messages`);
}

function replace(here, fresh, what) {
  const [old, next] = [here, fresh].map((it) => it.querySelector(what));
  if (old && next && !old.isEqualNode(next)) old.replaceWith(next);
}

// The page after this one begins behind another row when mail has come.
function links(here, fresh) {
  const [old, next] = [here, fresh].map((it) => it.querySelector(".pages"));
  if (!old && next) here.append(next);
  if (!old || !next) return;
  const [olds, nexts] = [old, next].map((it) => [...it.querySelectorAll("a")]);
  if (olds.length !== nexts.length) old.replaceWith(next);
  else olds.forEach((link, index) => { link.href = nexts[index].href; });
}

function say(words) {
  const said = document.querySelector(".said");
  if (said) said.textContent = words;
}

async function watch() {
  try {
    await update();
    document.querySelector(".live")?.classList.remove("lost");
  } catch {
    document.querySelector(".live")?.classList.add("lost");
    say("the inbox cannot be reached");
  }
  setTimeout(watch, EVERY_MS);
}

document.addEventListener("visibilitychange", () => { update().catch(() => {}); });
setTimeout(watch, EVERY_MS);
