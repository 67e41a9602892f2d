// Links between the built pages: every `href` and `src` of the site has to be a file, and every anchor an element of it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Links that lead nowhere, each with the page that has it. */
export function deadLinks(folder) {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.html'),
  );
  const texts = new Map(pages.map((page) => [page, readFileSync(join(folder, page), 'utf8')]));
  const ids = new Map(
    [...texts].map(([page, text]) => [
      page,
      new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  );
  const dead = [];
  for (const [page, text] of texts) {
    for (const [, link] of text.matchAll(/ (?:href|src)="([^"]+)"/g)) {
      if (/^(https?:|data:|mailto:)/.test(link)) continue;
      const [address, anchor] = link.split('#');
      const path =
        address === '' ? page : address.startsWith('/') ? address.slice(1) : join(dirname(page), address);
      const file = path === '' || path.endsWith('/') ? `${path}index.html` : path;
      const found = [file, `${file}.html`].find((each) => existsSync(join(folder, each)));
      const isThere =
        found !== undefined &&
        (anchor === undefined ||
          anchor === '' ||
          !ids.has(found) ||
          ids.get(found).has(decodeURIComponent(anchor)));
      if (!isThere) dead.push(`${page}: ${link}`);
    }
  }
  return [...new Set(dead)];
}
