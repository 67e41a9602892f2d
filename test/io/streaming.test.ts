/**
 * Jobs whose files are larger than the budget: computed tile by tile from file to file, with the bits of the
 * whole, within the memory that the plan said.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  chunked,
  compute,
  FileError,
  fromReader,
  type Lazy,
  lazy,
  loadNpy,
  loadNpz,
  MemoryError,
  npy,
  npz,
  plan,
  saveNpy,
} from '../../src/index.js';
import { npyHeader } from '../../src/io/npy.js';
import { archive, temporaryFolder } from '../support/files.js';

const folder = temporaryFolder();
const device = 'cpu';
const [ROWS, COLUMNS] = [3000, 257];
const data = new Float32Array(ROWS * COLUMNS).map((_, k) => Math.sin(k) * ((k % 97) + 1));
const inMemory = lazy(data, { shape: [ROWS, COLUMNS] });
const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const sources: readonly [string, () => Promise<Lazy>][] = [
  ['a file', () => saveNpy(join(folder.path, 'c.npy'), inMemory, { device })],
  ['a big-endian file', () => saveNpy(join(folder.path, 'big.npy'), inMemory, { device, byteOrder: 'big' })],
  [
    'pieces',
    async () => {
      const cuts = [0, 1, 1000, 300_001, data.length];
      return chunked(
        cuts.slice(1).map((end, k) => data.slice(cuts[k], end)),
        [ROWS, COLUMNS],
      );
    },
  ],
];

/** A sum is read in blocks by the threads that add them up, without tiles. */
const jobs: readonly [string, (x: Lazy) => Lazy, isInTiles?: boolean][] = [
  ['a map', (x) => x.mul(2).sin()],
  ['a sum of all', (x) => x.sum(), false],
  ['largest places of rows', (x) => x.argmax(1)],
  ['softmax of rows', (x) => x.softmax(1)],
  ['differences of rows', (x) => x.slice([1, null]).sub(x.slice([0, -1]))],
  ['every third row backwards', (x) => x.slice([null, null, -3]).add(1)],
];

describe.each(sources)('%s that is larger than the budget', (_, make) => {
  it.each(jobs)('is computed part by part: %s', async (_, job, isInTiles = true) => {
    const x = await make();
    const [expected] = await compute([job(inMemory)], { device });
    let streamed = 0;
    for (const budget of [2_000_000, 600_000]) {
      const path = join(folder.path, 'out.npz');
      const options = { device, memory: budget };
      for (const asked of [options, { ...options, to: npz(path) }]) {
        const { sweeps, peakBytes } = job(x).plan(asked);
        expect(peakBytes).toBeLessThanOrEqual(budget);
        streamed += sweeps.length;
      }
      const [again] = await compute([job(x)], options);
      expect(bytesOf(again.data).equals(bytesOf(expected.data))).toBe(true);
      const [stored] = await compute([job(x)], { ...options, to: npz(path, ['y']) });
      const { y } = await loadNpz(path);
      for (const result of await compute([stored, y!], { device })) {
        expect(bytesOf(result.data).equals(bytesOf(expected.data))).toBe(true);
      }
    }
    expect(streamed > 0).toBe(isInTiles);
  });
});

describe('a job of files under a budget', () => {
  it('reduces columns of a file in Fortran order', async () => {
    const x = await saveNpy(join(folder.path, 'f.npy'), inMemory, { device, order: 'F' });
    for (const y of [x.square().sum(0), x.sum()]) {
      const whole = await y.compute({ device });
      for (const budget of [2_000_000, 600_000]) {
        expect(y.plan({ device, memory: budget }).peakBytes).toBeLessThanOrEqual(budget);
        const tiled = await y.compute({ device, memory: budget });
        expect(bytesOf(tiled.data).equals(bytesOf(whole.data))).toBe(true);
      }
    }
  });

  it('multiplies matrices of files', async () => {
    const [n, k, m] = [700, 900, 500];
    const numbers = (size: number): Float32Array => new Float32Array(size).map((_, i) => ((i * 7) % 31) - 15);
    const a = lazy(numbers(n * k), { shape: [n, k] });
    const b = lazy(numbers(k * m), { shape: [k, m] });
    const x = await saveNpy(join(folder.path, 'a.npy'), a, { device });
    const y = await saveNpy(join(folder.path, 'b.npy'), b, { device });
    const options = { device, memory: '8MiB' };
    expect(plan([x.matmul(y)], options).sweeps.length).toBeGreaterThan(0);
    const z = await x.matmul(y).compute({ ...options, to: npy(join(folder.path, 'ab.npy')) });
    const [expected, streamed] = await compute([a.matmul(b), z], { device });
    expect(bytesOf(streamed.data).equals(bytesOf(expected.data))).toBe(true);
  });

  it('is refused before anything is written where it cannot fit', async () => {
    const x = await loadNpy(join(folder.path, 'c.npy'));
    const before = readdirSync(folder.path).sort();
    const to = npy(join(folder.path, 'never.npy'));
    await expect(x.mul(2).compute({ device, memory: 100, to })).rejects.toThrow(MemoryError);
    expect(readdirSync(folder.path).sort()).toEqual(before);
  });

  it('asks a function for parts of what is larger than the budget, and hands on what it throws', async () => {
    let most = 0;
    const made = (fails: boolean): Lazy =>
      fromReader(
        async (start, count) => {
          most = Math.max(most, count);
          if (fails && start > 500_000) throw new RangeError('no more');
          return new Float32Array(count).fill(1);
        },
        { dtype: 'float32', shape: 1_000_000 },
      );
    expect((await made(false).sum().compute({ device, memory: 1_000_000 })).item()).toBe(1_000_000);
    expect(most).toBeLessThan(250_000);
    await expect(made(true).sum().compute({ device, memory: 1_000_000 })).rejects.toThrow(/^no more/);
    expect((await made(true).slice([0, 10]).sum().compute({ device, memory: 10_000 })).item()).toBe(10);
  });

  it('stops while a function does not answer', async () => {
    const x = fromReader(() => new Promise(() => {}), { dtype: 'float32', shape: 1_000_000 });
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error('enough')), 20);
    const computing = x.sum().compute({ device, memory: 1_000_000, signal: abort.signal });
    await expect(computing).rejects.toThrow('enough');
  });

  it('inflates an archive as it goes, and finds that its checksum is wrong', async () => {
    const bytes = Buffer.concat([npyHeader('<f4', [ROWS, COLUMNS], 'C'), bytesOf(data)]);
    const of = async (checksum?: number): Promise<Lazy> => {
      const member = { name: 'x.npy', bytes, ...(checksum !== undefined && { checksum }) };
      const { x } = await loadNpz(folder.put('deflated.npz', archive([member])));
      return x!;
    };
    const job = (x: Lazy): Lazy => x.sub(x.mean(0)).slice([null, null, -1]).abs().sum(1);
    const whole = await job(inMemory).compute({ device });
    const x = await of();
    expect(job(x).plan({ device, memory: 2_000_000 }).sweeps.length).toBeGreaterThan(1);
    const tiled = await job(x).compute({ device, memory: 2_000_000 });
    expect(bytesOf(tiled.data).equals(bytesOf(whole.data))).toBe(true);
    const wrong = (await of(1)).sum().compute({ device, memory: 2_000_000 });
    await expect(wrong).rejects.toThrow(/checksum/);
  });

  it('fails where a file ends during the sweep, and leaves no file', async () => {
    const x = await saveNpy(join(folder.path, 'cut.npy'), inMemory, { device });
    truncateSync(join(folder.path, 'cut.npy'), 400_000);
    const to = npy(join(folder.path, 'of-cut.npy'));
    await expect(x.mul(2).compute({ device, memory: 300_000, to })).rejects.toThrow(FileError);
    expect(readdirSync(folder.path).filter((name) => /of-cut|tmp/.test(name))).toEqual([]);
  });

  it('fails where the disk takes no more, and leaves no file', () => {
    const weft = JSON.stringify(new URL('../../dist/weft/index.js', import.meta.url).href);
    const [from, to] = ['c.npy', 'too-large.npy'].map((name) => JSON.stringify(join(folder.path, name)));
    const script = folder.put(
      'too-large.mjs',
      `import { loadNpy, npy } from ${weft};
      process.on('SIGXFSZ', () => {}); // the limit is then an error of the write
      const x = await loadNpy(${from});
      const y = x.mul(2);
      const options = { device: 'cpu', memory: 300_000, to: npy(${to}) };
      const error = await y.compute(options).catch((e) => e);
      console.log(error.name, error.code, y.plan(options).sweeps.length);`,
    );
    const { stdout, stderr } = spawnSync(
      'sh',
      ['-c', `ulimit -f 1000; exec "$0" "$1"`, process.execPath, script],
      {
        encoding: 'utf8',
      },
    );
    expect([stdout, stderr]).toEqual(['FileError EFBIG 1\n', '']);
    expect(readdirSync(folder.path).filter((name) => /too-large\.npy|tmp/.test(name))).toEqual([]);
  });

  it('stops when it is aborted, and leaves no file', async () => {
    const abort = new AbortController();
    let reads = 0;
    const ones = fromReader(
      (_, count) => {
        if (++reads === 3) abort.abort(new Error('enough'));
        return new Float32Array(count).fill(1);
      },
      { dtype: 'float32', shape: [ROWS, COLUMNS] },
    );
    const x = (await loadNpy(join(folder.path, 'c.npy'))).mul(ones);
    const to = npy(join(folder.path, 'aborted.npy'));
    const options = { device, memory: 120_000, to, signal: abort.signal };
    await expect(x.sin().cos().exp().compute(options)).rejects.toThrow('enough');
    expect(readdirSync(folder.path).filter((name) => /aborted|tmp/.test(name))).toEqual([]);
  });

  it('never holds more than its plan says', () => {
    const budget = 8 << 20;
    const paths = ['in.npy', 'out.npy'].map((name) => JSON.stringify(join(folder.path, name)));
    const root = new URL('../../dist/src/', import.meta.url).href;
    const body = `
      import { arange, loadNpy, npy, saveNpy } from '${root}index.js';
      import { memory } from '${root}exec/native/native.js';
      const options = { device: 'cpu', memory: ${budget} };
      await arange(8_000_000).compute({ ...options, to: npy(${paths[0]}) });
      const x = await loadNpy(${paths[0]});
      const y = x.sub(x.mean()).div(x.std());
      await y.compute({ ...options, to: npy(${paths[1]}) });
      console.log(memory().find(({ device }) => device === 'cpu').peak);`;
    const file = folder.put('bounded.mjs', body);
    const { stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(Number(stdout)).toBeGreaterThan(0);
    expect(Number(stdout)).toBeLessThanOrEqual(budget);
    expect(readFileSync(join(folder.path, 'out.npy')).length).toBe(128 + 64_000_000);
  });
});
