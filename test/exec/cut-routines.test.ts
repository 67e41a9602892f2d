/** Routines that do not fit are done by others that can be cut: with the same results, within budgets. */
import { describe, expect, it } from 'vitest';
import { packedPlaces } from '../../src/graph/packed-places.js';
import { compute, type Lazy, nonzero, topK } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomIntegers, randomValues } from '../support/random.js';
import { evaluateReference } from '../support/reference.js';

const device = 'cpu';

describe('places by words of bits', () => {
  it.each([1, 2, 31, 32, 33, 64, 95, 200])(
    'are those of the elements that are not 0: %i elements',
    (size) => {
      for (const isKept of [(k: number) => k % 3 === 1, () => true, () => false]) {
        const mask = Array.from({ length: size }, (_, k) => isKept(k));
        const data = Uint8Array.from(mask, Number);
        const [places, length] = evaluateReference(
          packedPlaces(toLazy({ dtype: 'bool', shape: [size], data }).expr),
        );
        const kept = mask.flatMap((is, k) => (is ? [k] : []));
        const all = [...kept, ...new Array<number>(size - kept.length).fill(size - 1)];
        expect(Array.from(places!.data as BigInt64Array, Number)).toEqual(all);
        expect(Number(length!.data[0])).toBe(kept.length);
      }
    },
  );
});

describe('a mask larger than the budget', () => {
  const size = 40_001;
  const x = toLazy(randomValues('float32', [size], 7));
  const mask = x.greater(0.5);

  it.each<[string, Lazy, number]>([
    ['places', nonzero(mask)[0]!, 0.8],
    ['the elements of an input', x.slice(mask), 0.8],
    ['a sum of what is selected', x.slice(mask).mul(3).sum(), 0.8],
    [
      'places of rows and columns',
      toLazy(randomValues('float32', [200, 201], 8))
        .greater(0)
        .argwhere(),
      0.8,
    ],
    ['no places', nonzero(x.greater(1e9))[0]!, 0.8],
  ])('selects %s', async (_, output, bytes) => {
    const [whole] = await compute([output], { device });
    const memory = Math.floor(bytes * size);
    expect(output.plan({ device }).peakBytes).toBeGreaterThan(memory);
    expect(output.plan({ device, memory }).peakBytes).toBeLessThanOrEqual(memory);
    const [within] = await compute([output], { device, memory });
    expect(within!.shape).toEqual(whole!.shape);
    expect(within!.data).toEqual(whole!.data);
  });
});

describe('the first elements of a row larger than the budget', () => {
  const length = 100_003;
  const integers = toLazy(randomIntegers('int32', [2, length], 9, -300, 300));

  it.each([
    ['the largest, of which many are equal', integers, true],
    ['the least', integers.astype('uint8'), false],
    ['beside NaN', integers.astype('float32').sqrt(), true],
    ['the least beside NaN', integers.astype('float64').sqrt(), false],
  ])('are those of its parts: %s', async (_, x, largest) => {
    const { values, indices } = topK(x.mul(1), 100, { largest });
    const whole = await compute([values, indices], { device });
    const memory = Math.floor(values.plan({ device }).peakBytes / 2.5);
    const within = await compute([values, indices], { device, memory });
    for (const [k, { data }] of within.entries()) expect(data).toEqual(whole[k]!.data);
  });
});
