/** Random programs of some steps each, whose results are compared with the reference's, bit by bit. */
import { expect } from 'vitest';
import type { Lazy } from '../../src/index.js';
import { referenceOf, run, toLazy } from './api.js';
import { generator, randomValues } from './random.js';

export type Pick = (n: number) => number;

/** One step; `operand` gives further small integers of a shape, as float64. */
export type Step = (x: Lazy, pick: Pick, operand: (shape: readonly number[]) => Lazy) => Lazy;

export const bytesOf = ({ data }: { data: ArrayBufferView }): Buffer =>
  Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** Runs `count` programs of up to seven steps over an array of at most so many axes, of which some values are results, too. */
export async function expectRandomPrograms(
  device: string,
  steps: readonly Step[],
  { count, axes }: { readonly count: number; readonly axes: number },
): Promise<void> {
  for (let seed = 0; seed < count; seed++) {
    const next = generator(seed);
    const pick: Pick = (n) => Math.floor(next() * n);
    let operands = 0;
    const operand = (of: readonly number[]): Lazy =>
      toLazy(randomValues('int32', of, 1000 * seed + operands++, -4, 4)).astype('float64');
    let x = operand(Array.from({ length: 1 + pick(axes) }, () => 1 + pick(6)));
    const outputs: Lazy[] = [];
    for (let step = 0; step < 7 && x.size < 5000; step++) {
      x = steps[pick(steps.length)]!(x, pick, operand);
      if (pick(3) === 0) outputs.push(x);
    }
    outputs.push(x);
    const expected = referenceOf(outputs);
    const actual = await run(device, outputs);
    for (const [k, own] of actual.entries()) {
      expect(own.shape).toEqual(expected[k]!.shape);
      expect(Buffer.compare(bytesOf(own), bytesOf(expected[k]!)), `seed ${seed}, result ${k}`).toBe(0);
    }
  }
}
