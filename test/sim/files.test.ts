/**
 * Jobs from file to file on the simulated CUDA, with less device memory than the files have bytes: the bits
 * of the whole, under several schedules; a short file and an abort leave nothing behind.
 */
import { readdirSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { FileError, fromReader, type Lazy, lazy, loadNpy, npy, saveNpy } from '../../src/index.js';
import { temporaryFolder } from '../support/files.js';
import { footprint } from './programs.js';
import { hold, setSchedule } from './simulator.js';

const folder = temporaryFolder();
const device = 'cuda';
const [ROWS, COLUMNS] = [3000, 257];
const data = new Float32Array(ROWS * COLUMNS).map((_, k) => Math.sin(k) * ((k % 97) + 1));
const inMemory = lazy(data, { shape: [ROWS, COLUMNS] });
const bitsOf = async (x: Lazy): Promise<Buffer> => {
  const { data: found } = await x.compute({ device });
  return Buffer.from(found.buffer, found.byteOffset, found.byteLength);
};

afterEach(() => {
  setSchedule({ timing: 'late', seed: 1 });
});

const jobs: readonly [string, (x: Lazy) => Lazy][] = [
  ['a map', (x) => x.mul(2).sin()],
  ['sums of columns', (x) => x.sum(0)],
  ['softmax of rows', (x) => x.softmax(1)],
  ['differences of rows', (x) => x.slice([1, null]).sub(x.slice([0, -1]))],
];

describe('a file that is larger than the budget', () => {
  it.each(jobs)('is computed to another in tiles: %s', async (_, job) => {
    const x = await saveNpy(join(folder.path, 'in.npy'), inMemory, { device });
    const wanted = await bitsOf(job(inMemory));
    for (const [seed, memory] of [400_000, 800_000, 2_000_000].entries()) {
      setSchedule({ timing: seed === 0 ? 'late' : 'random', seed });
      const options = { device, memory };
      expect(job(x).plan(options).sweeps.length).toBeGreaterThan(0);
      const y = await job(x).compute({ ...options, to: npy(join(folder.path, 'out.npy')) });
      expect((await bitsOf(y)).equals(wanted)).toBe(true);
    }
  });

  it('is read by rows of columns: transposed, and columns alone', async () => {
    const x = await saveNpy(join(folder.path, 'in.npy'), inMemory, { device });
    const turned = (y: Lazy): Lazy => y.transpose().mul(2);
    const columns = (y: Lazy): Lazy => y.slice([null], [100, 140]).sum(0);
    for (const job of [turned, columns]) {
      const wanted = await bitsOf(job(inMemory));
      for (const memory of [1_800_000, 2_600_000]) {
        const y = await job(x).compute({ device, memory, to: npy(join(folder.path, 'out.npy')) });
        expect((await bitsOf(y)).equals(wanted)).toBe(true);
      }
    }
  });

  it('is asked for part by part where a function reads it', async () => {
    let most = 0;
    const x = fromReader(
      async (start, count) => {
        most = Math.max(most, count);
        return data.slice(start, start + count);
      },
      { dtype: 'float32', shape: [ROWS, COLUMNS] },
    );
    for (const [, job] of jobs) {
      const wanted = await bitsOf(job(inMemory));
      const y = await job(x).compute({ device, memory: 800_000, to: npy(join(folder.path, 'read.npy')) });
      expect((await bitsOf(y)).equals(wanted)).toBe(true);
    }
    expect(most).toBeLessThan((ROWS * COLUMNS) / 4);
  });

  it('leaves nothing behind where it is shorter than it said, or the job is aborted', async () => {
    const x = await saveNpy(join(folder.path, 'cut.npy'), inMemory, { device });
    const memory = 200_000;
    await x.mul(2).compute({ device, memory, to: npy(join(folder.path, 'first.npy')) });
    const left = await footprint();
    truncateSync(join(folder.path, 'cut.npy'), 400_000);
    const short = x.mul(2).compute({ device, memory, to: npy(join(folder.path, 'of-cut.npy')) });
    await expect(short).rejects.toThrow(FileError);
    const whole = await loadNpy(join(folder.path, 'first.npy'));
    const abort = new AbortController();
    const options = { device, memory, signal: abort.signal, to: npy(join(folder.path, 'aborted.npy')) };
    const launch = hold('cuLaunchKernel', 2);
    const computing = whole.mul(2).compute(options);
    await launch.reached();
    abort.abort(new Error('enough'));
    launch.release();
    await expect(computing).rejects.toThrow('enough');
    expect(readdirSync(folder.path).filter((name) => /of-cut|aborted|tmp/.test(name))).toEqual([]);
    expect(await footprint()).toEqual(left);
  });
});
