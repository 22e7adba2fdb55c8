// Writes cases.json: what Intl of this Node.js, with the whole of ICU, makes of the values that src/locale is tested with.

import { writeFileSync } from 'node:fs'
import { LOCALES } from './locales.mjs'

const OWN = {
  ar: 'AED', 'ar-EG': 'EGP', bg: 'BGN', cs: 'CZK', da: 'DKK', 'de-CH': 'CHF', 'en-GB': 'GBP', 'es-MX': 'MXN', fa: 'IRR',
  'fr-CA': 'CAD', 'fr-CH': 'CHF', he: 'ILS', hi: 'INR', hu: 'HUF', id: 'IDR', ja: 'JPY', ko: 'KRW', nb: 'NOK', pl: 'PLN',
  pt: 'BRL', ro: 'RON', ru: 'RUB', sv: 'SEK', th: 'THB', tr: 'TRY', uk: 'UAH', vi: 'VND', zh: 'CNY', 'zh-TW': 'TWD',
}
// How many digits ISO 4217 puts behind the point, where it is not 2: ICU has others for some currencies.
const DIGITS = { JPY: 0, KRW: 0, VND: 0, KWD: 3 }
const STYLES = ['short', 'medium', 'long', 'full']
const NUMBERS = ['0', '-0.5', '1234', '12345', '1234567.8914', '-9876.5']
const AMOUNTS = ['1.005', '1234.5', '-1234567.89']
const PLURALS = [...LOCALES.map(it => it.tag), 'be', 'br', 'cy', 'gd', 'sr']
const FRACTIONS = ['0.1', '0.5', '1.1', '1.5', '2.5', '10.1', '0.21', '1.02', '1000000', '1000001', '5000000', '1.0004', '12000000']
const FORMS = { zero: 'z', one: 'o', two: 't', few: 'f', many: 'm', other: '.' }

const at = text => Math.floor(Date.parse(text) / 1000)
const MOMENTS = [at('2024-03-05T06:07:08Z'), at('2023-12-31T18:05:09Z')]
const HOURS = ['00:30', '05:00', '12:00', '13:59', '23:59'].map(it => at(`2024-01-08T${it}:00Z`))

const cases = []
for (const { tag } of LOCALES) {
  const add = (filter, value, result) => cases.push([tag, filter, value, result])
  const clock = (options, seconds) =>
    new Intl.DateTimeFormat(tag, { timeZone: 'UTC', calendar: 'gregory', ...options }).format(seconds * 1000)
  const digits = (options, value) => new Intl.NumberFormat(tag, { signDisplay: 'negative', ...options }).format(value)
  for (const style of STYLES) {
    for (const it of MOMENTS) add(`date: '${style}'`, it, clock({ dateStyle: style }, it))
    add(`datetime: '${style}'`, MOMENTS[1], clock({ dateStyle: style, timeStyle: 'short' }, MOMENTS[1]))
  }
  for (const it of HOURS) add(`time: 'short'`, it, clock({ timeStyle: 'short' }, it))
  add(`time: 'medium'`, MOMENTS[0], clock({ timeStyle: 'medium' }, MOMENTS[0]))
  for (const timeZone of ['Etc/GMT-2', 'Etc/GMT+11']) {
    add(`time: 'long', '${timeZone}'`, MOMENTS[1], clock({ timeStyle: 'long', timeZone }, MOMENTS[1]))
    add(`time: 'full', '${timeZone}'`, MOMENTS[1], clock({ timeStyle: 'full', timeZone }, MOMENTS[1]))
  }
  for (const it of NUMBERS) add('number', it, digits({}, it))
  add('number: 2', '1.005', digits({ minimumFractionDigits: 2, maximumFractionDigits: 2 }, '1.005'))
  add('percent', '0.256', digits({ style: 'percent' }, '0.256'))
  add('percent: 1', '-12.3456', digits({ style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 }, '-12.3456'))
  for (const currency of new Set(['EUR', 'USD', 'JPY', 'CHF', 'KWD', OWN[tag] ?? 'EUR'])) {
    const places = DIGITS[currency] ?? 2
    const options = { style: 'currency', currency, minimumFractionDigits: places, maximumFractionDigits: places }
    const values = currency === 'EUR' ? AMOUNTS : ['-1234567.895']
    for (const it of values) add(`currency: '${currency}'`, it, digits(options, it))
  }
  add(`money_with_currency: 'USD'`, 1299, digits({ style: 'currency', currency: 'USD', currencyDisplay: 'code' }, '12.99'))
}

const plurals = PLURALS.map(tag => {
  const rules = new Intl.PluralRules(tag)
  const form = it => FORMS[rules.select(it)]
  return [tag, Array.from({ length: 201 }, (_, i) => form(i)).join(''), FRACTIONS.map(it => form(Number(it))).join('')]
})

const ZONES = {
  'Europe/Berlin': ['1970-01-01T00:00:00Z', '2024-03-31T00:59:59Z', '2024-03-31T01:00:00Z', '2024-10-27T00:59:59Z', '2024-10-27T01:00:00Z', '2050-07-01T00:00:00Z'],
  'Europe/London': ['1969-06-01T00:00:00Z', '2024-03-31T01:00:00Z', '2100-01-01T00:00:00Z'],
  'Europe/Dublin': ['2024-01-01T00:00:00Z', '2024-07-01T00:00:00Z'],
  'America/New_York': ['2024-03-10T06:59:59Z', '2024-03-10T07:00:00Z', '2024-11-03T05:59:59Z', '2024-11-03T06:00:00Z'],
  'America/Sao_Paulo': ['2018-12-01T00:00:00Z', '2024-12-01T00:00:00Z'],
  'America/St_Johns': ['2024-01-01T00:00:00Z', '2024-07-01T00:00:00Z'],
  'Asia/Kolkata': ['2024-01-01T00:00:00Z'],
  'Asia/Kathmandu': ['2024-01-01T00:00:00Z'],
  'Asia/Tehran': ['2021-07-01T00:00:00Z', '2024-07-01T00:00:00Z'],
  'Australia/Lord_Howe': ['2024-01-01T00:00:00Z', '2024-07-01T00:00:00Z'],
  'Africa/Casablanca': ['2024-03-20T00:00:00Z', '2024-07-01T00:00:00Z'],
  'Pacific/Apia': ['2011-12-29T00:00:00Z', '2011-12-31T00:00:00Z'],
  UTC: ['2024-07-01T00:00:00Z'],
}
const zones = Object.entries(ZONES).flatMap(([zone, moments]) => moments.map(it => {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset', hour: '2-digit' })
  const name = format.formatToParts(Date.parse(it)).find(it => it.type === 'timeZoneName').value
  return [zone, at(it), name === 'GMT' ? '+0000' : name.replace('GMT', '').replace(':', '')]
}))

const { node, icu, cldr, tz } = process.versions
const lines = rows => rows.map(it => JSON.stringify(it)).join(',\n')
writeFileSync(new URL('cases.json', import.meta.url), `{
"made_by": ${JSON.stringify({ node, icu, cldr, tz })},
"fractions": ${JSON.stringify(FRACTIONS)},
"plurals": [
${lines(plurals)}
],
"zones": [
${lines(zones)}
],
"cases": [
${lines(cases)}
]
}
`)
