// The colours of HTML, MJML and text with Liquid in it. It reads words, and checks nothing: the server does that.
import { StreamLanguage } from '@codemirror/language';

const KEYWORD = /^(and|assign|break|capture|case|comment|contains|continue|cycle|decrement|echo|else|elsif|end\w+|for|if|in|include|increment|layout|liquid|or|raw|render|tablerow|unless|when|with)\b/;

function liquid(stream, state) {
  if (stream.match(/^-?(\}\}|%\})/)) { state.liquid = false; return 'meta'; }
  if (stream.match(/^"[^"]*"?|^'[^']*'?/)) return 'string';
  if (stream.match(/^-?\d+(\.\d+)?/)) return 'number';
  if (stream.match(KEYWORD)) return 'keyword';
  if (stream.match(/^\|\s*\w+/)) return 'keyword';
  if (stream.match(/^[\w.-]*\w/)) return 'variableName';
  stream.next();
  return null;
}

function token(stream, state) {
  if (state.liquid) return stream.eatSpace() ? null : liquid(stream, state);
  if (state.comment) {
    if (stream.match(/^.*?-->/)) state.comment = false;
    else stream.skipToEnd();
    return 'comment';
  }
  if (stream.match(/^(\{\{|\{%)-?/)) { state.liquid = true; return 'meta'; }
  if (state.quote) {
    while (!stream.eol() && !stream.match(/^(\{\{|\{%)/, false)) {
      if (stream.next() === state.quote) { state.quote = ''; break; }
    }
    return 'string';
  }
  if (state.tag) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^\/?>/)) { state.tag = false; return 'tagName'; }
    if (stream.match(/^["']/)) { state.quote = stream.current(); return 'string'; }
    if (stream.match(/^[^\s=>"'/{]+/)) return 'attributeName';
    stream.next();
    return null;
  }
  if (stream.match(/^<!--/)) { state.comment = true; return 'comment'; }
  if (stream.match(/^<\/?[a-z][\w:-]*/i)) { state.tag = true; return 'tagName'; }
  if (stream.match(/^&#?\w+;/)) return 'number';
  stream.next();
  stream.eatWhile(/[^<&{]/);
  return null;
}

export const template = StreamLanguage.define({
  startState: () => ({ liquid: false, comment: false, tag: false, quote: '' }),
  copyState: (state) => ({ ...state }),
  token,
});
