/** Random programs of joins, slices of them in any order, and maps between them. */
import { describe, expect, it } from 'vitest';
import { concat, type DType, type Lazy, stack } from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import { randomValues } from '../support/random.js';
import { bytesOf, expectRandomPrograms, type Pick, type Step } from '../support/random-steps.js';
import { sharedReferenceOf } from '../support/shared-reference.js';

/** A selector of a range, forwards or backwards, by one or two; it may be empty. */
function range(pick: Pick): string {
  if (pick(4) === 0) return '::-1';
  const end = pick(5) === 0 ? '' : 1 + pick(6);
  return `${pick(4)}:${end}:${pick(3) === 0 ? 2 : 1}`;
}

const STEPS: readonly Step[] = [
  (x, pick) => concat([x, x.neg()], pick(x.ndim)),
  (x, pick) => {
    const axis = pick(x.ndim);
    const some = x.slice(...Array.from({ length: x.ndim }, (_, k) => (k === axis ? '1:3' : ':')));
    return concat([x.mul(0.5), some, x], axis);
  },
  (x, pick) => (x.ndim < 3 ? stack([x, x.square(), x.add(1)], pick(x.ndim + 1)) : x),
  (x, pick) => x.slice(...Array.from({ length: x.ndim }, () => (pick(2) === 0 ? ':' : range(pick)))),
  (x, pick) => x.flip(pick(x.ndim)),
  (x, pick) => x.roll(1 + pick(3), pick(x.ndim)),
  (x) => x.transpose(),
  (x) => x.mul(x.flip(0)).add(1),
  (x, pick) => (x.ndim > 1 ? x.sub(x.sum(pick(x.ndim), { keepdims: true })) : x),
];

/** The computed values are small integers and halves: sums are exact. */
/** Rows each of which is computed from the one before, beside or below one another. */
function dependentRows(count: number, axis: number, size: number): Lazy[] {
  const x = toLazy(randomValues('int32', [size], count, -4, 4)).astype('float32');
  const rows: Lazy[] = [x];
  for (let k = 1; k < count; k++) rows.push(rows[k - 1]!.neg().add(k % 3 === 0 ? x : k));
  const all = stack(rows, axis);
  return [all, all.slice(...(axis === 0 ? ['5:40:7'] : [':', '5:40:7'])), stack(rows).mul(2).sum(0)];
}

describe.each(backends())('many parts on %s', (device) => {
  const size = device === 'cpu' ? 203 : 60;
  it.each([
    [20, 0],
    [64, 0],
    [130, 0],
    [24, 1],
    [64, 1],
    [300, 0],
  ])('%i rows along axis %i have the values of the reference', async (count, axis) => {
    const results = dependentRows(count, axis, size);
    const expected = sharedReferenceOf(device, results, `${size}`);
    const actual = device === 'reference' ? expected : await run(device, results);
    for (const [k, own] of actual.entries())
      expect(Buffer.compare(bytesOf(own), bytesOf(expected[k]!)), `result ${k}`).toBe(0);
  });

  it.runIf(isSimulated(device))('have the same bits in tiles', async () => {
    const [rows] = dependentRows(64, 0, 4000) as [Lazy];
    const memory = Math.ceil(0.3 * rows.plan({ device }).peakBytes);
    const plan = rows.plan({ device, memory });
    expect(plan.sweeps[0]!.tiles).toBeGreaterThan(1);
    const [tiled, whole] = [await rows.compute({ device, memory }), await rows.compute({ device })];
    expect(Buffer.compare(bytesOf(tiled), bytesOf(whole))).toBe(0);
  });
});

describe.each(backends())('random programs of joins on %s', (device) => {
  const count = isSimulated(device) ? 20 : 150;
  it(
    `give what the reference gives, ${count} times`,
    () => expectRandomPrograms(device, STEPS, { count, axes: 2 }),
    60_000,
  );
});

describe.each(backends())('interleaved channels on %s', (device) => {
  /** Lengths of lines that end inside a chunk, a warp and a block, and at their ends. */
  const LENGTHS = [1, 4, 100, 127, 128, 508, 512, 516, 2100];

  it.each<[DType, number]>([
    ['float32', 2],
    ['float32', 3],
    ['float32', 4],
    ['float64', 3],
    ['float16', 3],
    ['uint8', 3],
    ['uint8', 4],
    // Columns of a table, in packs of 8, 2 and 16 bytes.
    ['float32', 10],
    ['float16', 7],
    ['float64', 6],
  ])('are taken apart and stored, of %s, %i of them', async (dtype, channels) => {
    const outputs = LENGTHS.flatMap((length, seed) => {
      const numbers = (...shape: number[]): Lazy =>
        toLazy(randomValues('int32', shape, seed, 0, 100)).astype(dtype);
      const channel = (x: Lazy, k: number): Lazy => x.slice('...', k);
      const reversed = (x: Lazy): Lazy =>
        stack(
          Array.from({ length: channels }, (_, k) => channel(x, channels - 1 - k).add(k)),
          -1,
        );
      const halved = (x: Lazy): Lazy =>
        stack(
          Array.from({ length: channels }, (_, k) => channel(x, k).astype('float32').mul(0.5)),
          -1,
        ).astype(dtype);
      const cut = numbers(3, length, channels).slice(':', length > 1 ? '1:' : ':');
      return [numbers(length, channels), numbers(length + 3, channels).slice('3:'), cut].flatMap((x) => [
        reversed(x),
        halved(x),
      ]);
    });
    const expected = sharedReferenceOf(device, outputs);
    const actual = device === 'reference' ? expected : await run(device, outputs);
    for (const [k, own] of actual.entries())
      expect(Buffer.compare(bytesOf(own), bytesOf(expected[k]!)), `result ${k}`).toBe(0);
  });
});
