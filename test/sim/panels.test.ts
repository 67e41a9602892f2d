/**
 * Products on the simulated CUDA whose panels are cut along the contracted axis, too: parts of a block are
 * added up in its slot, which leaves when it is complete, whatever the order of the device's work. Elements
 * are small integers, so that sums are exact in any order.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { fromFile, type Lazy, lazy, raw } from '../../src/index.js';
import { temporaryFolder } from '../support/files.js';
import { footprint } from './programs.js';
import { describeSimulator, setFaults, setSchedule, show, takeProblems } from './simulator.js';

const folder = temporaryFolder();
const TIMINGS = ['late', 'random', 'eager'] as const;
const [M, K, N] = [200, 2 * 4096 + 100, 200];
/** Less than 64 rows and 64 columns of the operands take, or a third of those and the result. */
const options = { device: 'cuda', memory: '2.25MiB' };

const integers = (count: number, seed: number): Float32Array =>
  new Float32Array(count).map((_, k) => ((k * 7919 + seed) % 7) - 3);
const [left, right] = [integers(M * K, 1), integers(K * N, 2)];
const product = (): Lazy => lazy(left, { shape: [M, K] }).matmul(lazy(right, { shape: [K, N] }));
const wanted = Array.from({ length: M * N }, (_, at) => {
  const [i, j] = [Math.floor(at / N), at % N];
  let sum = 0;
  for (let k = 0; k < K; k++) sum += left[i * K + k]! * right[k * N + j]!;
  return sum;
});

afterEach(() => {
  setFaults([]);
  setSchedule({ timing: 'late', seed: 1 });
});

describe('a product in parts of panels', () => {
  it('adds them up to what the whole is, under 6 schedules, and races with nothing', async () => {
    const plan = product().plan(options);
    const { tiles } = plan.sweeps[0]!;
    // Parts of three, and blocks of the result in windows.
    expect([tiles, tiles % 3]).toEqual([48, 0]);
    expect(String(plan)).toMatch(/ out, 1 slots/);
    await product().compute(options);
    const { inUse } = await footprint();
    for (let seed = 1; seed <= 6; seed++) {
      setSchedule({ timing: TIMINGS[seed % 3]!, seed });
      setFaults([]);
      const { data } = await product().compute(options);
      const { counts } = describeSimulator();
      expect(Array.from(data as Float32Array)).toEqual(wanted);
      expect(counts.cublasGemmEx).toBe(tiles);
      expect(takeProblems().map(show)).toEqual([]);
    }
    expect((await footprint()).inUse).toBe(inUse);
  });

  it('goes from files to a file', async () => {
    const [a, b] = [left, right].map((values, k) => {
      writeFileSync(join(folder.path, `${k}.bin`), values);
      return join(folder.path, `${k}.bin`);
    });
    const x = await fromFile(a!, { dtype: 'float32', shape: [M, K] });
    const y = await fromFile(b!, { dtype: 'float32', shape: [K, N] });
    const path = join(folder.path, 'product.bin');
    await x.matmul(y).compute({ ...options, to: raw(path) });
    expect(Array.from(new Float32Array(new Uint8Array(readFileSync(path)).buffer))).toEqual(wanted);
  });

  it('leaves nothing behind where a product fails, and is right the next time', async () => {
    await product().compute(options);
    const { inUse } = await footprint();
    for (const nth of [1, 2, 4]) {
      setFaults([{ call: 'cublasGemmEx', nth, status: 13 }]);
      await expect(product().compute(options)).rejects.toThrow(/cublas/i);
      setFaults([]);
      expect((await footprint()).inUse).toBe(inUse);
    }
    const { data } = await product().compute(options);
    expect(Array.from(data as Float32Array)).toEqual(wanted);
  });
});
