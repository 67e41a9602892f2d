import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ContractionPath,
  contractionPath as searchedPath,
} from '../../src/fusion/paths/contraction-path.js';
import { greedyPairs, randomFrom } from '../../src/fusion/paths/greedy-order.js';
import { OrderTree } from '../../src/fusion/paths/improve-order.js';
import { indexSets, type Network } from '../../src/fusion/paths/network.js';
import { pathCost } from '../../src/fusion/paths/path-steps.js';
import { searchPairs } from '../../src/fusion/paths/search.js';
import { completed } from '../../src/host/slices.js';
import { einsum, placeholder } from '../../src/index.js';

const contractionPath = (network: Network, limit?: number): ContractionPath =>
  completed(searchedPath(network, limit));

type Operands = readonly (readonly number[])[];

/** Least operations over all orders, by trying them all. */
function bruteForce({ operands, output, sizeOf }: Network): number {
  if (operands.length === 1) return 0;
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < operands.length; i++) {
    for (let j = i + 1; j < operands.length; j++) {
      const rest = operands.filter((_, k) => k !== i && k !== j);
      const union = [...new Set([...operands[i]!, ...operands[j]!])];
      const needed = new Set([...output, ...rest.flat()]);
      const kept = union.filter((label) => needed.has(label));
      const volume = union.reduce((n, label) => n * sizeOf(label), 1);
      const cost = volume * (kept.length < union.length ? 2 : 1);
      best = Math.min(best, cost + bruteForce({ operands: [...rest, kept], output, sizeOf }));
    }
  }
  return best;
}

interface Fixture {
  readonly name: string;
  readonly subscripts: string;
  readonly sizes: Readonly<Record<string, number>>;
  readonly optimal: number | null;
  readonly auto: number;
}

/** The counts of opt_einsum: `scripts/make-path-fixtures.py`. */
const fixtures = JSON.parse(
  readFileSync(new URL('../fixtures/paths.json', import.meta.url), 'utf8'),
) as readonly Fixture[];

function networkOf(subscripts: string, sizes: Readonly<Record<string, number>>): Network {
  const letters = Object.keys(sizes);
  const numbers = (term: string): number[] => [...term].map((letter) => letters.indexOf(letter));
  const [inputs, output] = subscripts.split('->') as [string, string];
  return {
    operands: inputs.split(',').map(numbers),
    output: numbers(output),
    sizeOf: (label) => sizes[letters[label]!]!,
  };
}

const ofSize =
  (sizes: readonly number[]) =>
  (label: number): number =>
    sizes[label]!;

describe('the contraction path', () => {
  it('multiplies a chain of matrices from its narrow end', () => {
    const operands = [
      [0, 1],
      [1, 2],
      [2, 3],
    ];
    const path = contractionPath({ operands, output: [0, 3], sizeOf: ofSize([1000, 1000, 1000, 2]) });
    expect(path.pairs[0]).toEqual([1, 2]);
    expect(path.operations).toBe(2 * 2 * 1000 * 1000 * 2);
    expect(path.largest).toBe(2000);
  });

  it('costs as little as any order does', () => {
    const labels = fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(
        fc.array(labels, { minLength: 2, maxLength: 5 }),
        fc.array(fc.integer({ min: 2, max: 9 }), { minLength: 6, maxLength: 6 }),
        fc.nat(63),
        (operands, sizes, kept) => {
          const shared = (label: number): number => operands.filter((o) => o.includes(label)).length;
          const output = [0, 1, 2, 3, 4, 5].filter((label) => shared(label) > 0 && (kept >> label) & 1);
          // Labels of one operand alone are summed before any pair is formed.
          const summed = operands.map((o) =>
            o.filter((label) => shared(label) > 1 || output.includes(label)),
          );
          const network = { operands: summed, output, sizeOf: ofSize(sizes) };
          expect(contractionPath(network).operations).toBe(bruteForce(network));
        },
      ),
    );
  });

  it('never takes more operations than those of opt_einsum, exact or not', () => {
    const worse = fixtures.flatMap(({ name, subscripts, sizes, optimal, auto }) => {
      const { operations } = contractionPath(networkOf(subscripts, sizes));
      return operations > (optimal ?? auto) ? [`${name}: ${operations} against ${optimal ?? auto}`] : [];
    });
    expect(fixtures.length).toBeGreaterThan(80);
    expect(Math.max(...fixtures.map(({ subscripts }) => subscripts.split(',').length))).toBe(250);
    expect(worse).toEqual([]);
  });

  it('is the same path each time', () => {
    const { subscripts, sizes } = fixtures.find(({ name }) => name === 'random 4-regular of 30')!;
    const network = networkOf(subscripts, sizes);
    expect(completed(searchPairs(network))).toEqual(completed(searchPairs(network)));
    expect(contractionPath(network)).toBe(contractionPath(network)); // it is kept
  });

  it('is searched in parts of a few milliseconds, so that the event loop turns', () => {
    const { subscripts, sizes } = fixtures.find(({ name }) => name === 'random 3-regular of 120')!;
    const labels = Array.from({ length: 14 }, (_, k) => k);
    const fourteen = {
      operands: labels.map((k) => [k, (k + 1) % 14, (k + 5) % 14]),
      output: [],
      sizeOf: () => 3,
    };
    for (const network of [networkOf(subscripts, sizes), fourteen]) {
      let parts = 0;
      let longest = 0;
      const work = searchPairs(network);
      for (let isDone = false; !isDone; parts++) {
        const before = process.cpuUsage().user;
        isDone = work.next().done === true;
        longest = Math.max(longest, process.cpuUsage().user - before);
      }
      expect(parts).toBeGreaterThan(20);
      expect(longest).toBeLessThan(20_000); // microseconds; 1 to 4 on a quiet machine
    }
  });

  it('is improved until a bound on the work is reached, whatever the time', () => {
    const { subscripts, sizes } = fixtures.find(({ name }) => name === 'random 3-regular of 120')!;
    const sets = indexSets(networkOf(subscripts, sizes));
    const pairs = greedyPairs(sets, randomFrom(0), 0);
    const improved = (left: number): { cost: number; left: number } => {
      const tree = new OrderTree(sets, pairs, Number.POSITIVE_INFINITY);
      const effort = { left };
      completed(tree.improve(7, 24, effort));
      return { cost: tree.cost, left: effort.left };
    };
    const [none, some, all] = [improved(0), improved(200_000), improved(Number.POSITIVE_INFINITY)];
    expect(none.left).toBe(0);
    expect(some.left).toBeGreaterThan(-20_000);
    expect(some.cost).toBeLessThan(none.cost);
    expect(all.cost).toBeLessThan(some.cost);
  });

  it('multiplies each operand and each result once, and disconnected operands last', () => {
    const chains: Operands = [0, 1].flatMap((c) =>
      Array.from({ length: 10 }, (_, k) => [20 * c + k, 20 * c + k + 1]),
    );
    const { pairs, operations } = contractionPath({
      operands: chains,
      output: [0, 10, 20, 30],
      sizeOf: () => 4,
    });
    expect(new Set(pairs.flat()).size).toBe(38);
    const one = contractionPath({ operands: chains.slice(0, 10), output: [0, 10], sizeOf: () => 4 });
    expect(operations).toBe(2 * one.operations + 4 ** 4);
  });

  it('takes labels of size 0 and 1, scalars, and no pair at all', () => {
    const empty = { operands: [[0, 1], [1, 2], [2]], output: [0], sizeOf: ofSize([3, 0, 1]) };
    expect(contractionPath(empty).operations).toBe(0);
    expect(contractionPath({ operands: [[], [], [0]], output: [0], sizeOf: () => 5 }).operations).toBe(6);
    expect(contractionPath({ operands: [[0, 1]], output: [0], sizeOf: () => 5 })).toEqual({
      pairs: [],
      slices: [],
      operations: 25,
      largest: 0,
    });
  });

  it('keeps to a limit with more work where an order does', () => {
    // Any order has an intermediate; the cheapest has the larger one.
    const network = networkOf('ab,bc,ca,ad->d', { a: 30, b: 4, c: 30, d: 2 });
    const free = contractionPath(network);
    const limited = contractionPath(network, 10);
    expect(limited.largest).toBeLessThanOrEqual(900);
    expect(limited.operations).toBeGreaterThanOrEqual(free.operations);
  });

  const slicedRing = networkOf('abc,ade,bdf,cef->', { a: 10, b: 10, c: 10, d: 10, e: 10, f: 10 });

  it('slices labels where no order keeps to the limit, and counts all parts', () => {
    const free = contractionPath(slicedRing);
    expect([free.largest, free.slices]).toEqual([10000, []]);
    const sliced: ContractionPath = contractionPath(slicedRing, 1000);
    expect(sliced.largest).toBeLessThanOrEqual(1000);
    expect(sliced.slices).toEqual([{ label: expect.any(Number), parts: 10 }]);
    const { operations } = pathCost(
      { ...slicedRing, sizeOf: (label) => (label === sliced.slices[0]!.label ? 1 : 10) },
      sliced.pairs,
    );
    expect(sliced.operations).toBe(10 * operations);
  });

  it('is printed by explain with its operations and its largest intermediate', () => {
    const [a, b, c] = [
      placeholder([100, 200], 'float32'),
      placeholder([200, 300], 'float32'),
      placeholder([300, 4], 'float32'),
    ];
    const text = einsum('ij,jk,kl->il', a, b, c).explain({ device: 'cpu' }).toString();
    expect(text).toContain(
      '  path ac,cd,db->ab: 3 operands, 640,000 operations (72,000,000 in one sum), largest intermediate 3.13 KiB\n' +
        '    cd,db->cb  480,000 operations\n' +
        '    ac,cb->ab  160,000 operations\n',
    );
  });
});
