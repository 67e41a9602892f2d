/**
 * The documentation of Weft's exports: a line of each, and of names that are not there, that they are not.
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

  it('names counterparts that NumPy, SciPy and CuPy have', async () => {
    const [peers, entries]: string[] = ['../scripts/reference/peers.mjs', '../scripts/reference/entries.mjs'];
    const { peersOf, unknownPeers } = (await import(peers!)) as {
      peersOf(entry: unknown): { python?: string; cupy?: string };
      unknownPeers(): string[];
    };
    expect(unknownPeers()).toEqual([]);
    const all = ((await import(entries!)) as { entries(): { name: string }[] }).entries();
    const of = (name: string) => peersOf(all.find((entry) => entry.name === name));
    expect(of('takeAlongAxis')).toEqual({ python: 'numpy.take_along_axis', cupy: 'cupy.take_along_axis' });
    expect(of('fft.fftConvolve')).toEqual({
      python: 'scipy.signal.fftconvolve',
      cupy: 'cupyx.scipy.signal.fftconvolve',
    });
    expect(of('iterate')).toEqual({});
  });

  it('says of nothing that it is not there yet when it is', () => {
    const section = /^## Not there yet\n([\s\S]*?)^## /m.exec(README)![1]!;
    const names = [...section.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => name in weft || name in weft.Lazy.prototype)).toEqual([]);
  });
});
