/** Einsum of repeated letters and ellipses on every backend, against a sum over all indices. */
import { describe, expect, it } from 'vitest';
import { arange, einsum } from '../../src/index.js';
import { failuresOf, type Prepared } from '../support/api.js';
import { backends } from '../support/backends.js';
import { fromScalars, type HostArray, toScalars } from '../support/host.js';

type Sizes = Readonly<Record<string, number>>;

/** Σ over all indices of the product of elements `0, 1, 2 …` of each operand; every letter is written out. */
function summed(inputs: readonly string[], output: string, sizes: Sizes): number[] {
  const letters = [...new Set(inputs.join(''))];
  const at: Record<string, number> = {};
  const position = (term: string): number => [...term].reduce((p, l) => p * sizes[l]! + at[l]!, 0);
  const result = new Array<number>([...output].reduce((n, l) => n * sizes[l]!, 1)).fill(0);
  const walk = (depth: number): void => {
    const letter = letters[depth];
    if (letter === undefined) {
      result[position(output)]! += inputs.reduce((product, term) => product * position(term), 1);
      return;
    }
    for (let k = 0; k < sizes[letter]!; k++) {
      at[letter] = k;
      walk(depth + 1);
    }
  };
  walk(0);
  return result;
}

/** Subscripts, and the same with a letter for every axis that an ellipsis stands for. */
const CASES: readonly (readonly [string, string, Sizes])[] = [
  ['ii', 'ii->', { i: 3 }],
  ['ii->i', 'ii->i', { i: 4 }],
  ['jii', 'jii->j', { i: 3, j: 2 }],
  ['iij->ji', 'iij->ji', { i: 3, j: 2 }],
  ['iii->i', 'iii->i', { i: 3 }],
  ['ijij->ji', 'ijij->ji', { i: 2, j: 3 }],
  ['ii,i->i', 'ii,i->i', { i: 4 }],
  ['ii', 'ii->', { i: 0 }],
  ['i...', 'ia->ai', { a: 3, i: 2 }],
  ['...i->...', 'abi->ab', { a: 2, b: 3, i: 4 }],
  ['ii...->...i', 'iiab->abi', { a: 2, b: 2, i: 3 }],
  ['...ij,...jk->...ik', 'aij,ajk->aik', { a: 2, i: 3, j: 4, k: 5 }],
  ['...ij,jk', 'abij,jk->abik', { a: 2, b: 2, i: 3, j: 4, k: 2 }],
  ['...a,...b', 'na,mnb->mnab', { a: 3, b: 4, n: 2, m: 5 }],
];

const textOf = (x: HostArray): string => `[${x.shape}] ${toScalars(x).join(' ')}`;

describe.each(backends())('einsum on %s', (device) => {
  it('sums what its subscripts say', async () => {
    const prepared = CASES.map(([subscripts, whole, sizes]): Prepared => {
      const [left, output] = whole.split('->') as [string, string];
      const terms = left.split(',');
      const shapeOf = (term: string): number[] => [...term].map((letter) => sizes[letter]!);
      const count = (term: string): number => shapeOf(term).reduce((n, size) => n * size, 1);
      const wanted = fromScalars('float64', shapeOf(output), summed(terms, output, sizes));
      return {
        label: `${subscripts} ${JSON.stringify(sizes)}`,
        build: () => einsum(subscripts, ...terms.map((term) => arange(count(term)).reshape(shapeOf(term)))),
        check: (actual) => {
          const received = textOf(actual);
          return received === textOf(wanted) ? undefined : `${received}, not ${textOf(wanted)}`;
        },
      };
    });
    expect(await failuresOf(device, prepared)).toEqual([]);
  });
});
