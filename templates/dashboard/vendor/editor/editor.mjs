// The editor of a template. Each text area of the form stands behind an editor that keeps it up to date: without this
// script the text area is what one types in, and the form sends the same in both cases.
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { HighlightStyle, bracketMatching, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { template } from './tokens.mjs';

// After the last key, before the server is asked what is wrong.
const PAUSE_MS = 900;

const colours = HighlightStyle.define([
  { tag: tags.tagName, color: 'var(--accent)' },
  { tag: tags.attributeName, color: 'var(--wait)' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: tags.number, color: 'var(--way)' },
  { tag: tags.keyword, color: 'var(--spam)', fontWeight: '600' },
  { tag: tags.variableName, color: 'var(--way)' },
  { tag: tags.meta, color: 'var(--spam)' },
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
]);

const looks = EditorView.theme({
  '&': { border: '1px solid var(--edge)', borderRadius: '8px', background: 'var(--card)', color: 'var(--ink)', fontSize: 'var(--code, 13px)', overflow: 'hidden' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '0' },
  '.cm-scroller': { maxHeight: '560px', overflow: 'auto', fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-gutters': { border: '0', background: 'var(--sunk)', color: 'var(--soft)' },
  '.cm-content, .cm-gutter': { minHeight: '126px' },
  '.cm-activeLine, .cm-activeLineGutter': { background: 'var(--hover)' },
  '&:not(.cm-focused) .cm-activeLine, &:not(.cm-focused) .cm-activeLineGutter': { background: 'transparent' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': { background: 'var(--tint)' },
  '.cm-matchingBracket': { background: 'var(--tint)' },
  '.cm-tooltip': { border: '1px solid var(--edge)', borderRadius: '8px', background: 'var(--card)', color: 'var(--ink)' },
});

// Chromium keeps the looks of a text that is typed over in an attribute `style`, which the page's policy forbids.
// The event knows what is typed over better than the editor, whose own selection may be one step behind.
function typeOver(event, view) {
  if (event.inputType !== 'insertText' || event.data === null || view.composing || view.state.readOnly) return false;
  let { from, to } = view.state.selection.main;
  const [range] = event.getTargetRanges();
  if (range && !range.collapsed) {
    from = view.posAtDOM(range.startContainer, range.startOffset);
    to = view.posAtDOM(range.endContainer, range.endOffset);
  }
  if (from === to) return false;
  event.preventDefault();
  const insert = view.state.toText(event.data);
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    userEvent: 'input.type',
    scrollIntoView: true,
  });
  return true;
}

function editor(area) {
  const label = document.querySelector(`label[for="${area.id}"]`);
  const host = document.createElement('div');
  const root = host.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        lineNumbers(), lintGutter(), history(), drawSelection(), bracketMatching(), highlightActiveLine(), template, looks,
        syntaxHighlighting(colours), EditorView.lineWrapping, keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorState.readOnly.of(area.readOnly), EditorView.domEventHandlers({ beforeinput: typeOver }),
        EditorView.contentAttributes.of({ 'aria-label': label?.textContent ?? area.name, spellcheck: 'false', tabindex: '0' }),
        EditorView.updateListener.of((it) => {
          if (!it.docChanged) return;
          area.value = it.state.doc.toString();
          area.dispatchEvent(new Event('input', { bubbles: true }));
        }),
      ],
    }),
  });
  host.className = 'editor';
  area.before(host);
  area.hidden = true;
  label?.addEventListener('click', () => view.focus());
  return { view, parts: area.dataset.parts.split(' ') };
}

// What the page says is wrong, at the lines that it names.
function mark(editors) {
  const findings = [...document.querySelectorAll('[data-line]')].map((it) => it.dataset);
  for (const { view, parts } of editors) {
    const doc = view.state.doc;
    const diagnostics = findings.filter((it) => parts.includes(it.part) && it.line >= 1 && it.line <= doc.lines).map((it) => {
      const line = doc.line(Number(it.line));
      const from = Math.min(line.from + Math.max(Number(it.column) - 1, 0), line.to);
      return { from, to: Math.max(line.to, from), severity: it.severity, message: it.message };
    });
    view.dispatch(setDiagnostics(view.state, diagnostics.sort((a, b) => a.from - b.from)));
  }
}

const form = document.querySelector('form[data-check]');
const editors = [...(form?.querySelectorAll('textarea[data-parts]') ?? [])].map(editor);
mark(editors);

let timer;
let asked = 0;
async function check() {
  const number = ++asked;
  try {
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(form.dataset.check, { method: 'POST', body, headers: { 'X-Live': '1' } });
    const findings = document.getElementById('findings');
    if (answer.redirected || !findings || number !== asked || ![200, 422].includes(answer.status)) return;
    findings.outerHTML = await answer.text();
    mark(editors);
  } catch { /* The server is away; the button asks it again. */ }
}

// Shows what is typed in the frame, by the form's own button. Each time in a new frame behind the old one: so nothing
// flickers, and the way back leads past all of them. A frame keeps the name that it was made with, so each has its own.
let frames = 0;
function preview() {
  const button = form.querySelector('button[formtarget]');
  const old = document.querySelector('.preview iframe:not(.next)');
  if (!button || !old) return;
  document.querySelector('.preview iframe.next')?.remove();
  const next = old.cloneNode();
  next.removeAttribute('src');
  next.name = `preview-${++frames}`;
  next.className = 'next';
  old.after(next);
  next.addEventListener('load', () => {
    old.remove();
    next.className = '';
  });
  button.formTarget = next.name;
  form.requestSubmit(button);
}
form?.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(() => { check(); preview(); }, PAUSE_MS);
});
