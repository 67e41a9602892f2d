// Builds the documentation site into build/site/html: `npm run docs`, without network. The pages are the README, docs/guide and
// docs/design as they are, and the reference, which is made here from the sources and from what the examples print.
// Fails for an example that does not run and for a link that leads nowhere.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageOf, recipes } from '../scripts/cookbook.mjs';
import { allSnippets, runSnippets } from '../scripts/reference/examples.mjs';
import { factsOf, Recorder } from '../scripts/reference/facts.mjs';
import { Reference, referencePages } from '../scripts/reference/pages.mjs';
import { blocksOf } from '../scripts/reference/snippets.mjs';
import { deadLinks } from './links.mjs';
import { sitePage } from './markdown.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const PAGES = join(ROOT, 'build/site/pages');
const HTML = join(ROOT, 'build/site/html');

if (!existsSync(join(ROOT, 'site/node_modules/vitepress'))) {
  console.error('The site has packages of its own: npm ci --prefix site');
  process.exit(1);
}

/** The reference, from a run of all examples. */
async function makeReference() {
  const { all, snippets } = await allSnippets();
  const recorder = new Recorder();
  const { errors, results } = await runSnippets(snippets, all, recorder);
  if (errors.length > 0) throw new Error(errors.join('\n'));
  const weft = await import('../dist/src/index.js');
  const { OPS } = await import('../dist/src/graph/ops.js');
  const facts = new Map();
  for (const entry of all) {
    const names = [entry.name, ...(entry.aliases ?? [])];
    const call = names.map((name) => recorder.calls.get(name)).find((found) => found !== undefined);
    if (call === undefined || entry.kind === 'class') continue;
    const takesArrays = /\(\w+: (ArrayLike|T|X|readonly (T|ArrayLike)\[\])/.test(entry.signatures?.[0] ?? '');
    const takesLists = entry.table === 'OPS' || /graph\/(products|signals)$/.test(entry.path);
    facts.set(entry.name, factsOf(call, { weft, takesArrays, takesLists }));
  }
  return new Reference({ all, rows: OPS, results, facts });
}

function write(path, text) {
  const file = join(PAGES, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const titleOf = (text) => /^# (.*)$/m.exec(text)[1].replaceAll('`', '');

/** Pages of a folder in an order, those that it does not name at the end. */
function ordered(folder, order) {
  const names = readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => name.slice(0, -3));
  const place = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
  return names.sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
}

const GUIDE = [
  'first-steps',
  'from-numpy',
  'dtypes',
  'files',
  'exchange',
  'larger-than-memory',
  'several-gpus',
  'loops',
  'sparse',
  'kernels',
  'profiling',
  'showing',
  'watching',
];
const DESIGN = [
  'kernels',
  'fusion',
  'plan',
  'tiles',
  'shards',
  'loops',
  'segments',
  'calls',
  'reductions',
  'cpu',
  'cuda',
];

async function makePages() {
  rmSync(join(ROOT, 'build/site'), { recursive: true, force: true });
  const reference = await makeReference();
  for (const { path, text } of referencePages(reference)) write(path, text);
  const page = (path) => sitePage(path, reference.links);
  const home = readFileSync(join(ROOT, 'site/home.md'), 'utf8');
  write(
    'index.md',
    home.replace(/<!--[\s\S]*-->/, () => `\`\`\`ts\n${blocksOf('README.md', 'ts')[0]}\`\`\``),
  );
  write('readme.md', page('README.md'));
  write('design/architecture.md', page('src/ARCHITECTURE.md'));
  const items = (folder, order) =>
    ordered(`docs/${folder}`, order).map((name) => {
      const text = page(`docs/${folder}/${name}.md`);
      write(`${folder}/${name}.md`, text);
      return { text: titleOf(text), link: `/${folder}/${name}` };
    });
  mkdirSync(join(PAGES, 'public'), { recursive: true });
  for (const picture of ['timeline.svg', 'dashboard.png'])
    cpSync(join(ROOT, 'docs', picture), join(PAGES, 'public', picture));
  cpSync(join(ROOT, 'docs/cookbook'), join(PAGES, 'public/cookbook'), { recursive: true });
  write('cookbook/index.md', page('docs/cookbook.md'));
  const programs = recipes();
  for (const program of programs) write(`cookbook/${program.name}.md`, pageOf(program));
  const sidebar = {
    '/guide/': [
      {
        text: 'Guide',
        items: [...items('guide', GUIDE), { text: 'All of it: the README', link: '/readme' }],
      },
    ],
    '/cookbook/': [
      {
        text: 'Cookbook',
        items: [
          { text: 'All programs', link: '/cookbook/' },
          ...programs.map(({ title, name }) => ({ text: title, link: `/cookbook/${name}` })),
        ],
      },
    ],
    '/design/': [
      {
        text: 'How it works',
        items: [{ text: 'Map of the code', link: '/design/architecture' }, ...items('design', DESIGN)],
      },
    ],
    '/reference/': [
      {
        text: 'Reference',
        items: [
          { text: 'All functions', link: '/reference/' },
          { text: 'Names in NumPy and CuPy', link: '/reference/names' },
          ...reference.pages.map(({ title, slug }) => ({ text: title, link: `/reference/${slug}` })),
        ],
      },
    ],
  };
  sidebar['/readme'] = sidebar['/guide/'];
  writeFileSync(join(ROOT, 'build/site/sidebar.json'), JSON.stringify(sidebar));
}

await makePages();
const { build } = await import('vitepress');
await build(join(ROOT, 'site'));
const dead = deadLinks(HTML);
for (const link of dead) console.error(link);
console.log(
  `${readdirSync(HTML, { recursive: true }).filter((name) => String(name).endsWith('.html')).length} pages in build/site/html, ${dead.length} dead links`,
);
process.exit(dead.length > 0 ? 1 : 0);
