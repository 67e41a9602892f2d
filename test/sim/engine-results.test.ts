/**
 * Results too large for an ArrayBuffer over memory of the runtime's lie in the engine's: with the limit of
 * Node 20, 4 GiB, set to 1 MiB. `test/exec/large-arrays.test.ts` has one of 4 GiB.
 */
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { memory } from '../../src/exec/native/native.js';
import {
  arange,
  compile,
  compute,
  type Lazy,
  lazy,
  loadNpy,
  MemoryError,
  type NDArray,
  ones,
  persist,
  pinned,
  saveNpy,
} from '../../src/index.js';
import { temporaryFolder } from '../support/files.js';
import { setDevices } from './simulator.js';

vi.mock('node:buffer', async (original) => ({
  ...(await original<typeof import('node:buffer')>()),
  constants: { MAX_LENGTH: 2 ** 20 },
}));

setDevices(Array.from({ length: 3 }, () => ({ memory: 2 ** 24 })));

const root = temporaryFolder();
/** More bytes of float32 than the limit, and fewer values. */
const COUNT = 2 ** 19;
const counting = (): Lazy => arange(COUNT, undefined, undefined, { dtype: 'float32' });

/** Bytes of the runtime's own host memory that are in use. */
const inPool = (): number => memory().find(({ device }) => device === 'cpu')?.inUse ?? 0;

const holdsCounting = ({ data }: NDArray, add: number): boolean =>
  data.length === COUNT && (data as Float32Array).every((value, k) => value === k + add);

describe.each([
  ['the CPU', { device: 'cpu' }],
  ['the CPU, in tiles', { device: 'cpu', memory: 2 ** 17 }],
  ['a GPU', { device: 'cuda' }],
  ['a GPU, in tiles', { device: 'cuda', memory: 2 ** 19 }],
  ['several GPUs', { devices: 3 }],
  ['several GPUs, in tiles', { devices: 3, memory: 2 ** 18 }],
] as const)('a result larger than the engine takes, of %s', (_, where) => {
  it('is read, printed, computed with and stored like any other', async () => {
    const before = inPool();
    const result = await counting().add(1).compute(where);
    expect(inPool() - before).toBeLessThan(result.byteLength);
    expect(holdsCounting(result, 1)).toBe(true);
    expect([result.at(0), result.at(-1), result.byteLength]).toEqual([1, COUNT, 4 * COUNT]);
    expect(String(result)).toMatch(/^\[1\.0+e\+00 2\.0+e\+00 /);
    expect(holdsCounting(await lazy(result).add(1).compute(where), 2)).toBe(true);
    expect((await lazy(result).max().compute(where)).item()).toBe(COUNT);
    const path = join(root.path, 'result.npy');
    await saveNpy(path, result, where);
    expect(holdsCounting(await (await loadNpy(path)).compute(where), 1)).toBe(true);
  });

  it('is written to by every run, beside others', async () => {
    const add = compile((x: Lazy, y: Lazy) => [x.add(y), x.sum()] as const, where);
    for (let k = 1; k <= 5; k++) {
      const [sum, whole] = await add(counting(), lazy(k));
      expect(holdsCounting(sum, k)).toBe(true);
      expect(whole.item()).toBeCloseTo((COUNT * (COUNT - 1)) / 2, -6);
    }
    const [one, same] = await compute([counting(), counting()], where);
    expect(one.data.buffer).toBe(same.data.buffer);
  });
});

describe('what the engine has no arrays for', () => {
  const tooMany = (): Lazy => ones([2 ** 20 + 1], 'uint8');

  it.each([{ device: 'cpu' }, { device: 'cuda' }, { devices: 2 }] as const)(
    'is refused before anything runs: %o',
    async (where) => {
      const wanted = /at most 1048576 values.* 1048577 of uint8 \(1048577,\)/;
      await expect(tooMany().compute(where)).rejects.toThrow(wanted);
      await expect(tooMany().compute(where)).rejects.toThrow(MemoryError);
      await expect(compile(tooMany, where)()).rejects.toThrow(wanted);
      await expect(ones([2 ** 19 + 1], 'complex64').compute(where)).rejects.toThrow('1048578 of complex64');
    },
  );

  it('is kept on devices and in files all the same', async () => {
    for (const device of ['cpu', 'cuda']) {
      const [kept] = await persist([tooMany()], { device });
      expect(Number((await kept!.sum().compute({ device })).item())).toBe(2 ** 20 + 1);
      const path = join(root.path, 'many.npy');
      await saveNpy(path, tooMany(), { device });
      expect(Number((await (await loadNpy(path)).sum().compute({ device })).item())).toBe(2 ** 20 + 1);
    }
  });

  it('is refused as pinned memory, also where an array of it could be made', async () => {
    await expect(pinned([2 ** 20 + 1], 'uint8')).rejects.toThrow(/at most 1048576 values/);
    await expect(pinned([COUNT])).rejects.toThrow(/at most 1048576 bytes/);
  });
});
