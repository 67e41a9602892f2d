/**
 * What the documentation says of Weft's exports: a line of each, and of what is not there, that it is not.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as weft from '../src/index.js';

const README = readFileSync('README.md', 'utf8');
const API = readFileSync('docs/api.md', 'utf8');
const listed = (text: string): string[] =>
  [...text.matchAll(/^- `(\w+)`: /gm)].map(([, name]) => name!).sort();

describe('the documentation', () => {
  it('has a line for each export', async () => {
    const script: string = '../scripts/make-api.mjs';
    const { renderApi } = (await import(script)) as { renderApi(): string };
    expect(listed(API), 'run scripts/make-api.mjs').toEqual(listed(renderApi()));
    expect(listed(API)).toEqual(expect.arrayContaining(Object.keys(weft)));
  });

  it('says of nothing that it is not there yet when it is', () => {
    const section = /^## Not there yet\n([\s\S]*?)^## /m.exec(README)![1]!;
    const names = [...section.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => name in weft || name in weft.Lazy.prototype)).toEqual([]);
  });
});
