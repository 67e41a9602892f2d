/** Routines that do not fit a GPU: by others in tiles, and on several devices. */
import { describe, expect, it } from 'vitest';
import { compute, type MemoryError, nonzero, plan, topK } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomIntegers, randomValues } from '../support/random.js';

describe('a mask larger than the memory of a GPU', () => {
  const size = 60_001;
  const x = toLazy(randomValues('float32', [size], 7));
  const [places] = nonzero(x.greater(0.5));

  it('has its places in tiles, and on two devices', async () => {
    const [whole] = await compute([places!], { device: 'cuda:0' });
    const memory = 3 * size;
    expect(places!.plan({ device: 'cuda:0' }).peakBytes).toBeGreaterThan(4 * memory);
    const [tiled] = await compute([places!], { device: 'cuda:0', memory });
    expect(tiled!.data).toEqual(whole!.data);
    const [shared] = await compute([places!], { devices: 2, memory });
    expect(shared!.data).toEqual(whole!.data);
  });
});

describe('a sum of what a mask larger than the memory of a GPU selects', () => {
  it('has the bits of the whole', async () => {
    const x = toLazy(randomValues('float32', [60_001], 9));
    const sum = x.slice(x.greater(0.1)).mul(3).sum();
    const [whole] = await compute([sum], { device: 'cuda:0' });
    const memory = Math.floor(sum.plan({ device: 'cuda:0' }).peakBytes / 2);
    const [within] = await compute([sum], { device: 'cuda:0', memory });
    expect(within!.data).toEqual(whole!.data);
  });
});

describe('elements that are compacted at once', () => {
  it('are refused with no more memory than they need as a whole', async () => {
    // Of 233 rows, tiles of this graph fit where those of the other do not.
    for (const rows of [200, 233]) {
      const x = toLazy(randomIntegers('bool', [rows, 7], 7));
      const kept = x.intersect(x.putAlongAxis(x.argmax(1, { keepdims: true }), true, 1));
      const whole = plan([kept], { device: 'cuda:0' }).peakBytes;
      for (const memory of [1, whole >> 1, whole - 1]) {
        const needed = await compute([kept], { device: 'cuda:0', memory }).then(
          () => memory,
          (error: unknown) => (error as MemoryError).needed.memory!,
        );
        expect(needed).toBeLessThanOrEqual(whole);
        expect((await compute([kept], { device: 'cuda:0', memory: needed }))[0]!.data).toEqual(
          Uint8Array.of(0, 1),
        );
      }
    }
  });
});

describe('the elements that a mask selects from a line larger than the memory of a GPU', () => {
  it('come in tiles', async () => {
    const size = 20_001;
    const x = toLazy(randomValues('float64', [size], 5)).mul(2);
    const kept = x.slice(x.greater(0.3));
    const [whole] = await compute([kept], { device: 'cuda:0' });
    const [within] = await compute([kept], { device: 'cuda:0', memory: 7 * size });
    expect(within!.data).toEqual(whole!.data);
  });
});

describe('the first elements of a row larger than the memory of a GPU', () => {
  it('are those of its parts, in tiles and on two devices', async () => {
    const length = 100_003;
    const { values, indices } = topK(toLazy(randomValues('float32', [length], 8)), 20);
    const whole = await compute([values, indices], { device: 'cuda:0' });
    for (const options of [
      // Parts have the workspace of one of them: 40 KiB of it would not fit beside their tiles.
      { device: 'cuda:0', memory: Math.floor(1.5 * length) },
      { devices: 2, memory: 2 * length },
    ]) {
      const within = await compute([values, indices], options);
      for (const [k, { data }] of within.entries()) expect(data).toEqual(whole[k]!.data);
    }
  });
});

describe('a quantile of a row larger than the memory of a GPU', () => {
  it('is that of the row at once, in tiles and on two devices', async () => {
    const length = 70_001;
    const output = toLazy(randomIntegers('uint8', [length], 8, 0, 255)).quantile(0.3);
    const [whole] = await compute([output], { device: 'cuda:0' });
    const memory = 3 * length;
    for (const options of [
      { device: 'cuda:0', memory },
      { devices: 2, memory },
    ]) {
      const [within] = await compute([output], options);
      expect(within!.data).toEqual(whole!.data);
    }
  });
});

describe('a row larger than the memory of a GPU', () => {
  it('is sorted by columns, in tiles and on two devices', async () => {
    const output = toLazy(randomIntegers('uint8', [50_001], 8, 0, 100))
      .mul(2)
      .sort();
    const [whole] = await compute([output], { device: 'cuda:0' });
    const memory = Math.floor(output.plan({ device: 'cuda:0' }).peakBytes / 3);
    for (const options of [
      { device: 'cuda:0', memory },
      { devices: 2, memory },
    ]) {
      const [within] = await compute([output], options);
      expect(within!.data).toEqual(whole!.data);
    }
  });
});
