// Pictures of the built site on a wide and a narrow screen, light and dark, with the search open once, in
// build/site/pictures: `npm run docs:pictures` after `npm run docs`. Fails where any page of the site is wider than a
// narrow screen, or reports an error. Needs Chromium: `CHROMIUM` names it, else it is looked for on the PATH.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const SITE = fileURLToPath(new URL('../build/site', import.meta.url));
const HTML = join(SITE, 'html');
const PICTURES = join(SITE, 'pictures');
const PAGES = [
  'index',
  'guide/first-steps',
  'guide/from-numpy',
  'guide/exchange',
  'guide/kernels',
  'guide/watching',
  'reference/index',
  'reference/sorting-and-searching',
  'reference/names',
  'reference/kernels',
  'reference/sparse-matrices',
  'readme',
  'cookbook/index',
  'cookbook/k-means',
  'reference/types',
  'design/kernels',
];
const ALL = readdirSync(HTML, { recursive: true })
  .filter((name) => name.endsWith('.html'))
  .map((name) => name.slice(0, -'.html'.length));
const SCREENS = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } };
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

const server = createServer(({ url }, response) => {
  const path = join(HTML, decodeURIComponent(new URL(url, 'http://localhost').pathname));
  const file = [path, `${path}.html`, join(path, 'index.html')].find(
    (each) => existsSync(each) && extname(each) !== '',
  );
  response.writeHead(file === undefined ? 404 : 200, {
    'content-type': TYPES[extname(file ?? '')] ?? 'text/plain',
  });
  response.end(file === undefined ? '' : readFileSync(file));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = `http://127.0.0.1:${server.address().port}`;

const executablePath =
  process.env.CHROMIUM ?? execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim();
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
mkdirSync(PICTURES, { recursive: true });
const problems = [];

for (const [screen, viewport] of Object.entries(SCREENS))
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ viewport, colorScheme });
    const page = await context.newPage();
    page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
    for (const name of screen === 'narrow' && colorScheme === 'light' ? ALL : PAGES) {
      await page.goto(`${address}/${name}.html`, { waitUntil: 'load' });
      const isShown = PAGES.includes(name);
      await page.waitForTimeout(isShown ? 300 : 50);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      if (width > viewport.width) problems.push(`${name} is ${width} wide on a screen of ${viewport.width}`);
      if (!isShown) continue;
      const path = join(PICTURES, `${name.replaceAll('/', '-')}-${screen}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: name === 'index' });
    }
    // The steps of a reader: type a name of NumPy's, and take the first result.
    await page.keyboard.press('Control+k');
    await page.locator('#localsearch-input').fill('take_along_axis');
    const first = page.locator('.result').first();
    await first
      .waitFor({ timeout: 15_000 })
      .catch(() => problems.push(`no result of a search on a ${screen} screen`));
    await page.screenshot({ path: join(PICTURES, `search-${screen}-${colorScheme}.png`) });
    await first.click().catch(() => undefined);
    await page
      .waitForURL(/reference\/indexing/, { timeout: 5_000 })
      .catch(() => problems.push(`a search led to ${page.url()}`));
    await context.close();
  }
await browser.close();
server.close();
for (const problem of problems) console.error(problem);
console.log(`pictures in build/site/pictures, ${problems.length} problems`);
process.exit(problems.length > 0 ? 1 : 0);
