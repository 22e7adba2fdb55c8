// The core jobs by keys alone: Tab, Enter, the space bar and letters.
import { equal, ok } from 'node:assert/strict';

// Presses Tab until the element has the focus.
async function reach(page, selector, text = '') {
  const isThere = ([wanted, words]) => document.activeElement?.matches(wanted) && document.activeElement.textContent.includes(words);
  for (let step = 0; step < 300; step += 1) {
    if (await page.evaluate(isThere, [selector, text])) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`no key leads to ${selector} ${text} on ${page.url()}`);
}

async function write(page, selector, text) {
  await reach(page, selector);
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type(text);
}

// Presses a key that leads to another page, or to the same one again.
async function go(page, key = 'Enter') {
  const gone = page.waitForEvent('framenavigated', (it) => it === page.mainFrame());
  await page.keyboard.press(key);
  await gone;
  await page.waitForLoadState();
}

async function follow(page, selector, text) {
  await reach(page, selector, text);
  await go(page);
}

export async function worksByKeys(context, { base, email, password, webhook }) {
  const page = await context.newPage();
  const says = (text) => page.getByText(text).first().waitFor();
  await page.goto(`${base}/login?next=%2Fapp%2Fmessages`);
  await write(page, '#email', email);
  await write(page, '#password', password);
  await go(page);
  equal(new URL(page.url()).pathname, '/app/messages');

  await page.keyboard.press('/');
  await page.keyboard.type('ada@example.com');
  await go(page);
  await page.keyboard.press('j');
  await go(page);
  ok(new URL(page.url()).pathname.startsWith('/app/messages/msg_'), page.url());

  await page.goto(`${base}/app/new-template`);
  await write(page, '#slug', 'by-keys');
  await go(page);
  for (const text of ['<p>One</p>', '<p>Two</p>']) {
    await write(page, '#subject', 'Hello');
    await write(page, '.editor', text);
    await follow(page, 'form[data-check] button', 'Save draft');
    await follow(page, 'form[action$="/publish"] button', 'Publish');
  }
  await says('version 2,');
  await follow(page, '.head a', 'Versions');
  await follow(page, 'button', 'Roll back to 1');
  await page.goto(`${base}/app/templates/by-keys`);
  await says('version 1,');

  await page.goto(`${base}/app/keys`);
  await follow(page, '.head a', 'New key');
  await write(page, '#name', 'By keys');
  await go(page);
  await says('Copy the key now');

  await page.goto(`${base}/app/domains`);
  await write(page, '#name', 'by-keys.example');
  await go(page);
  await follow(page, 'button', 'Check now');
  await says('DNS was last looked at');

  await page.goto(`${base}/app/suppressions?q=bo@b.example`);
  await reach(page, 'input[type=checkbox][name=address]');
  await page.keyboard.press('Space');
  await follow(page, 'button', 'Take the chosen off the list');
  await says('bo@b.example is off the list');
  await follow(page, 'button', 'Undo');
  await says('are on the list again');

  await page.goto(base + webhook);
  await reach(page, 'summary', 'webhook.test');
  await page.keyboard.press('Enter');
  await follow(page, 'button', 'Post it once more');
  await says('It is posted once more now.');

  await page.goto(`${base}/ops/plugins/plan-policy`);
  for (const [order, done] of [['Activate', 'activated'], ['Roll back', 'rolled-back']]) {
    await follow(page, '.head a', order);
    await follow(page, 'main form button.main');
    equal(new URL(page.url()).search, `?done=${done}`);
  }
  await page.close();
}
