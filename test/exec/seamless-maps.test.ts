/**
 * Maps of one axis that read and write in place are walked as one block of many: whatever the number of elements and
 * threads, and in tiles of a budget, every element has the value of its own expression.
 */
import { describe, expect, it } from 'vitest';
import { tallyOf } from '../../src/codegen/cpu/tape-tally.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import type { DType } from '../../src/graph/dtype.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { nativeWith } from '../support/native-with.js';
import { inputsOf, runTape } from '../support/tape-runner.js';

const SIZES = [
  1,
  63,
  64,
  4097,
  8191,
  8192,
  8193,
  16_384,
  100_001,
  2 ** 18 - 1,
  2 ** 18 + 65,
  3 * 2 ** 18 + 7,
];

/** x y - 2 x, and another result of it. */
function chainOf(n: number, dtype: DType, from = 0): Kernel {
  const b = new KernelBuilder([n]);
  const x = b.load(dtype, [1], { offset: from });
  const y = b.load(dtype, [1]);
  const v = b.map('subtract', b.map('multiply', x, y), b.map('multiply', x, b.constant(dtype, 2)));
  return b
    .store(v)
    .store(b.map('add', v, y))
    .build();
}

describe.each(['1', '3'])('with %s threads', (threads) => {
  it.each(['float32', 'float64', 'int32'] as const)('have their values in %s', async (dtype) => {
    const native = await nativeWith({ WEFT_THREADS: threads, WEFT_POISON: '1' });
    const wrong: string[] = [];
    for (const n of SIZES)
      for (const from of [0, 5]) {
        const kernel = chainOf(n, dtype, from);
        const [x, y] = inputsOf(kernel, n);
        const [a, b] = [x, y] as unknown as [ArrayLike<number>, ArrayLike<number>];
        // The second run has the worker of the first, whose code may be there.
        for (let run = 0; run < 2; run++) {
          const [v, w] = (await runTape(native, kernel, [x, y])) as unknown as ArrayLike<number>[];
          let at = 0;
          while (at < n) {
            const value = a[at + from]! * b[at]! - 2 * a[at + from]!;
            if (v![at] !== value || w![at] !== value + b[at]!) break;
            at++;
          }
          if (at < n) wrong.push(`${n} elements from ${from} on, run ${run}: element ${at}`);
        }
      }
    expect(wrong).toEqual([]);
  });
});

describe('the tally', () => {
  it('has one block of those that one thread walks together', () => {
    const blocks = (kernel: Kernel): number | undefined => tallyOf(kernel).amounts.get('block');
    expect(blocks(chainOf(2 ** 18, 'float32'))).toBe(1);
    expect(blocks(chainOf(2 ** 20, 'float32'))).toBe(4);
    const b = new KernelBuilder([2 ** 20]);
    // Every second element is not read in place.
    const x = b.load('float32', [2]);
    expect(blocks(b.store(b.map('multiply', x, x)).build())).toBeGreaterThan(4);
  });
});
