/**
 * Fingerprints: graphs have the same one where they compute the same from arrays of the same form, and
 * nowhere else.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Canonical, canonicalize, canonicalizeOnce } from '../../src/fusion/passes/canonicalize.js';
import { printGraph } from '../../src/graph/print.js';
import { concat, fromReader, iterate, type Lazy, lazy } from '../../src/index.js';
import { choices } from '../support/random-choices.js';
import { buildRandomProgram } from '../support/random-graph.js';

const canonicalOf = (...results: readonly Lazy[]): Canonical =>
  canonicalizeOnce(results.map(({ expr }) => expr));

const fingerprintOf = (...results: readonly Lazy[]): string => canonicalOf(...results).fingerprint;

/** The graph that a fingerprint stands for, as it is printed. */
const textOf = ({ graph, sources }: Canonical): string =>
  [printGraph(graph), ...sources.map(({ source, elementCount }) => `${source.type} ${elementCount}`)].join(
    '\n',
  );

const row = (): Lazy => lazy(new Float32Array(8));

describe('canonical graphs', () => {
  it('are kept from the second time on that results are asked for', () => {
    const grown = (): Lazy => Array.from({ length: 20 }).reduce((x: Lazy) => x.add(1).mul(x), row());
    const [x, y] = [grown().expr, grown().expr];
    const first = canonicalize([x, y]);
    const second = canonicalize([x, y]);
    expect(second).not.toBe(first);
    expect(second.fingerprint).toBe(first.fingerprint);
    expect(canonicalize([x, y])).toBe(second);
    expect(canonicalize([x])).not.toBe(second);
  });

  it.each([1, 20, 31, 63, 64, 65, 1024, 3000])(
    'have every node once, inputs first: %i of a level',
    (count) => {
      const x = row();
      const different = Array.from({ length: count }, (_, k) => x.add(x.mul(k + 2)));
      const equal = Array.from({ length: count }, () => x.exp());
      const results = [concat(different), concat(equal), x.neg()].map(({ expr }) => expr);
      const reached = new Set(results);
      for (const { inputs } of reached) for (const input of inputs) reached.add(input);
      const { graph, repeated } = canonicalize(results);
      const nodes = graph.nodes.flatMap((node) => node ?? []);
      expect(nodes.map(({ id }) => id)).toEqual(nodes.map((_, k) => k));
      expect(nodes.filter(({ id, inputs }) => inputs.some((input) => input >= id))).toEqual([]);
      expect(nodes.length + repeated.length).toBe(reached.size);
      expect(nodes.filter(({ kind }) => kind === 'map')).toHaveLength(2 * count + 2);
      expect(repeated.length).toBeGreaterThanOrEqual(count - 1);
      const last = nodes[graph.outputs[2]!]!;
      expect([last.kind === 'map' && last.op, last.id]).toEqual(['negative', nodes.length - 1]);
    },
  );
});

describe('fingerprints', () => {
  it('differ where the printed graphs differ, and only there', () => {
    const texts = new Map<string, string>();
    const fingerprints = new Map<string, string>();
    for (const list of fc.sample(choices, { numRuns: 400, seed: 3 })) {
      // Beginnings of one program have much in common.
      for (const { lazy: result } of buildRandomProgram(list).values) {
        const canonical = canonicalOf(result);
        const text = textOf(canonical);
        expect(texts.get(canonical.fingerprint) ?? text).toBe(text);
        expect(fingerprints.get(text) ?? canonical.fingerprint).toBe(canonical.fingerprint);
        texts.set(canonical.fingerprint, text);
        fingerprints.set(text, canonical.fingerprint);
      }
    }
    expect(texts.size).toBeGreaterThan(400);
  });

  it('are those of graphs, not of arrays', () => {
    expect(fingerprintOf(row().add(1))).toBe(fingerprintOf(row().add(1)));
    expect(fingerprintOf(row().add(1))).not.toBe(fingerprintOf(lazy(new Float32Array(9)).add(1)));
    const x = row();
    expect(fingerprintOf(x.add(x))).not.toBe(fingerprintOf(x.add(row())));
  });

  it.each<[string, number, number]>([
    ['zeros of either sign', 0, -0],
    ['a float and its neighbour', 0.1, 0.1 + 2 ** -55],
    ['infinities', Infinity, -Infinity],
    ['integers of more than 32 bits', 2 ** 40, 2 ** 40 + 2 ** 32],
  ])('tell %s apart', (_, a, b) => {
    const x = lazy(new Float64Array(8));
    expect(fingerprintOf(x.mul(a))).toBe(fingerprintOf(x.mul(a)));
    expect(fingerprintOf(x.mul(a))).not.toBe(fingerprintOf(x.mul(b)));
  });

  it('tell 64-bit integers apart in either half', () => {
    const x = lazy(new BigInt64Array(8));
    const all = [1n, -1n, 1n << 32n, -(1n << 63n), (1n << 63n) - 1n, 0n];
    expect(new Set(all.map((value) => fingerprintOf(x.add(value)))).size).toBe(all.length);
  });

  it('tell the order of results apart, and what is a result', () => {
    const [x, y] = [row().exp(), row().sin()];
    const all = [[x], [y], [x, y], [y, x], [x, x, y]];
    expect(new Set(all.map((results) => fingerprintOf(...results))).size).toBe(all.length);
  });

  it('tell loops apart by their bodies and counts', () => {
    const grown = (steps: number, by: number): Lazy => iterate(steps, row(), (x) => x.add(by));
    expect(fingerprintOf(grown(5, 1))).toBe(fingerprintOf(grown(5, 1)));
    expect(fingerprintOf(grown(5, 1))).not.toBe(fingerprintOf(grown(6, 1)));
    expect(fingerprintOf(grown(5, 1))).not.toBe(fingerprintOf(grown(5, 2)));
  });

  it('are the same for any rows of a file', () => {
    const read = (_: number, count: number): Float32Array => new Float32Array(count);
    const table = fromReader(read, { dtype: 'float32', shape: [100, 8] });
    const rows = (from: number): string => fingerprintOf(table.slice([from, from + 10]).mul(2));
    expect(rows(0)).toBe(rows(50));
    expect(rows(0)).not.toBe(fingerprintOf(table.slice([0, 11]).mul(2)));
  });

  it('of large graphs are short', () => {
    const long = (last: number): Lazy => {
      let x = row();
      for (let k = 0; k < 1000; k++) x = x.add(k);
      return x.add(last);
    };
    expect(fingerprintOf(long(1)).length).toBeLessThan(100);
    expect(fingerprintOf(long(1))).toBe(fingerprintOf(long(1)));
    expect(fingerprintOf(long(1))).not.toBe(fingerprintOf(long(2)));
  });
});
