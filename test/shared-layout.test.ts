/** Numbers that C++ and TypeScript share are written once, in `native/shared/layout.h`. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import * as layout from '../src/shared/layout.js';

interface Constant {
  readonly name: string;
  readonly about: string;
  readonly value: unknown;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const addon = createRequire(import.meta.url)('../build/Release/weft.node') as {
  readonly constants: () => readonly Constant[];
};

/** The lines of sources in a folder that match a pattern. */
const linesWith = (folder: string, pattern: RegExp): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|cpp|h|inc)$/.test(path) && !path.startsWith('shared'))
    .flatMap((path) => readFileSync(join(root, folder, path), 'utf8').split('\n'))
    .filter((line) => pattern.test(line));

it('TypeScript has the numbers that the addon has', () => {
  const constants = addon.constants();
  expect(constants.length).toBeGreaterThan(30);
  expect(Object.fromEntries(constants.map(({ name, value }) => [name, value]))).toEqual({ ...layout });
});

it('the file of TypeScript is as scripts/make-layout.mjs writes it', async () => {
  const { renderLayout } = (await import(join(root, 'scripts/make-layout.mjs'))) as {
    readonly renderLayout: (constants: readonly Constant[]) => string;
  };
  expect(readFileSync(join(root, 'src/shared/layout.ts'), 'utf8')).toBe(renderLayout(addon.constants()));
});

it('nobody defines them again', () => {
  const names = Object.keys(layout).join('|');
  expect(linesWith('src', new RegExp(`\\bconst (${names}) =`))).toEqual([]);
  const native = Object.keys(layout).map(
    (name) =>
      `k${name.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
  );
  expect(linesWith('native', new RegExp(`\\bconst(expr)? [\\w:]+ (${native.join('|')})\\b\\s*[={]`))).toEqual(
    [],
  );
});
