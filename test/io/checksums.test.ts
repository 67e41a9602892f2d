/**
 * Checksums of archives' members, stored and deflated: bytes that differ from what was written are never
 * values.
 */
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { arange, compute, FileError, type Lazy, loadNpz, saveNpz, saveSafetensors } from '../../src/index.js';
import { npyHeader } from '../../src/io/npy.js';
import { archive, temporaryFolder } from '../support/files.js';

const folder = temporaryFolder();
const device = 'cpu';
let count = 0;

const member = (elements: Float32Array, shape: readonly number[]): Buffer =>
  Buffer.concat([npyHeader('<f4', shape, 'C'), Buffer.from(elements.buffer)]);

/** An archive of `x`, of which a byte of the elements is another one than when its checksum was made. */
function broken(elements: Float32Array, shape: readonly number[], at: number): string {
  const bytes = member(elements, shape);
  const checksum = crc32(bytes);
  bytes[bytes.length - elements.byteLength + at]! ^= 0x40;
  return folder.put(`${count++}.npz`, archive([{ name: 'x.npy', bytes, method: 0, checksum }]));
}

const refused = async (x: Promise<unknown>, path: string): Promise<void> => {
  const error = await x.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FileError);
  expect(error).toMatchObject({ path, code: 'ERR_FILE_CHECKSUM' });
  expect(String(error)).toMatch(/expected the bytes that were written, by their checksum: others/);
};
const load = async (path: string): Promise<Lazy> => (await loadNpz(path)).x!;

describe('a stored member', () => {
  const elements = Float32Array.from({ length: 3_000_000 }, (_, k) => k % 1013);
  const shape = [3000, 1000];

  it.each<[string, number, (x: Lazy) => Lazy, object]>([
    ['in its first byte', 0, (x) => x.sum(), {}],
    ['in its last', 11_999_999, (x) => x.mul(2), {}],
    ['in a row that is read out of order', 7_000_002, (x) => x.transpose().add(1).sum(1), {}],
    ['that is read in tiles', 6_000_001, (x) => x.sub(x.mean(0)).square().mean(0), { memory: '8MiB' }],
    ['that is brought into memory', 5_000_001, (x) => x.matmul(x.slice([0, 1000])), {}],
  ])('that was changed %s is refused', async (_, at, compute, options) => {
    const path = broken(elements, shape, at);
    const x = await load(path);
    await refused(compute(x).compute({ device, ...options }), path);
    // From then on, no part of it is read.
    await refused(x.slice(0).sum().compute({ device }), path);
  });

  it('is refused by the slice that is the last of it, whatever came before', async () => {
    const path = broken(elements, shape, 4001);
    const x = await load(path);
    // Row 1 has another value than it had: of a part alone, nobody can say so.
    for (const rows of [
      [1000, 2000],
      [500, 1600],
      [1, 500],
      [1500, 3000],
    ] as const)
      await x
        .slice([...rows])
        .sum()
        .compute({ device });
    await refused(x.slice([0, 2]).sum().compute({ device }), path);
  });

  it('that is as it was written is read, again and again, in parts and as a whole', async () => {
    const path = folder.put(
      'whole.npz',
      archive([{ name: 'x.npy', bytes: member(elements, shape), method: 0 }]),
    );
    const x = await load(path);
    const wanted = elements.reduce((sum, value) => sum + value, 0);
    for (let k = 0; k < 3; k++) {
      expect((await x.slice([k, 2000]).compute({ device })).data).toEqual(
        elements.subarray(k * 1000, 2_000_000),
      );
      expect((await x.astype('float64').sum().compute({ device })).item()).toBe(wanted);
    }
  });

  it('of any length has the sum that zlib has', async () => {
    const lengths = Array.from({ length: 70 }, (_, k) => k * 5 + (k % 3));
    const members = lengths.map((length) => {
      const elements = Buffer.from(Array.from({ length }, (_, k) => (k * k * 31 + length) % 251));
      const bytes = Buffer.concat([npyHeader('|u1', [length], 'C'), elements]);
      return { name: `${length}.npy`, bytes, method: 0 };
    });
    const arrays = await loadNpz(folder.put('lengths.npz', archive(members)));
    const results = await compute(Object.values(arrays), { device });
    expect(results.map(({ size }) => size).sort((a, b) => a - b)).toEqual(lengths);
  });

  it('in the other byte order has its checksum of the bytes in the file', async () => {
    const bytes = Buffer.concat([
      npyHeader('>f4', [4], 'C'),
      Buffer.from(Float32Array.of(1, 2, 3, 4).buffer).swap32(),
    ]);
    const path = folder.put('swapped.npz', archive([{ name: 'x.npy', bytes, method: 0 }]));
    expect((await (await load(path)).compute({ device })).toArray()).toEqual([1, 2, 3, 4]);
  });

  it('is refused when it is loaded, where it is longer than its array, beyond the file, or empty with another sum', async () => {
    const bytes = member(Float32Array.of(1, 2, 3), [3]);
    const put = (options: object): string =>
      folder.put(`${count++}.npz`, archive([{ name: 'x.npy', bytes, method: 0, ...options }]));
    const longer = Buffer.concat([bytes, Buffer.alloc(4)]);
    for (const method of [0, 8])
      await expect(load(put({ bytes: longer, method }))).rejects.toThrow(/a member of \d+ bytes: \d+/);
    const whole = readFileSync(put({}));
    const directory = whole.indexOf('PK\x01\x02');
    for (const at of [20, 24]) whole.writeUInt32LE(2 ** 31, directory + at);
    await expect(load(folder.put('beyond.npz', whole))).rejects.toThrow(/overflows file bounds/);
    const empty = { bytes: member(new Float32Array(0), [0]), checksum: 5 };
    for (const method of [0, 8])
      await expect(load(put({ ...empty, method }))).rejects.toMatchObject({ code: 'ERR_FILE_CHECKSUM' });
  });

  it('that Weft wrote is read, beside what has no checksum', async () => {
    const x = arange(5000).reshape([50, 100]);
    const path = `${folder.path}/own.npz`;
    await saveNpz(path, { x, y: x.neg() }, { device });
    await saveSafetensors(`${folder.path}/own.safetensors`, { x }, { device });
    const { x: a, y: b } = await loadNpz(path);
    expect(Number((await a!.add(b!).abs().sum().compute({ device })).item())).toBe(0);
  });
});

describe('a deflated member', () => {
  it('with another checksum is refused', async () => {
    const bytes = member(Float32Array.of(1, 2, 3), [3]);
    const path = folder.put('deflated.npz', archive([{ name: 'x.npy', bytes, checksum: 5 }]));
    await expect((await load(path)).sum().compute({ device })).rejects.toMatchObject({
      code: 'ERR_FILE_CHECKSUM',
      path,
    });
  });
});
