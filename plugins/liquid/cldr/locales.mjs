// The locales that have conventions of their own; `cldr` is CLDR's name where it differs.
const tags = [
  'ar', 'ar-EG', 'bg', 'ca', 'cs', 'da', 'de', 'de-AT', 'de-CH', 'el', 'en', 'en-GB', 'en-IN', 'es', 'es-MX', 'et', 'fa',
  'fi', 'fr', 'fr-CA', 'fr-CH', 'ga', 'he', 'hi', 'hr', 'hu', 'id', 'is', 'it', 'ja', 'ko', 'lt', 'lv', 'mt', 'nb', 'nl',
  'pl', 'pt', 'pt-PT', 'ro', 'ru', 'sk', 'sl', 'sv', 'th', 'tr', 'uk', 'vi', 'zh', 'zh-TW',
]
export const LOCALES = tags.map(tag => ({ tag, ...(tag === 'zh-TW' ? { cldr: 'zh-Hant' } : {}) }))
