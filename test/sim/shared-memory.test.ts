/**
 * Kernels ask for no more shared memory than their device has. (That their bits do not depend on it:
 * test/codegen.)
 */
import { describe, expect, it } from 'vitest';
import { arange, explain, lazy, softmax } from '../../src/index.js';
import { setDevices } from './simulator.js';

/** KiB of a block on an H200, an A100 and an RTX 4090, and what every device has without being asked. */
const LIMITS = [227, 163, 99, 48];
setDevices(LIMITS.map((limit) => ({ sharedMemoryPerBlock: limit * 1024 })));

describe('a row that is too long for registers', () => {
  it.each([
    [40_960, [true, true, true, true]],
    [57_344, [true, true, true, false]],
    [65_536, [true, true, false, false]],
  ])('of %i elements is held in shared memory where the device has room', (length, held) => {
    const y = softmax(lazy(new Float32Array(256 * length)).reshape([256, length]), 1);
    const sources = LIMITS.map((_, ordinal) => explain([y], { device: `cuda:${ordinal}` }).steps[0]!.source);
    expect(sources.map((source) => /extern __shared__/.test(source!))).toEqual(held);
  });

  it('of halves shares its places with the floats that are computed of them, thread by thread', async () => {
    // 32,768 elements of a row are in registers.
    const [rows, length] = [128, 33_000];
    const counted = arange(rows * length, { dtype: 'int32' })
      .mul(7919)
      .remainder(4093);
    const drawn = counted.div(1000).astype('float16').reshape([rows, length]);
    const x = lazy(await drawn.compute({ device: 'cpu' }));
    const y = softmax(x, 1);
    const shared = lazy(await y.compute({ device: 'cuda:0' }));
    const expected = lazy(await y.compute({ device: 'cpu' }));
    expect(explain([y], { device: 'cuda:0' }).steps[0]!.source).toMatch(/extern __shared__/);
    const [own, other] = [shared, expected].map((half) => half.astype('float32'));
    const apart = await own!.sub(other!).abs().max().compute({ device: 'cpu' });
    // A unit in the last place of the largest.
    expect(apart.item()).toBeLessThanOrEqual(2 ** -23);
  });
});
