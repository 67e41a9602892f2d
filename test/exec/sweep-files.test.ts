/**
 * Files larger than the budget on the CPU: sweeps read them window by window, and results have the bits of
 * the whole.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { chunked, compute, fromFile, type Lazy, lazy, raw } from '../../src/index.js';
import { randomValues } from '../support/random.js';

const folder = mkdtempSync(join(tmpdir(), 'weft-sweep-'));
afterAll(() => rmSync(folder, { recursive: true }));

const [ROWS, COLUMNS] = [60_000, 24];
const data = randomValues('float32', [ROWS, COLUMNS], 5).data as Float32Array;
const path = join(folder, 'values.bin');
writeFileSync(path, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));

const results = (x: Lazy): Lazy[] => [
  x.sum(),
  x.sub(x.mean(0)).div(x.std(0)).abs().sum(1),
  x.max(0),
  x.slice('1:').sub(x.slice(':-1')).square().sum(0),
];
const read = async (x: Lazy, memory: string): Promise<unknown[]> =>
  (await compute(results(x), { device: 'cpu', memory })).map((array) => array.toArray());

async function fileOf(rows: number, columns: number, seed: number): Promise<[Lazy, Lazy]> {
  const values = randomValues('float32', [rows, columns], seed).data as Float32Array;
  const place = join(folder, `operand-${seed}.bin`);
  writeFileSync(place, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  const shape = [rows, columns];
  return [lazy(values).reshape(shape), await fromFile(place, { dtype: 'float32', shape })];
}

describe('sources larger than the budget', () => {
  it('are read in windows, with the bits of the whole', async () => {
    const shape = [ROWS, COLUMNS];
    const whole = await read(lazy(data).reshape(shape), '1GiB');
    const file = await fromFile(path, { dtype: 'float32', shape });
    const half = data.length / 2;
    const chunks = chunked([data.subarray(0, half + 7), data.subarray(half + 7)], shape);
    for (const memory of ['3MiB', '2MiB']) {
      const { steps, peakBytes } = file.sum().explain({ device: 'cpu', memory });
      expect(steps.length).toBeGreaterThan(0);
      expect(peakBytes).toBeLessThanOrEqual(3 * 2 ** 20);
      expect(await read(file, memory)).toEqual(whole);
      expect(await read(chunks, memory)).toEqual(whole);
    }
  });

  it('are multiplied in parts of panels, with the bits of the whole', async () => {
    const [m, k, n] = [128, 2 * 4096 + 100, 128];
    const [[a, aFile], [b, bFile]] = [await fileOf(m, k, 7), await fileOf(k, n, 8)];
    const options = { device: 'cpu', memory: '2.5MiB' };
    const product = aFile.matmul(bFile);
    expect(product.plan(options).sweeps[0]!.tiles).toBeGreaterThanOrEqual(3);
    const wanted = await a.matmul(b).compute({ device: 'cpu' });
    expect((await product.compute(options)).data).toEqual(wanted.data);
    // Into a file, blocks of the result leave one by one.
    const place = join(folder, 'product.bin');
    await product.compute({ ...options, to: raw(place) });
    expect(new Float32Array(new Uint8Array(readFileSync(place)).buffer)).toEqual(wanted.data);
  });

  it('are multiplied by panels where elements of neither rows nor columns lie side by side', async () => {
    const [m, k, n] = [320, 500, 260];
    const everyOther = [null, null, 2] as const;
    const stepped = async (rows: number, columns: number, seed: number): Promise<Lazy[]> =>
      (await fileOf(2 * rows, 2 * columns, seed)).map((x) => x.slice(everyOther, everyOther));
    const [[a, aFile], [b, bFile]] = [await stepped(m, k, 9), await stepped(n, k, 10)];
    const product = (x: Lazy, y: Lazy): Lazy => x.matmul(y.mT);
    const options = { device: 'cpu', memory: '1.7MiB' };
    const { sweeps, peakBytes } = product(aFile!, bFile!).plan(options);
    expect(sweeps[0]!.tiles).toBeGreaterThan(3);
    expect(peakBytes).toBeLessThanOrEqual(1.7 * 2 ** 20);
    const wanted = await product(a!, b!).compute({ device: 'cpu' });
    expect((await product(aFile!, bFile!).compute(options)).data).toEqual(wanted.data);
  });

  it('fail as a whole where a window cannot be read', async () => {
    const short = join(folder, 'short.bin');
    writeFileSync(short, new Uint8Array(ROWS * COLUMNS * 4));
    const file = await fromFile(short, { dtype: 'float32', shape: [ROWS, COLUMNS] });
    writeFileSync(short, new Uint8Array(1000));
    await expect(file.sum(0).compute({ device: 'cpu', memory: '1MiB' })).rejects.toThrow(/short\.bin/);
  });
});
