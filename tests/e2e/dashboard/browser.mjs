// node browser.mjs URL EMAIL PASSWORD MESSAGE ACCOUNT on|off DOMAIN WEBHOOK: one person's way through the dashboard.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { ok, equal, deepEqual } from 'node:assert/strict';
import { worksByKeys } from './keys.mjs';

// Of the longest slug.
const template = `/app/templates/${'w'.repeat(64)}`;
const [base, email, password, message, account, scripts, domain, webhook] = process.argv.slice(2);
// What is wrong with the looks of all pages.
const faulty = [];
// That the page is not wider than the window.
async function fits(page, path, width) {
  const wide = await page.locator('html').evaluate((it) => it.scrollWidth - it.clientWidth);
  if (wide > 0) faulty.push(`${path} at ${width} px is ${wide} px too wide`);
  // What an element with a bound hides, the width of the page does not tell.
  const clipped = await page.locator('main').evaluate((main) => [...main.querySelectorAll('*')]
    .filter((it) => it.getBoundingClientRect().width > 1 && it.getBoundingClientRect().right > innerWidth + 1
      && !it.closest('pre, .said, .mails, .named, .crumbs, thead'))
    .map((it) => it.outerHTML.slice(0, 120)));
  faulty.push(...clipped.map((it) => `${path} at ${width} px clips ${it}`));
  const beyond = await page.locator('main').evaluate((main) => [...main.querySelectorAll('.card > table')]
    .map((it) => it.getBoundingClientRect().right - it.parentElement.getBoundingClientRect().right).filter((it) => it > 1));
  faulty.push(...beyond.map((it) => `${path} at ${width} px has a table that is ${it} px wider than its card`));
  // What takes a click lies beside what else takes one in its row.
  const over = await page.locator('main').evaluate((main) => [...main.querySelectorAll('tr')].flatMap((row) => {
    const all = [...row.querySelectorAll('.button, select')].map((it) => ({ name: it.outerHTML.slice(0, 80), at: it.getBoundingClientRect() }));
    const meet = (one, other) => one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1;
    return all.flatMap((one, index) => all.slice(index + 1).filter((it) => meet(one.at, it.at)).map((it) => `${it.name} over ${one.name}`));
  }));
  faulty.push(...over.map((it) => `${path} at ${width} px has ${it}`));
}

// Types the body of a template: into the editor, or into the text area that stands there without scripts.
async function write(page, text) {
  if (scripts !== 'on') return page.fill('#markup', text);
  // Key by key, as a person does: what a program inserts in several lines at once, Chromium splits up with styles.
  await page.locator('.editor .cm-content').first().click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type(text);
  equal(await page.locator('#markup').inputValue(), text, 'the text area is kept up to date');
}

// In a window as high as the page: Chromium paints no sandboxed frame below the window, and the editor does not measure there.
async function photograph(page, path) {
  const window = page.viewportSize();
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width: window.width, height: Math.max(height, window.height) });
  await page.evaluate(() => { scrollTo(0, 0); return new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 50)); }); });
  await page.screenshot({ path, fullPage: true });
  await page.setViewportSize(window);
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// That axe finds no fault, in the light and in the dark. The page's policy does not hold for what the test evaluates.
async function isAccessible(page, path, width) {
  await page.evaluate(() => document.querySelectorAll('details').forEach((it) => { it.open = true; }));
  await page.evaluate(axe);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const found = await page.evaluate(async () => (await globalThis.axe.run(document, { iframes: false })).violations
      .flatMap((it) => it.nodes.map((node) => `${it.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`)));
    if (process.env.SCREENSHOTS) {
      const name = `${path.replaceAll(/w{20,}/gi, 'w').slice(0, 60).replaceAll(/[^a-z0-9-]/gi, '_')}-${width}-${colorScheme}.png`;
      await photograph(page, `${process.env.SCREENSHOTS}/${name}`);
    }
    faulty.push(...found.map((it) => `${path} at ${width} px, ${colorScheme}: ${it}`));
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

async function send(to) {
  const sent = await fetch(`${base}/messages/send`, {
    method: 'POST',
    headers: { 'x-api-key': process.env.API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ to, type: 'EMAIL', template: 'verification-code', data: { code: '1' } }),
  });
  equal(sent.status, 201);
}

// That a list says what is new without a click, keeps the focus, and asks for nothing while nobody looks at it.
async function livesAndRests(context) {
  const page = await context.newPage();
  let asked = 0;
  page.on('request', (it) => { if (it.headers()['x-live']) asked += 1; });
  await page.clock.install();
  await page.goto(`${base}/app/messages`);
  await page.locator('#live .subject').first().focus();
  const focused = await page.evaluate(() => document.activeElement.id);
  ok(focused.startsWith('msg_'), focused);
  await send('new@example.com');
  await page.clock.fastForward(61_000);
  await page.getByText('1 new').waitFor();
  equal(await page.evaluate(() => document.activeElement.id), focused, 'the focus stays');
  ok(asked > 0);
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  const before = asked;
  await page.clock.fastForward(300_000);
  equal(asked, before, 'a page that nobody looks at asks for nothing');
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => false });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await page.click('text=1 new');
  await page.getByText('new@example.com').first().waitFor();
  await page.close();
}

// That lists, searches and pages are reached by keys alone, and that a letter in a field is a letter.
async function goesByKeys(context) {
  const page = await context.newPage();
  const focused = () => page.evaluate(() => document.activeElement.id);
  const press = (key) => page.keyboard.press(key);
  await page.goto(`${base}/app/messages`);
  await press('j');
  const first = await focused();
  await press('j');
  const second = await focused();
  ok(first.startsWith('msg_') && second.startsWith('msg_') && first !== second, `${first} ${second}`);
  await press('k');
  equal(await focused(), first);
  await press('Enter');
  await page.waitForURL(`**/app/messages/${first}`);
  await press('Escape');
  await page.waitForURL('**/app/messages');
  await page.waitForFunction((it) => document.activeElement.id === it, first);
  await press('/');
  await page.keyboard.type('jk?');
  equal(await page.inputValue('[type=search]'), 'jk?');
  await page.evaluate(() => document.activeElement.blur());
  await press('?');
  await page.getByText('next and previous row of a list').waitFor();
  await isAccessible(page, 'keys', 'any');
  await page.uncheck('dialog [type=checkbox]');
  await press('Escape');
  const before = await focused();
  await press('j');
  equal(await focused(), before, 'single letters are switched off');
  await press('ControlOrMeta+k');
  await page.keyboard.type('webh');
  await isAccessible(page, 'palette', 'any');
  await press('Enter');
  await page.waitForURL('**/app/webhooks');
  await press('ControlOrMeta+k');
  await page.keyboard.type('ada@example.com');
  await press('Enter');
  await page.waitForURL('**/app/messages?q=ada%40example.com');
  await page.close();
}

// That a record of a domain is copied by its button.
async function copies(context) {
  const page = await context.newPage();
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(base + domain);
  const value = await page.locator('main .copy').nth(1).innerText();
  await page.locator('main .copies').nth(1).click();
  await page.getByText('Copied').waitFor();
  equal(await page.evaluate(() => navigator.clipboard.readText()), value);
  await page.close();
}

// That a form is sent once while it is under way, and again when the browser's way back shows the page as it was left.
async function sendsOnce(context) {
  const page = await context.newPage();
  await page.goto(`${base}/app/credits`);
  const [kept, busy, after] = await page.evaluate(() => {
    const button = document.querySelector('main form button');
    const kept = [];
    addEventListener('submit', (event) => {
      kept.push(event.defaultPrevented);
      event.preventDefault();
    });
    button.click();
    button.click();
    const busy = button.ariaDisabled;
    dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
    const after = button.ariaDisabled;
    button.click();
    return [kept, busy, after];
  });
  deepEqual(kept, [false, true, false], 'what is pressed while it is under way is not sent');
  deepEqual([busy, after], ['true', null]);
  await page.close();
}

// What an account shows in which nothing was done yet, to somebody whom another account invites.
async function isDesignedWhereItIsEmpty(width) {
  const context = await browser.newContext({ colorScheme: 'light', viewport: { width, height: 800 } });
  const page = await context.newPage();
  await page.goto(`${base}/login`);
  await page.fill('#email', process.env.EMPTY);
  await page.fill('#password', process.env.EMPTY_PASSWORD);
  await page.click('button.main');
  for (const path of ['/app', '/app/messages', '/app/refusals', '/app/keys', '/app/templates', '/app/test-recipients', '/app/domains',
    '/app/webhooks', '/app/suppressions', '/app/credits', '/app/inbox', '/app/brand', '/app/team', '/app/audit', '/app/accounts', '/app/nothing']) {
    await page.goto(base + path);
    if (path === '/app') await page.getByText('invites you').waitFor();
    await fits(page, `empty ${path}`, width);
    await isAccessible(page, `empty ${path}`, width);
  }
  await context.close();
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  for (const width of process.env.SCREENSHOTS ? [390, 820, 1440] : [375, 1280]) {
    const context = await browser.newContext({ colorScheme: 'light', viewport: { width, height: 800 }, javaScriptEnabled: scripts === 'on' });
    const page = await context.newPage();
    const faults = [];
    // A refusal by status is told on the console too; a violation of the policy names the directive.
    // That the frame of a preview loads no picture from elsewhere is what it promises, and the page's own policy differs.
    const isPreviews = (text) => text.startsWith("Loading the image 'https:") && text.includes('directive: "img-src data:"');
    page.on('console', (it) => it.text().includes('Content Security Policy') && !isPreviews(it.text()) && faults.push(it.text()));
    page.on('pageerror', (it) => faults.push(String(it)));

    await page.goto(`${base}/app/keys`);
    equal(new URL(page.url()).pathname, '/login');
    if (scripts === 'on') {
      for (const path of ['/forgotten', '/setup/x', '/login']) {
        await page.goto(base + path);
        await fits(page, path, width);
        await isAccessible(page, path, width);
      }
      await page.goto(`${base}/app/keys`);
    }
    await page.fill('#email', email);
    await page.fill('#password', password);
    await page.click('button.main');
    equal(new URL(page.url()).pathname, '/app/keys', 'back where the person wanted to go');
    const [cookie] = (await context.cookies()).filter((it) => it.name === '__Host-waxwing');
    ok(cookie.secure && cookie.httpOnly && cookie.sameSite === 'Lax', JSON.stringify(cookie));

    for (const path of ['/app', '/app/messages', '/app/refusals', `/app/messages/${message}`, '/app/keys', '/app/keys/new', '/app/inbox',
      '/app/templates', '/app/test-recipients', '/app/new-template', '/app/new-template?starter=receipt', template, `${template}/versions`,
      `${template}/diff`, `${template}/diff?from=1&to=1`, `${template}/delete`,
      '/app/domains', domain, `${domain}/remove`, '/app/webhooks', '/app/webhooks/new', webhook, `${webhook}/remove`,
      '/app/credits', '/app/suppressions', '/app/suppressions?q=nobody', '/app/brand', '/app/verify', '/app/profile/factor',
      '/app/team', '/app/audit', '/app/profile', '/app/accounts', '/ops', '/ops/accounts', '/ops/accounts/new', `/ops/accounts/${account}`,
      `/ops/accounts/${account}/suspend`, '/ops/plans', '/ops/queue', '/ops/plugins', '/ops/plugins/plan-policy',
      '/ops/plugins/plan-policy/rollback', '/ops/plugins/plan-policy/settings', '/ops/plugins/domain-policy/settings',
      ...process.env.HOSTILE.split(',').map((it) => `/app/messages/${it}`),
      '/ops/decisions', `/ops/decisions/${message}`, '/ops/decisions?q=nothing', '/ops/audit']) {
      const answer = await page.goto(base + path, { waitUntil: 'load' });
      equal(answer.status(), 200, path);
      await fits(page, path, width);
      // Between a phone and a tablet; and the narrowest phone.
      const other = width > 1000 ? 700 : 320;
      await page.setViewportSize({ width: other, height: 800 });
      await fits(page, path, other);
      await page.setViewportSize({ width, height: 800 });
      if (scripts === 'on') await isAccessible(page, path, width);
    }
    await page.goto(`${base}/ops/queue`);
    const waits = await page.locator('main a[href^="/ops/queue/"]').first().getAttribute('href');
    await page.goto(`${base}/app/accounts`);
    const leave = await page.locator('main a[href$="/leave"]').first().getAttribute('href');
    for (const path of [waits, leave]) {
      await page.goto(base + path);
      await page.locator('main h1').first().waitFor();
      await fits(page, path, width);
      if (scripts === 'on') await isAccessible(page, path, width);
    }
    // The last owner is told why the account keeps the owner.
    await page.click('main button.danger');
    await page.getByText('at least one owner who can log in').waitFor();
    await fits(page, `${leave} refused`, width);
    if (scripts === 'on') await isAccessible(page, `${leave} refused`, width);
    // What a form says that is refused.
    for (const [path, field, text, says] of [['/app/domains', '#name', 'co.uk', 'public suffix'],
      ['/app/webhooks/new', '#url', 'nowhere', 'Must be a whole URL'], [webhook, '#types', 'W'.repeat(300), 'no type of event'],
      [`${domain}/remove`, '#name', 'W'.repeat(300), 'Nothing was removed'],
      ['/app/brand', '#brand_color', 'W'.repeat(300), 'a colour in hexadecimal'],
      ['/app/suppressions', '#reason', 'W'.repeat(300), 'stood on the list before']]) {
      await page.goto(base + path);
      await page.fill(field, text);
      if (path === '/app/suppressions') await page.fill('#address', 'bo@b.example');
      await page.locator('form', { has: page.locator(field) }).locator('button.main').click();
      await page.getByText(says).first().waitFor();
      const kept = path === '/app/suppressions' ? '' : text;
      equal(await page.inputValue(field), kept, `${path} keeps what was typed`);
      const focused = await page.evaluate(() => document.activeElement.tagName);
      equal(focused, { '/app/suppressions': 'BODY', [webhook]: 'TEXTAREA' }[path] ?? 'INPUT', `${path} leads to the field`);
      await fits(page, `${path} refused`, width);
      if (scripts === 'on') await isAccessible(page, `${path} refused`, width);
    }
    await page.goto(`${base}/app/messages/${message}`);
    await page.frameLocator('iframe').locator('body').getByText('481 902').first().waitFor();

    await page.goto(base + template);
    // What is typed is shown, saved or not: a moment after the last key, or by the button where there are no scripts.
    const press = async () => { if (scripts !== 'on') await page.click('button:text-is("Preview")'); };
    const previewed = (text) => page.frameLocator('.preview iframe:not(.next)').locator('body').getByText(text).first().waitFor();
    await page.fill('#example', '{"name": "Grace <script>"}');
    await page.click('text=390 px');
    await press();
    await previewed('Grace <script>');
    await fits(page, 'preview', width);
    await write(page, '<p>not saved, for {{ name }}</p>');
    await press();
    await previewed('not saved, for Grace <script>');
    if (scripts === 'on') {
      await page.waitForFunction(() => document.querySelectorAll('.preview iframe').length === 1);
      await page.check('[name=colours][value=dark]');
      ok(await page.frameLocator('.preview iframe:not(.next)').locator('body').evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches), 'the preview is in the dark');
    }
    await page.fill('#example', '{');
    await press();
    await previewed('no JSON');
    await page.fill('#example', '{"name": "Grace <script>"}');
    await write(page, `<p>\n{{ name | ${'W'.repeat(200)} }}</p>`);
    if (scripts === 'on') {
      // By itself, a moment after the last key; at the line that it names.
      await page.getByText('line 2, column').first().waitFor();
      await page.locator('.editor .cm-gutter-lint .cm-lint-marker-error').first().waitFor();
      ok(await page.locator('.editor .cm-content').first().locator('.cm-line').nth(1).locator('.cm-lintRange-error').count() > 0);
    }
    await page.click('button:text-is("Check")');
    await page.getByText('line 2, column').first().waitFor();
    await fits(page, 'check', width);
    await page.goto(base + template);
    await page.fill('#note', `<script>${'W'.repeat(190)}`);
    await page.click('button:text-is("Publish")');
    await page.getByText('Publishing would break senders').waitFor();
    equal(await page.inputValue('#note'), `<script>${'W'.repeat(190)}`);
    await fits(page, 'breaking', width);

    await page.goto(base + template);
    await page.fill('#to', 'ada@example.com');
    await page.click('button:text-is("Send the test")');
    await page.getByText('The test was sent').waitFor();
    await fits(page, 'test', width);
    if (scripts === 'on') await isAccessible(page, 'test', width);
    await page.click('a:text-is("the message")');
    ok(new URL(page.url()).pathname.startsWith('/app/messages/msg_'), page.url());

    await page.goto(`${base}/app/suppressions?q=bo@b.example`);
    await page.check('input[type=checkbox][name=address]');
    await page.click('text=Take the chosen off the list');
    await page.getByText('bo@b.example is off the list').waitFor();
    await fits(page, 'undo', width);
    if (scripts === 'on') await isAccessible(page, 'undo', width);
    await page.click('button:text-is("Undo")');
    await page.getByText('are on the list again').waitFor();

    if (scripts === 'on') {
      await livesAndRests(context);
      await goesByKeys(context);
      await copies(context);
      await sendsOnce(context);
    }

    await page.goto(`${base}/app/keys/new`);
    await page.fill('#name', `Browser ${width} ${scripts}`);
    await page.click('main button.main');
    const key = await page.locator('.secret').innerText();
    const sent = await fetch(`${base}/messages/send`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ to: 'bo@example.com', type: 'EMAIL', template: 'verification-code', data: { code: '1' } }),
    });
    equal(sent.status, 201);
    await page.goBack();
    ok(!(await page.content()).includes(key), 'the key is gone after the way back');

    if (width <= 1000) {
      await page.goto(`${base}/app`);
      await page.click('text=Menu');
    }
    await page.click('button[value=dark]');
    equal(await page.locator('html').getAttribute('data-theme'), 'dark');
    await page.goto(`${base}/app/nothing`);
    equal(await page.locator('html').getAttribute('data-theme'), 'dark', 'a page that says what is wrong has it, too');
    await page.goto(`${base}/app`);
    if (width <= 1000) await page.click('text=Menu');
    await page.click('text=Log out');
    equal(new URL(page.url()).pathname, '/login');
    await page.goto(`${base}/app`);
    equal(new URL(page.url()).pathname, '/login', 'the session is over');
    deepEqual(faults, []);
    await context.close();
    if (scripts === 'on') await isDesignedWhereItIsEmpty(width);
    if (scripts === 'on' && width > 1000) {
      const fresh = await browser.newContext({ viewport: { width, height: 800 } });
      await worksByKeys(fresh, { base, email, password, webhook });
      await fresh.close();
    }
  }
  deepEqual(faulty, []);
  console.log('all is well');
} finally {
  await browser.close();
}
