/**
 * Tests of what `npm run build:ts` compiled, as `scripts/bundle-tested.mjs` bundled it: Node.js loads `dist/tested`
 * itself. Modules that are not bundled take it three times the processor time, and Vitest, which transforms and links the
 * sources, six times; tests take a tenth less. Used by `vitest.config.ts` where `WEFT_TEST_BUILT` is 1, as in `npm test`.
 * Files that replace modules by others, or load them anew, stay beside the sources, in projects of their own: Node.js
 * has each module once.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import type { TestProjectInlineConfiguration } from 'vitest/config';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = join(ROOT, 'src') + sep;
const TESTED = join(ROOT, 'dist/tested');
const TESTS = join(ROOT, 'test') + sep;

/** Signs of a file that replaces modules or loads them anew. */
const REPLACES_MODULES = /\bvi\.(doMock|mock|resetModules)\(|\bnativeWith\(/;

const replacing = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => `test/${path.replaceAll(sep, '/')}`)
  .filter((path) => REPLACES_MODULES.test(readFileSync(join(ROOT, path), 'utf8')));

/** Imports of sources by all others, as those of what they were compiled to. */
const toBuilt = {
  name: 'built-modules',
  enforce: 'pre' as const,
  resolveId(imported: string, importer: string | undefined): string | undefined {
    if (!imported.startsWith('.') || importer?.startsWith(SOURCES) !== false) return undefined;
    const path = resolve(dirname(importer), imported);
    return path.startsWith(SOURCES) ? join(TESTED, path.slice(SOURCES.length)) : undefined;
  },
};

const FILES = '**/*.test.ts';

/** Whether a project takes a file in: by its path, or by one of its folders with all files below. */
const takesIn =
  ({ include = [] }: { readonly include?: readonly string[] }) =>
  (path: string): boolean =>
    include.some((glob) =>
      glob.endsWith(FILES) ? path.startsWith(glob.slice(0, -FILES.length)) : path === glob,
    );

/** A project of tests as two: beside what is built, and `NAME-sources` of the files that replace modules. */
export function besideBuilt(project: TestProjectInlineConfiguration): TestProjectInlineConfiguration[] {
  const test = project.test!;
  const { name, exclude = [] } = test;
  const external = [/\/dist\/tested\//];
  const built = { ...test, exclude: [...exclude, ...replacing], server: { deps: { external } } };
  const include = replacing.filter(takesIn(test));
  const beside = { ...test, name: `${name}-sources`, include };
  return [
    { ...project, plugins: [toBuilt], test: built },
    ...(include.length > 0 ? [{ ...project, test: beside }] : []),
  ];
}
