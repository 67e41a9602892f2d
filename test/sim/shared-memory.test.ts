/**
 * Kernels ask for no more shared memory than their device has. (That their bits do not depend on it:
 * test/codegen.)
 */
import { describe, expect, it } from 'vitest';
import { explain, lazy, softmax } from '../../src/index.js';
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
});
