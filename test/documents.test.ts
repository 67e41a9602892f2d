/** Holds the documents beside the tree: files that they name exist, and links between them lead somewhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const filesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true }).map((path) => `${folder}/${String(path)}`);

/** The README's own paths are those of a user's program, too. */
const OF_THE_TREE = ['src/ARCHITECTURE.md', ...filesIn('docs').filter((path) => path.endsWith('.md'))];
const DOCUMENTS = ['README.md', ...OF_THE_TREE];
const SITE = readdirSync(join(ROOT, 'site')).map((name) => `site/${name}`);
const FILES = [...['src', 'native', 'test', 'scripts', 'bench', 'examples'].flatMap(filesIn), ...SITE];

const read = (document: string): string => readFileSync(join(ROOT, document), 'utf8');

describe.each(OF_THE_TREE)('%s', (document) => {
  it('names files of the tree', () => {
    const named = [...read(document).matchAll(/`([\w./-]+\.(?:ts|js|mjs|cpp|h|inc))`/g)].map(
      ([, path]) => path!,
    );
    const missing = named.filter(
      (path) => !path.startsWith('dist/') && !FILES.some((file) => `/${file}`.endsWith(`/${path}`)),
    );
    expect(missing).toEqual([]);
  });
});

/** The anchors of a document's headings, as the usual renderers make them. */
const anchorsOf = (document: string): string[] =>
  [...read(document).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe.each(DOCUMENTS)('%s', (document) => {
  const links = [...read(document).matchAll(/\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)/g)];

  it('links to files that exist', () => {
    const files = links.map(([, path]) => path!).filter((path) => path !== '');
    expect(files.filter((path) => !existsSync(join(ROOT, dirname(document), path)))).toEqual([]);
  });

  it('links to headings that exist', () => {
    const isMissing = ([, path, anchor]: RegExpExecArray): boolean => {
      const target = path === '' ? document : join(dirname(document), path!);
      return anchor !== '' && target.endsWith('.md') && !anchorsOf(target).includes(anchor!);
    };
    expect(links.filter(isMissing).map(([link]) => link)).toEqual([]);
  });
});
