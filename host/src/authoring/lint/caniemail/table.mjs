// Writes table.txt of the data of the npm package caniemail: what two or more of the main mail clients do not show.

import { createRequire } from 'node:module'
import { readFileSync, writeFileSync } from 'node:fs'

const require = createRequire(import.meta.url)
const { data, last_update_date } = JSON.parse(readFileSync(require.resolve('caniemail/caniemail.json')))

// A client does not show what one of its platforms does not, each by its newest test.
const CLIENTS = {
  'Apple Mail': ['apple-mail/macos', 'apple-mail/ios'],
  'Gmail': ['gmail/desktop-webmail', 'gmail/ios', 'gmail/android'],
  'Outlook for Windows': ['outlook/windows'],
  'Outlook.com': ['outlook/outlook-com'],
  'Outlook for phones': ['outlook/ios', 'outlook/android'],
  'Yahoo! Mail': ['yahoo/desktop-webmail', 'yahoo/ios', 'yahoo/android'],
}
// Where a client ignores these, nothing is out of its place: a mail reads as well without them.
const ADORNMENTS = new Set([
  'accent-color', 'animation', 'backdrop-filter', 'box-shadow', 'color-scheme', 'cursor', 'filter', 'font-kerning',
  'font-stretch', 'hyphenate-character', 'hyphenate-limit-chars', 'hyphens', 'orphans', 'outline-offset',
  'overflow-wrap', 'resize', 'scroll-snap', 'tab-size', 'text-decoration-skip-ink', 'text-decoration-thickness',
  'text-shadow', 'text-underline-offset', 'text-underline-position', 'text-wrap', 'transition', 'user-select',
  'widows', 'word-wrap',
])
// Elements that only name their content, or that clients without them show as plain text.
const PLAIN = new Set(['<abbr>', '<acronym>', '<bdi>', '<body>', '<link>', '<meta>', '<rp>', '<rt>', '<ruby>', '<wbr>'])
// Titles that name several properties or a family of them.
const FAMILIES = {
  'css-block-inline-size': ['block-size', 'inline-size'],
  'css-gap': ['gap', 'column-gap', 'row-gap'],
  'css-left-right-top-bottom': ['bottom', 'left', 'right', 'top'],
  'css-grid-template': ['grid-template', 'grid-template-areas', 'grid-template-columns', 'grid-template-rows'],
  'css-margin-block-start-end': ['margin-block-end', 'margin-block-start'],
  'css-margin-inline-block': ['margin-block', 'margin-inline'],
  'css-margin-inline-start-end': ['margin-inline-end', 'margin-inline-start'],
  'css-padding-block-start-end': ['padding-block-end', 'padding-block-start'],
  'css-padding-inline-block': ['padding-block', 'padding-inline'],
  'css-padding-inline-start-end': ['padding-inline-end', 'padding-inline-start'],
}

const names = ({ category, slug, title }) => {
  if (FAMILIES[slug]) return FAMILIES[slug]
  if (category === 'html') {
    const element = title.match(/<([a-z0-9]+)>/)
    return element && /element|image|^</.test(title) ? [`<${element[1]}>`] : []
  }
  // Other rules with an `@` leave the mail as it is where they are not known.
  if (slug === 'css-at-import') return ['@import']
  if (category !== 'css' || /^css-(at|function|pseudo|selector|unit)-/.test(slug)) return []
  const name = title.trim().replace(/ property$/, '').replace(/: /, ':')
  return /^[a-z-]+(:[a-z-]+)?$/.test(name) ? [name] : []
}

const rows = data.flatMap(feature => {
  const without = Object.entries(CLIENTS).filter(([, platforms]) => platforms.some(platform => {
    const [family, kind] = platform.split('/')
    return Object.values(feature.stats[family]?.[kind] ?? {}).at(-1)?.startsWith('n')
  }))
  if (without.length < 2) return []
  const clients = without.map(([name]) => name).join(', ')
  return names(feature)
    .filter(it => !ADORNMENTS.has(it) && !PLAIN.has(it))
    .map(it => `${it}|${clients}|${feature.slug}`)
})
const seen = new Set()
const isFirst = row => !seen.has(row.split('|')[0]) && seen.add(row.split('|')[0])
const table = [
  `# Of caniemail.com (MIT, see LICENSE-caniemail.txt), made by table.mjs; data of ${last_update_date.slice(0, 10)}`,
  ...rows.filter(isFirst).sort((a, b) => (a.split('|')[0] < b.split('|')[0] ? -1 : 1)),
]
writeFileSync(new URL('table.txt', import.meta.url), [...table, ''].join('\n'))
