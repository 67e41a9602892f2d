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
const FILES = ['src', 'native', 'test', 'scripts', 'bench'].flatMap(filesIn);

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

describe.each(DOCUMENTS)('%s', (document) => {
  it('links to files that exist', () => {
    const links = [...read(document).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, path]) => path!);
    expect(links.filter((path) => !existsSync(join(ROOT, dirname(document), path)))).toEqual([]);
  });
});
