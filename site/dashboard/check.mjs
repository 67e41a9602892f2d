// What a person sees on the dashboard of a program (job.mjs) in Chromium, on a wide and a narrow screen, light and dark:
// a batch, a job larger than its memory on three simulated GPUs, one that is cancelled, one that fails, the end of the
// program. Fails where the page does not say so, is wider than its screen, asks another host, or reports an error.
// Pictures are in build/site/dashboard: `npm run docs:dashboard` after `npm run build`, `npm run build:sim` and
// `npm ci --prefix site`. Without a Chromium (`CHROMIUM` names it, else it is looked for on the PATH) it says so and
// checks nothing.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const PICTURES = fileURLToPath(new URL('../../build/site/dashboard', import.meta.url));
const SCREENS = { wide: { width: 1440, height: 1000 }, narrow: { width: 390, height: 844 } };
const PATIENCE = 20_000;

const found = spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout?.trim();
const executablePath = process.env.CHROMIUM ?? found;
if (!executablePath) {
  console.log('The dashboard is not looked at: there is no Chromium on the PATH, and CHROMIUM names none.');
  process.exit(0);
}

const problems = [];
const complain = (what) => problems.push(what);

/** The program that is watched: its address, and commands to it. */
async function startJob() {
  const job = spawn(process.execPath, [fileURLToPath(new URL('job.mjs', import.meta.url))], {
    env: { ...process.env, WEFT_DASHBOARD: '0' },
  });
  const heard = new Set();
  createInterface({ input: job.stdout }).on('line', (line) => heard.add(line));
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: job.stderr }).on('line', (line) => {
      const address = /dashboard at (\S+)/.exec(line)?.[1];
      if (address === undefined) console.error(`job: ${line}`);
      else resolve(address);
    });
    job.once('exit', () => reject(new Error('the job ended before it had a dashboard')));
  });
  const ended = new Promise((resolve) => job.once('exit', resolve));
  const say = (command) => job.stdin.write(`${command}\n`);
  const until = async (line) => {
    const late = performance.now() + 3 * PATIENCE;
    while (!heard.has(line)) {
      if (performance.now() > late || job.exitCode !== null) throw new Error(`the job did not say ${line}`);
      await setTimeout(50);
    }
    heard.delete(line);
  };
  return { url, say, until, ended };
}

/** A page on each kind of screen. */
async function openPages(browser, url) {
  const pages = [];
  for (const [screen, viewport] of Object.entries(SCREENS))
    for (const colorScheme of ['light', 'dark']) {
      const reducedMotion = colorScheme === 'dark' ? 'reduce' : 'no-preference';
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion });
      const page = await context.newPage();
      const name = `${screen}-${colorScheme}`;
      page.on('pageerror', (error) => complain(`${name}: ${error.message}`));
      page.on('console', (message) => {
        // The end of the program is a connection that fails.
        if (message.type() === 'error' && !message.text().includes('ERR_CONNECTION_REFUSED'))
          complain(`${name}: ${message.text()}`);
      });
      page.on('request', (request) => {
        if (!request.url().startsWith(url)) complain(`${name} asks for ${request.url()}`);
      });
      await page.goto(url, { waitUntil: 'load' });
      pages.push({ name, page, viewport });
    }
  return pages;
}

const job = await startJob();
await job.until('ready');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
mkdirSync(PICTURES, { recursive: true });
const pages = await openPages(browser, job.url);

/** Has each page show something, and photographs it. */
async function all(what, look) {
  await Promise.all(
    pages.map(async ({ name, page }) => {
      try {
        await look(page);
      } catch (error) {
        complain(`${name}, ${what}: ${String(error).split('\n').slice(0, 3).join(' ')}`);
      }
    }),
  );
}
async function photograph(what) {
  for (const { name, page, viewport } of pages) {
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > viewport.width) complain(`${name}, ${what}: ${width} wide on a screen of ${viewport.width}`);
    await page.screenshot({ path: join(PICTURES, `${what}-${name}.png`), fullPage: true });
  }
}
const sees = (page, locator, text) =>
  page.locator(locator).filter({ hasText: text }).first().waitFor({ timeout: PATIENCE });

await all('at rest', async (page) => {
  await sees(page, '#link', 'live');
  await sees(page, '#program', 'job.mjs');
  await sees(page, '#active', 'Nothing runs now.');
  await sees(page, '.device', 'cuda:0');
  await sees(page, '.device', 'cpu');
  await sees(page, '#ended-list li', /200 × .*compiled|compiled/);
});

job.say('batch');
await all('a batch', async (page) => {
  const batch = page.locator('#active .work').filter({ hasText: 'Batch of 24 jobs' });
  await batch
    .filter({ hasText: /\d+ of 24 done.*\d running.*left|left.*\d+ of 24 done/s })
    .waitFor({ timeout: PATIENCE });
  const bar = batch.getByRole('progressbar', { name: 'progress of the batch' });
  await page.waitForFunction(
    (element) => Number(element.ariaValueNow ?? element.getAttribute('aria-valuenow')) > 20,
    await bar.elementHandle(),
  );
  await batch
    .filter({ hasText: 'job 6: Error: sensor-6.npy holds no samples' })
    .waitFor({ timeout: PATIENCE });
});
await photograph('batch');
await job.until('done batch');
await all('the end of a batch', (page) =>
  sees(page, '#active .work', /done after .*22 of 24 done.*2 failed/s),
);

job.say('large');
await all('a job larger than its memory', async (page) => {
  const work = page.locator('#active .work').filter({ hasText: /of \d+ tiles/ });
  await work
    .filter({ hasText: /left/ })
    .filter({ hasText: 'cuda:0, cuda:1, cuda:2' })
    .waitFor({ timeout: PATIENCE });
  await work.filter({ hasText: '3.00 MiB allowed' }).waitFor({ timeout: PATIENCE });
  const budget = page.locator('.device').filter({ hasText: 'cuda:2' }).filter({ hasText: '3.00 MiB budget' });
  await budget.waitFor({ timeout: PATIENCE });
  const meter = budget.getByRole('meter', { name: 'memory in use on cuda:2' });
  if (Number(await meter.getAttribute('aria-valuenow')) > 3 * 2 ** 20)
    throw new Error('more than the budget is in use');
  await sees(page, '.rate', 'Bus, to devices');
  await page.locator('#recorded svg .kind-copy-in').first().waitFor({ state: 'attached', timeout: PATIENCE });
});
await photograph('large');
await job.until('done large');
await all('its end', (page) => sees(page, '#ended-list li', /done.*cuda:0, cuda:1, cuda:2/s));

job.say('cancel');
await all('a job to cancel', (page) => sees(page, '#active .work', /of \d+ tiles/));
job.say('abort');
await job.until('done cancel');
await all('a cancelled job', async (page) => {
  await sees(page, '#ended-list li', 'AbortError');
  await sees(page, '#ended-list li .chip', 'cancelled');
  await sees(page, '#totals', '1 cancelled');
  await page
    .locator('#news')
    .filter({ hasText: 'cancelled' })
    .waitFor({ state: 'attached', timeout: PATIENCE });
});

job.say('plan');
await job.until('done plan');
job.say('fail');
await job.until('done fail');
await all('a failed job', async (page) => {
  await sees(page, '#ended-list li', /failed.*LinalgError: .*singular/s);
});

await all('the plan of a job', async (page) => {
  await page.locator('#ended-list li').filter({ hasText: 'matmul' }).getByRole('button').click();
  await sees(page, '#plan h3', 'matmul');
  const step = page.getByRole('button', { name: /^step \d+: sort/ });
  await step.focus();
  await page.keyboard.press('Enter');
  await sees(page, '#plan .step-detail h3', 'sort');
  await page
    .getByRole('button', { name: /^step \d+: reduce/ })
    .first()
    .click();
  await page.locator('#plan summary').filter({ hasText: 'Generated CUDA C' }).click();
  await sees(page, '#plan pre', '__global__');
  await page.getByRole('button', { name: 'Follow what runs' }).waitFor({ timeout: PATIENCE });
});
await pages[0].page.getByRole('button', { name: 'Record 2 seconds' }).click();
await all('a recording', (page) => sees(page, '#record', 'Recording'));
job.say('plan');
await job.until('done plan');
await all('a recording', (page) => sees(page, '#record', 'Record 2 seconds'));
await setTimeout(700);
await photograph('ended');

job.say('end');
const code = await Promise.race([job.ended, setTimeout(PATIENCE, 'it did not')]);
if (code !== 0) complain(`the program was to end with 0 while its pages are open: ${code}`);
await all('the end of the program', (page) => sees(page, '#link', 'the program has ended'));
await all('the end of the program', (page) => sees(page, '#ended-list li', 'LinalgError'));
await browser.close();
for (const problem of problems) console.error(problem);
console.log(`pictures in build/site/dashboard, ${problems.length} problems`);
process.exit(problems.length > 0 ? 1 : 0);
