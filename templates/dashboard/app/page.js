// Of every page. Keys, for whoever leaves the mouse alone: j and k move through a list, / searches, Ctrl K jumps, ? shows
// them all. Buttons that copy, and buttons that are pressed once. All that they do can be done without this script.
const LETTERS = 'letters';
const ROW = 'row';
const BACK = 'back';
const here = () => location.pathname + location.search;
const kept = (store, name) => { try { return store.getItem(name); } catch { return null; } };
const keep = (store, name, value) => { try { store.setItem(name, value); } catch { /* Nothing is kept in this browser. */ } };

function made(tag, members = {}, ...inside) {
  const it = Object.assign(document.createElement(tag), members);
  it.append(...inside);
  return it;
}

// Where a letter is a letter. The editor of templates has a shadow root.
const types = (it) => Boolean(it.shadowRoot || it.closest?.('input:not([type=checkbox], [type=radio]), textarea, select, dialog'));

function rows() {
  const all = [...document.querySelectorAll('main tbody tr, main .lines li')];
  return all.map((row) => row.querySelector('a[href], input[type=checkbox]')).filter((it) => it?.offsetParent);
}

function move(step) {
  const all = rows();
  const at = all.findIndex((it) => (it.closest('tr') ?? it.closest('li')).contains(document.activeElement));
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

function find() {
  const field = document.querySelector('main [role=search] input[type=search]');
  if (!field) return jump();
  field.focus();
  field.select();
}

// From the page of a row back to the row.
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('main tbody a[href], main .lines a[href]');
  if (link) keep(sessionStorage, ROW, JSON.stringify({ list: here(), row: link.getAttribute('href') }));
});
function back() {
  const { list, row } = JSON.parse(kept(sessionStorage, ROW) ?? '{}');
  if (!list || row !== here()) return;
  keep(sessionStorage, BACK, '1');
  location.assign(list);
}
if (kept(sessionStorage, BACK) === '1') {
  keep(sessionStorage, BACK, '');
  const { row } = JSON.parse(kept(sessionStorage, ROW) ?? '{}');
  [...document.querySelectorAll('main a[href]')].find((it) => it.getAttribute('href') === row)?.focus();
}

function dialog(title, ...inside) {
  const it = made('dialog', { ariaLabel: title }, ...inside);
  it.addEventListener('close', () => it.remove());
  it.addEventListener('click', (event) => { if (event.target === it) it.close(); });
  document.body.append(it);
  it.showModal();
  return it;
}

// Places of the menu, actions of the page, and what is typed as a search for messages.
function jump() {
  if (document.querySelector('dialog[open]')) return;
  const links = [...document.querySelectorAll('.side nav a[href], main .head a[href]')];
  const places = links.map((it) => ({ word: it.textContent.trim(), href: it.href }));
  const field = made('input', { type: 'search', id: 'jump', placeholder: 'A page, an address or msg_…', autocomplete: 'off', spellcheck: false, role: 'combobox', ariaLabel: 'Jump to', ariaExpanded: 'true', ariaAutoComplete: 'list' });
  field.setAttribute('aria-controls', 'places');
  const list = made('ul', { id: 'places', role: 'listbox', ariaLabel: 'Places' });
  let chosen = 0;
  const choose = (at) => {
    const all = [...list.children];
    chosen = Math.max(0, Math.min(at, all.length - 1));
    all.forEach((it, i) => { it.ariaSelected = String(i === chosen); });
    all[chosen]?.scrollIntoView({ block: 'nearest' });
    if (all[chosen]) field.setAttribute('aria-activedescendant', all[chosen].id);
    else field.removeAttribute('aria-activedescendant');
  };
  const fill = () => {
    const text = field.value.trim();
    const words = text.toLowerCase().split(/\s+/);
    const found = places.filter((it) => words.every((word) => it.word.toLowerCase().includes(word)));
    if (text) found.push({ word: `Find messages: ${text}`, href: `/app/messages?q=${encodeURIComponent(text)}` });
    if (/[@_:]/.test(text)) found.reverse();
    list.replaceChildren(...found.map((it, i) => {
      const option = made('li', { id: `place-${i}`, role: 'option', textContent: it.word });
      option.dataset.href = it.href;
      option.addEventListener('click', () => location.assign(it.href));
      return option;
    }));
    choose(0);
  };
  field.addEventListener('input', fill);
  field.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choose(chosen + step);
    else if (event.key === 'Enter' && list.children[chosen]) location.assign(list.children[chosen].dataset.href);
    else return;
    event.preventDefault();
  });
  dialog('Jump to', field, list).classList.add('palette');
  fill();
  field.focus();
}

function help() {
  if (document.querySelector('dialog[open]')) return;
  const keys = [['j  k', 'next and previous row of a list'], ['Enter', 'open the row'], ['Esc', 'back to the list, at that row'],
    ['/', 'search on this page'], ['Ctrl K  ⌘ K', 'jump to a page, an address or a message'], ['?', 'these keys']];
  const list = made('dl', { className: 'facts' });
  for (const [key, about] of keys) {
    list.append(made('dt', {}, ...key.split('  ').flatMap((it) => [made('kbd', { textContent: it }), ' '])), made('dd', { textContent: about }));
  }
  const letters = made('input', { type: 'checkbox', checked: kept(localStorage, LETTERS) !== 'off' });
  letters.addEventListener('change', () => keep(localStorage, LETTERS, letters.checked ? 'on' : 'off'));
  const close = made('button', { className: 'button', type: 'button', textContent: 'Close' });
  const it = dialog('Shortcuts', made('h2', { textContent: 'Shortcuts' }), list,
    made('label', { className: 'choice' }, letters, made('span', { textContent: 'Single letters are keys in this browser' })),
    made('div', { className: 'actions' }, close));
  close.addEventListener('click', () => it.close());
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const { key } = event;
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && key.toLowerCase() === 'k' && !event.target.shadowRoot) {
    event.preventDefault();
    return jump();
  }
  if (event.ctrlKey || event.metaKey || types(event.target)) return;
  if (key === 'Escape') return back();
  const act = { j: () => move(1), k: () => move(-1), '/': find, '?': help }[key];
  if (!act || (kept(localStorage, LETTERS) === 'off' && key !== '?')) return;
  event.preventDefault();
  act();
});

// A form is sent once, however often its button is pressed; what opens in a frame, or is a file, leaves the page as it is.
document.addEventListener('submit', (event) => {
  const { target: form, submitter } = event;
  if (form.method !== 'post' || (submitter?.formTarget || form.target)) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = '1';
  submitter?.setAttribute('aria-disabled', 'true');
});
// The browser's way back shows the page as it was left.
addEventListener('pageshow', () => {
  for (const it of document.querySelectorAll('form[data-sent]')) delete it.dataset.sent;
  for (const it of document.querySelectorAll('button[aria-disabled]')) it.removeAttribute('aria-disabled');
});

for (const code of navigator.clipboard ? document.querySelectorAll('main .copy') : []) {
  const button = made('button', { className: 'button plain copies', type: 'button', textContent: 'Copy' });
  button.ariaLabel = `Copy ${code.textContent}`.slice(0, 80);
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  code.after(' ', button);
}

const menu = document.querySelector('.side nav');
if (menu) {
  const button = made('button', { className: 'button jump', type: 'button' }, 'Jump to …', made('kbd', { textContent: /Mac|iP/.test(navigator.platform) ? '⌘ K' : 'Ctrl K' }));
  button.addEventListener('click', jump);
  menu.before(button);
  const shown = made('button', { className: 'button plain keys', type: 'button', textContent: 'Shortcuts' });
  shown.addEventListener('click', help);
  document.querySelector('.side form[action="/logout"]')?.append(shown);
}
// After the button has moved the places down.
document.querySelector('.side [aria-current=page]')?.scrollIntoView({ block: 'nearest' });
