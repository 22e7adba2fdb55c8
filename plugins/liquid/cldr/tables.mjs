// Writes src/locale/conventions.rs and src/locale/plural_rules.rs from the CLDR packages of package.json.

import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { LOCALES } from './locales.mjs'

const require = createRequire(import.meta.url)
const read = path => JSON.parse(readFileSync(require.resolve(path)))
const version = read('cldr-core/package.json').version
const directories = readdirSync(require.resolve('cldr-dates-full/package.json').replace(/package\.json$/, 'main'))

const STYLES = ['full', 'long', 'medium', 'short']
const MONTHS = Array.from({ length: 12 }, (_, i) => String(i + 1))
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const HOURS = Array.from({ length: 24 }, (_, i) => i)

const numberingSystems = read('cldr-core/supplemental/numberingSystems.json').supplemental.numberingSystems
const dayPeriodRules = read('cldr-core/supplemental/dayPeriods.json').supplemental.dayPeriodRuleSet
const likely = read('cldr-core/supplemental/likelySubtags.json').supplemental.likelySubtags
const currencyData = read('cldr-core/supplemental/currencyData.json').supplemental.currencyData

// Currencies that are or were lately legal tender somewhere.
const CURRENCIES = [...new Set(
  Object.values(currencyData.region).flat()
    .flatMap(it => Object.entries(it))
    .filter(([, it]) => (it._to ?? '9') > '2020' && it._tender !== 'false')
    .map(([code]) => code),
)].sort()

const list = (names, keys) => {
  const items = keys.map(key => {
    const it = names[key]
    return typeof it === 'string' ? it : it._value
  })
  if (items.some(it => it === undefined || it.includes('|'))) throw new Error(`no list: ${JSON.stringify(names)}`)
  return items.join('|')
}

// What a locale writes, as src/locale/writing.rs declares it; `directory` is CLDR's name of the locale.
function conventions(directory) {
  const main = (name, file) => read(`${name}/main/${directory}/${file}.json`).main[directory]
  const numbers = main('cldr-numbers-full', 'numbers').numbers
  const system = numbers.defaultNumberingSystem
  const symbols = numbers[`symbols-numberSystem-${system}`]
  const money = numbers[`currencyFormats-numberSystem-${system}`]
  const dates = main('cldr-dates-full', 'ca-gregorian').dates.calendars.gregorian
  const zones = main('cldr-dates-full', 'timeZoneNames').dates.timeZoneNames
  const currencies = main('cldr-numbers-full', 'currencies').numbers.currencies
  const names = (it, width, keys) => {
    const format = list(it.format[width], keys)
    const alone = list(it['stand-alone'][width], keys)
    return [format, alone === format ? '' : alone]
  }
  const [months, months_alone] = names(dates.months, 'wide', MONTHS)
  const [short_months, short_months_alone] = names(dates.months, 'abbreviated', MONTHS)
  const [days, days_alone] = names(dates.days, 'wide', DAYS)
  const [short_days, short_days_alone] = names(dates.days, 'abbreviated', DAYS)
  const times = list(dates.timeFormats, STYLES)
  return {
    zero: numberingSystems[system]._digits[0],
    decimal: symbols.decimal,
    group: symbols.group,
    minus: symbols.minusSign,
    percent_sign: symbols.percentSign,
    money_decimal: symbols.currencyDecimal ?? symbols.decimal,
    money_group: symbols.currencyGroup ?? symbols.group,
    least_grouped: Number(numbers.minimumGroupingDigits),
    number: numbers[`decimalFormats-numberSystem-${system}`].standard,
    percent: numbers[`percentFormats-numberSystem-${system}`].standard,
    money: money.standard,
    money_letters: money['standard-alphaNextToNumber'] ?? money.standard,
    money_bare: money['standard-noCurrency'],
    signs: Object.fromEntries(CURRENCIES.map(code => [code, currencies[code]?.symbol ?? code])),
    months, months_alone, short_months, short_months_alone, days, days_alone, short_days, short_days_alone,
    halves: list(dates.dayPeriods.format.abbreviated, ['am', 'pm']),
    hours: /B/.test(times) ? hours(directory, dates.dayPeriods.format.abbreviated) : '',
    eras: list(dates.eras.eraAbbr, ['0', '1']),
    dates: list(dates.dateFormats, STYLES),
    times,
    joined: list(dates['dateTimeFormats-atTime'].standard, STYLES),
    offset: zones.hourFormat,
    utc_offset: zones.gmtFormat,
    utc: zones.gmtZeroFormat,
  }
}

// The name of the part of the day for each hour.
function hours(directory, names) {
  const rules = dayPeriodRules[directory] ?? dayPeriodRules[directory.split('-')[0]]
  const hour = it => Number(it.split(':')[0])
  return HOURS.map(at => {
    const found = Object.entries(rules).find(([, it]) => {
      if (it._at !== undefined) return false
      const [from, before] = [hour(it._from), hour(it._before)]
      return from < before ? from <= at && at < before : at >= from || at < before
    })
    return names[found[0]]
  }).join('|')
}

const all = LOCALES.map(it => ({ ...it, fields: conventions(it.cldr ?? it.tag) }))

// The sign that most locales write for a currency; a locale lists where it differs.
const common = Object.fromEntries(CURRENCIES.map(code => {
  const counts = new Map()
  for (const it of all) counts.set(it.fields.signs[code], (counts.get(it.fields.signs[code]) ?? 0) + 1)
  return [code, [...counts].sort((a, b) => b[1] - a[1])[0][0]]
}))
const signs = (own, others) => CURRENCIES.filter(it => own[it] !== others[it]).map(it => `${it}=${own[it]}`).join('|')

// A region without conventions of its own writes as the most similar ones of its language.
const WEIGHTS = { zero: 20, order: 10, decimal: 5, group: 5, money_decimal: 5, clock: 3, months: 3 }
const features = fields => ({
  ...fields,
  order: [...new Set(fields.dates.split('|').at(-1).replace(/[^dMy]/g, ''))].join(''),
  clock: /[aB]/.test(fields.times),
})
function nearest(fields, candidates) {
  const wanted = features(fields)
  const likeness = other => Object.keys(wanted).reduce((sum, key) =>
    sum + (JSON.stringify(wanted[key]) === JSON.stringify(other[key]) ? WEIGHTS[key] ?? 1 : 0), 0)
  return candidates.map(it => [likeness(features(it.fields)), it]).sort((a, b) => b[0] - a[0])[0][1]
}
const regions = []
for (const language of new Set(all.map(it => it.tag.split('-')[0]))) {
  const candidates = all.filter(it => it.tag.split('-')[0] === language)
  if (candidates.length === 1) continue
  for (const directory of directories.filter(it => it.startsWith(`${language}-`))) {
    const parts = directory.split('-').filter(it => it.length !== 4 && it === it.toUpperCase() || it === language)
    if (parts.length !== 2 || candidates.some(it => it.tag === parts.join('-'))) continue
    // Where a language has two scripts, the tag without one means that of `likelySubtags`.
    const script = directory.split('-').find(it => it.length === 4)
    if (script !== undefined && !likely[parts.join('-')]?.includes(`-${script}-`)) continue
    const found = nearest(conventions(directory), candidates)
    if (found.tag !== language) regions.push([parts.join('-'), found.tag])
  }
}
const like = [...new Map(regions)].sort(([a], [b]) => (a < b ? -1 : 1))

const escape = text => JSON.stringify(text).slice(1, -1)
  .replace(/[\p{Z}\p{C}]/gu, it => (it === ' ' ? it : `\\u{${it.codePointAt(0).toString(16)}}`))
const quoted = text => `"${escape(text)}"`
const constant = tag => tag.toUpperCase().replaceAll('-', '_')
const notice = `Unicode CLDR ${version}, Unicode-3.0 (cldr/LICENSE-unicode.txt). Generated by cldr/tables.mjs: do not edit.`

let out = `//! What each locale writes. ${notice}\n\nuse super::writing::Conventions;\n\n`
out += `/// The version of CLDR.\n#[cfg(test)]\npub const CLDR: &str = "${version}";\n\n`
out += `/// In the order of their tags.\npub static LOCALES: [(&str, &Conventions); ${all.length}] = [\n`
for (const it of [...all].sort((a, b) => (a.tag < b.tag ? -1 : 1))) out += `    (${quoted(it.tag)}, &${constant(it.tag)}),\n`
out += `];\n\n/// Regions that write as another locale than that of their language, in the order of their tags.\n`
out += `pub static REGIONS: [(&str, &Conventions); ${like.length}] = [\n`
for (const [tag, as] of like) out += `    (${quoted(tag)}, &${constant(as)}),\n`
out += `];\n\n/// Signs of currencies that most locales write.\npub static SIGNS: &str = ${quoted(signs(common, Object.fromEntries(CURRENCIES.map(it => [it, it]))))};\n`
for (const it of all) {
  out += `\n${it.tag === 'en' ? 'pub ' : ''}static ${constant(it.tag)}: Conventions = Conventions {\n`
  for (const [key, value] of Object.entries(it.fields)) {
    const written = key === 'signs' ? quoted(signs(value, common))
      : key === 'zero' ? `'${value}'`
      : typeof value === 'number' ? value : quoted(value)
    out += `    ${key}: ${written},\n`
  }
  out += '};\n'
}
write('conventions', out)

// Plural rules: the same rules for several languages are one function.
const cardinals = read('cldr-core/supplemental/plurals.json').supplemental['plurals-type-cardinal']
const FORMS = { zero: 'Zero', one: 'One', two: 'Two', few: 'Few', many: 'Many', other: 'Other' }
const bodies = new Map()
for (const [language, rules] of Object.entries(cardinals)) {
  const conditions = Object.entries(rules)
    .map(([name, text]) => [name.replace('pluralRule-count-', ''), text.split('@')[0].trim()])
    .filter(([name]) => name !== 'other')
  const body = conditions.map(([name, text]) => [condition(text), FORMS[name]])
    .filter(([it]) => it !== 'false')
    .map(([it, form]) => `if ${it} {\n Plural::${form}\n} else `)
    .join('')
  const whole = body === '' ? 'Plural::Other' : `${body}{\n Plural::Other\n}`
  bodies.set(whole, [...(bodies.get(whole) ?? []), language])
}

// `n` is compared as a whole number only: ranges have whole ends. There are no compact exponents (`e`, `c`).
function condition(text) {
  const ors = text.split(' or ').map(or => {
    const ands = or.split(' and ').map(relation)
    if (ands.includes('false')) return 'false'
    return ands.filter(it => it !== 'true').join(' && ') || 'true'
  }).filter(it => it !== 'false')
  return ors.length === 0 ? 'false' : ors.join(' || ')
}

function relation(text) {
  const [, operand, modulus, not, ranges] = /^([nivwftec])(?: % (\d+))? (!?)= ([\d.,]+)$/.exec(text)
  const matches = ranges.split(',').map(it => it.replace('..', '..='))
  if ('ec'.includes(operand)) return String((matches.some(it => it.startsWith('0'))) !== (not === '!'))
  const value = `it.${operand === 'n' ? 'i' : operand}${modulus ? ` % ${grouped(modulus)}` : ''}`
  const single = matches.length === 1 && !matches[0].includes('.')
  const test = single ? `${value} ${not ? '!=' : '=='} ${grouped(matches[0])}`
    : `${not}matches!(${value}, ${matches.join(' | ')})`
  if (operand !== 'n') return test
  return not ? `(it.t != 0 || ${test})` : `it.t == 0 && ${test}`
}
function grouped(digits) { return digits.replace(/\B(?=(\d{3})+$)/g, '_') }

out = `//! Which plural form a number takes. ${notice}\n\n`
out += '#![expect(\nclippy::manual_is_multiple_of,\nclippy::manual_range_patterns,\nclippy::nonminimal_bool,\nreason = "the rules of CLDR, term by term"\n)]\n\n'
out += 'use super::plural::{Operands, Plural};\n\n'
out += '/// The rule of a language; `pt-PT` has one that differs from that of `pt`.\n'
out += 'pub fn rule(language: &str) -> fn(&Operands) -> Plural {\n    match language {\n'
const sorted = [...bodies].filter(([body]) => body !== 'Plural::Other')
sorted.forEach(([, languages], i) => { out += `${languages.map(quoted).join(' | ')} => rule_${i + 1},\n` })
out += '_ => |_| Plural::Other,\n    }\n}\n'
const uses = body => /\bit\./.test(body)
sorted.forEach(([body, languages], i) => {
  out += `\n/// \`${languages[0]}\`${languages.length > 1 ? ` and ${languages.length - 1} more` : ''}.\n`
  out += `const fn rule_${i + 1}(${uses(body) ? 'it' : '_'}: &Operands) -> Plural {\n${body}\n}\n`
})
write('plural_rules', out)

function write(name, text) {
  const file = new URL(`../src/locale/${name}.rs`, import.meta.url).pathname
  writeFileSync(file, text)
  execFileSync('rustfmt', ['--edition', '2024', '--style-edition', '2024', '--config', 'max_width=100', file])
}
