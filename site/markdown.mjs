// Pages of the repository as pages of the site: links between files become links between pages, and the first mention
// of each function on a page of the guide leads to the reference.
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** The address of a file's page; undefined for a file that the site does not have. */
function addressOf(path) {
  if (path === 'README.md') return '/readme';
  if (path === 'src/ARCHITECTURE.md') return '/design/architecture';
  if (path === 'docs/api.md') return '/reference/';
  if (path === 'docs/timeline.svg' || path === 'docs/dashboard.png') return path.slice('docs'.length);
  if (path === 'docs/cookbook.md') return '/cookbook/';
  if (path.startsWith('docs/cookbook/')) return path.slice('docs'.length);
  const program = /^examples\/cookbook\/([\w-]+)\.ts$/.exec(path)?.[1];
  if (program !== undefined) return `/cookbook/${program}`;
  return /^docs\/((?:guide|design)\/[\w-]+)\.md$/.exec(path)?.[1].replace(/^/, '/');
}

/** Links of a page to other files of the repository as links of the site; text alone where it has no such page. */
const relinked = (text, path) =>
  text.replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (link, image, label, target) => {
    if (/^(https?:|#)/.test(target)) return link;
    const [file, anchor] = target.split('#');
    const address = addressOf(normalize(join(dirname(path), file)));
    if (address === undefined) return label;
    return `${image}[${label}](${address}${anchor === undefined ? '' : `#${anchor}`})`;
  });

/** Code spans that are a function's name as links to it, once on a page; code blocks, headings and links stay. */
function withReferences(text, links) {
  const seen = new Set();
  return text
    .split(/(^```[\s\S]*?^```$|^#.*$|\[[^\]]*\]\([^)]*\))/m)
    .map((part, k) =>
      k % 2 === 1
        ? part
        : part.replace(/`([\w.]+)(?:\(\))?`/g, (code, name) => {
            const link = links.get(name);
            if (link === undefined || seen.has(name)) return code;
            seen.add(name);
            return `[${code}](${link})`;
          }),
    )
    .join('');
}

export function sitePage(path, links) {
  const text = relinked(readFileSync(join(ROOT, path), 'utf8'), path);
  return path.startsWith('docs/guide/') ? withReferences(text, links) : text;
}
