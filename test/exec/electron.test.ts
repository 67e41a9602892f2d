/**
 * In Electron, whose V8 takes no ArrayBuffer over memory that it did not allocate: results lie in the engine's
 * memory from the beginning. The process says that it is Electron; Weft asks for nothing else of it.
 */
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { memory } from '../../src/exec/native/native.js';
import { arange, compile, compute, type Lazy, lazy, loadNpy, pinned, saveNpy } from '../../src/index.js';
import { temporaryFolder } from '../support/files.js';

vi.hoisted(() => {
  const versions = { ...process.versions, electron: '40.0.0' };
  Object.defineProperty(process, 'versions', { value: versions });
});

const device = 'cpu';
const root = temporaryFolder();
const counting = (count: number): Lazy => arange(count, undefined, undefined, { dtype: 'float32' });

/** Bytes of the runtime's own host memory that are in use: over it would ArrayBuffers be that are not V8's. */
const inPool = (): number => memory().find((each) => each.device === device)?.inUse ?? 0;

describe.each([0, 1, 2_000, 1_000_000])('a result of %i elements in Electron', (count) => {
  it.each([{}, { memory: 2 ** 20 }])('is computed into memory of the engine, with %o', async (budget) => {
    const before = inPool();
    const { sum, next } = await compute(
      { sum: counting(count).sum(), next: counting(count).add(1) },
      { device, ...budget },
    );
    expect(inPool()).toBe(before);
    expect(next.data).toEqual(Float32Array.from({ length: count }, (_, k) => k + 1));
    expect(sum.item()).toBeCloseTo((count * (count - 1)) / 2, -6);
    expect((await lazy(next).sub(counting(count)).mean().compute({ device })).item()).toBe(
      count ? 1 : Number.NaN,
    );
    expect(inPool()).toBe(before);
  });
});

describe('in Electron', () => {
  it('stored arrays, compiled functions, files and pinned arrays give results of the engine too', async () => {
    const before = inPool();
    const stored = await counting(500_000).persist({ device });
    const step = compile((x: Lazy) => x.mul(2), { device });
    expect((await step(stored)).at(-1)).toBe(999_998);
    stored.dispose();
    const path = join(root.path, 'x.npy');
    await saveNpy(path, counting(500_000));
    expect((await (await loadNpy(path)).add(1).compute({ device })).at(-1)).toBe(500_000);
    const { isPinned, data } = await pinned([4]);
    expect([isPinned, data.length]).toEqual([false, 4]);
    expect(inPool()).toBe(before);
  });
});
