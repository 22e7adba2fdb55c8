// The locales that have conventions of their own; `cldr` is CLDR's name where it differs.
const tags = [
  'ar', 'ar-EG', 'bg', 'cs', 'da', 'de', 'de-AT', 'de-CH', 'el', 'en', 'en-GB', 'es', 'es-MX', 'fa', 'fi', 'fr', 'fr-CA',
  'fr-CH', 'he', 'hi', 'hr', 'hu', 'id', 'it', 'ja', 'ko', 'nb', 'nl', 'pl', 'pt', 'pt-PT', 'ro', 'ru', 'sv', 'th', 'tr',
  'uk', 'vi', 'zh', 'zh-TW',
]
export const LOCALES = tags.map(tag => ({ tag, ...(tag === 'zh-TW' ? { cldr: 'zh-Hant' } : {}) }))
