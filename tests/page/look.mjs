// Opens an HTML report in headless Chromium and fails on anything that a reader would trip over.
//   node look.mjs NODE_MODULES CHROMIUM PAGE.html all|wide|results|stress|validation [SCREENSHOT_PREFIX]
// wide: at one width, light, only; results, stress, validation: a page of a store, of drawn scenarios or of published runs, which has no timeline
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, chromium, file, extent, shots] = process.argv.slice(2);
const playwright = createRequire(join(resolve(modules), 'x.js'))('playwright-core');
const failures = [];
const expect = (truth, what) => truth || failures.push(what);

const browser = await playwright.chromium.launch({
  executablePath: chromium,
  headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

async function open(width, height, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, offline: true });
  const page = await context.newPage();
  const what = `at ${width} px, ${colorScheme}`;
  page.on('console', (message) => expect(!['error', 'warning'].includes(message.type()) || /willReadFrequently/.test(message.text()) /* this script's own */, `${what}: console: ${message.text()}`));
  page.on('pageerror', (error) => failures.push(`${what}: ${error.stack}`));
  page.on('request', (request) => expect(request.url().startsWith('file:') || request.url().startsWith('data:') || request.url().startsWith('blob:'), `${what}: requests ${request.url()}`));
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('#page[data-drawn]', { timeout: 20000 });
  await page.waitForFunction(() => [...document.querySelectorAll('.chart')].every((c) => c.querySelector('canvas')), null, { timeout: 20000 });
  return { page, what, close: () => context.close() };
}

// Different colours of a chart's canvas, and a sum that changes when its picture does.
const picture = (page, selector) => page.$eval(selector, (box) => {
  const canvas = box.querySelector('canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const colors = new Set();
  let sum = 0;
  for (let i = 0; i < data.length; i += 4) {
    const value = data[i] * 65536 + data[i + 1] * 256 + data[i + 2];
    if (data[i + 3] > 200 && colors.size < 64) colors.add(value);
    sum = (sum * 31 + value + data[i + 3]) % 4294967291;
  }
  return { colors: colors.size, sum };
});

async function look(width, height, scheme) {
  const { page, what, close } = await open(width, height, scheme);
  const verdict = await page.$eval('h1', (h) => ({ text: h.textContent, top: h.getBoundingClientRect().bottom, size: parseFloat(getComputedStyle(h).fontSize) }));
  expect(/bound|Winner|Not judged|Best|of the runs|suffers least|Off by/.test(verdict.text), `${what}: the title says no verdict: ${verdict.text}`);
  expect(verdict.top < height / 2 && verdict.size >= 24, `${what}: the verdict is not what one sees first`);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(overflow <= 0, `${what}: ${overflow} px wider than the screen`);
  const charts = await page.$$eval('.chart', (all) => all.map((c, i) => { c.id = `chart-${i}`; return c.getAttribute('aria-label'); }));
  expect(charts.length >= ({ results: 1, stress: 2, validation: 1 }[extent] ?? 5), `${what}: only ${charts.length} charts`);
  for (let i = 0; i < charts.length; i += 1) {
    const { colors } = await picture(page, `#chart-${i}`);
    expect(colors >= 3, `${what}: "${charts[i].slice(0, 40)}" is blank (${colors} colours)`);
  }
  if (shots) await page.screenshot({ path: `${shots}-${width}-${scheme}.png`, fullPage: true });
  return { page, what, close };
}

async function try_timeline(page, what) {
  const box = await page.$('.chart[data-ready]');
  expect(box, `${what}: no timeline`);
  if (!box) return;
  const selector = `#${await box.evaluate((b) => b.id)}`;
  await box.scrollIntoViewIfNeeded();
  const whole = (await picture(page, selector)).sum;
  const settle = () => page.waitForTimeout(150);
  // Keys: zoom, move, back.
  await box.focus();
  for (const key of ['+', '+', '+']) await page.keyboard.press(key);
  await settle();
  const zoomed = (await picture(page, selector)).sum;
  expect(zoomed !== whole, `${what}: + does not zoom`);
  await page.keyboard.press('ArrowRight');
  await settle();
  expect((await picture(page, selector)).sum !== zoomed, `${what}: the arrow does not move`);
  await page.keyboard.press('n');
  expect((await page.$eval('.spoken', (s) => s.textContent)).includes('takes'), `${what}: n names no event`);
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
  await settle();
  expect((await picture(page, selector)).sum === whole, `${what}: 0 does not show the whole step again`);
  // The mouse: a tip over the events, and the wheel with Ctrl.
  const { x, y, width, height } = await box.boundingBox();
  let tips = 0;
  for (let i = 1; i < 40; i += 1) {
    await page.mouse.move(x + (width * (6 + i)) / 48, y + (height * (i % 20)) / 24 + 4);
    tips += await page.$eval('.tip', (t) => (t.hidden || !t.textContent.includes('takes') ? 0 : 1));
  }
  expect(tips > 0, `${what}: no tip over any event`);
  await page.mouse.move(x + width / 2, y + height / 3);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -400);
  await page.keyboard.up('Control');
  await settle();
  expect((await picture(page, selector)).sum !== whole, `${what}: the wheel does not zoom`);
  const begin = Date.now();
  for (let i = 0; i < 20; i += 1) await page.getByRole('button', { name: i % 2 ? 'Later' : 'Zoom out' }).first().click();
  console.log(`${what}: ${(Date.now() - begin) / 20} ms a redraw`);
  await page.getByRole('button', { name: 'Show the whole step' }).click();
  // One rank's streams.
  await page.selectOption('select', { index: 1 });
  await settle();
  expect((await picture(page, selector)).sum !== whole, `${what}: choosing a rank changes nothing`);
  if (shots) await box.screenshot({ path: `${shots}-rank.png` });
  await page.selectOption('select', { index: 0 });
  await page.getByRole('button', { name: 'Zoom in' }).first().click({ clickCount: 6 });
  await settle();
  if (shots) await box.screenshot({ path: `${shots}-zoomed.png` });
}

const { page, what, close } = await look(1440, 900, 'light');
if (!['results', 'stress', 'validation'].includes(extent)) await try_timeline(page, what);
const tabs = await page.$$('.tabs button');
for (const tab of tabs.slice(0, 3)) {
  await tab.click();
  await page.waitForFunction(() => [...document.querySelectorAll('.plan .chart')].every((c) => c.querySelector('canvas')));
}
const before = await page.$eval('body', (b) => getComputedStyle(b).backgroundColor);
await page.getByRole('button', { name: 'Switch between light and dark' }).click();
expect(before !== await page.$eval('body', (b) => getComputedStyle(b).backgroundColor), 'the theme does not change');
const print = await page.pdf(shots ? { path: `${shots}.pdf` } : {});
expect(print.length > 20000, 'nothing is printed');
await close();
if (extent !== 'wide') {
  await (await look(1440, 900, 'dark')).close();
  await (await look(400, 800, 'light')).close();
}
await browser.close();
for (const failure of new Set(failures)) console.error(failure);
process.exit(failures.length ? 1 : 0);
