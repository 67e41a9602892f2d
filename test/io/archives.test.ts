/**
 * .npz archives and safetensors files: what NumPy and the reference wrote is read, what is written they read.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  compute,
  DTypeError,
  FileError,
  type Lazy,
  lazy,
  loadNpz,
  loadSafetensors,
  loadSafetensorsMetadata,
  npz,
  saveNpz,
  saveSafetensors,
  zeros,
} from '../../src/index.js';
import { npyHeader } from '../../src/io/npy.js';
import {
  type ArchiveFixture,
  archive,
  decode,
  fileFixtures,
  stored,
  type TestMember,
  temporaryFolder,
} from '../support/files.js';

const folder = temporaryFolder();
const device = 'cpu';
const path = (name: string): string => join(folder.path, name);

async function holds(arrays: Readonly<Record<string, Lazy>>, fixture: ArchiveFixture): Promise<void> {
  expect(Object.keys(arrays).sort()).toEqual(Object.keys(fixture.arrays).sort());
  for (const [name, x] of Object.entries(arrays)) expect(await stored(x), name).toEqual(fixture.arrays[name]);
}

describe('npz', () => {
  it.each(fileFixtures.npz)('reads an archive of $name members as NumPy does', async (fixture) => {
    await holds(await loadNpz(folder.put('x.npz', decode(fixture.file))), fixture);
  });

  it('loads the named arrays alone', async () => {
    const file = folder.put('x.npz', decode(fileFixtures.npz[0]!.file));
    expect(Object.keys(await loadNpz(file, { names: ['scalar', 'a'] }))).toEqual(['scalar', 'a']);
    await expect(loadNpz(file, { names: ['b'] })).rejects.toThrow(/a member of that name: b/);
    await expect(loadNpz(file, { names: 'a' as never })).rejects.toThrow(ArgumentError);
  });

  it('reads parts of members', async () => {
    const x = arange(300_000).reshape([3, 100_000]);
    await saveNpz(path('parts.npz'), { x }, { device });
    const { data } = await x.compute({ device });
    const bytes = Buffer.concat([npyHeader('<f8', [3, 100_000], 'C'), Buffer.from(data.buffer)]);
    folder.put('deflated.npz', archive([{ name: 'x.npy', bytes }]));
    for (const name of ['parts.npz', 'deflated.npz']) {
      const { x: loaded } = await loadNpz(path(name));
      const part = await loaded!.slice(1, [99_998, null]).compute({ device });
      expect(part.toArray()).toEqual([199_998, 199_999]);
      expect((await loaded!.sum().compute({ device })).item()).toBe((300_000 * 299_999) / 2);
    }
  });

  it('writes what it reads, in any order', async () => {
    const fixture = fileFixtures.npz[0]!;
    const arrays = await loadNpz(folder.put('x.npz', decode(fixture.file)));
    for (const order of ['C', 'F'] as const) {
      await holds(await saveNpz(path('again.npz'), arrays, { order, byteOrder: 'big', device }), fixture);
      await holds(await loadNpz(path('again.npz')), fixture);
    }
  });

  it('writes archives that NumPy reads and whose checksums are right', async (context) => {
    const script = [
      'import sys, zipfile, numpy as np',
      'assert zipfile.ZipFile(sys.argv[1]).testzip() is None',
      'z = np.load(sys.argv[1])',
      'print({k: (z[k].dtype.str, z[k].tolist()) for k in z})',
    ].join('\n');
    if (spawnSync('python3', ['-c', 'import numpy']).status !== 0) context.skip('python3 has no NumPy here');
    await saveNpz(
      path('for-numpy.npz'),
      {
        a: [
          [1, 2],
          [3, 4],
        ],
        größe: [true],
        none: zeros([0], 'int8'),
      },
      { device },
    );
    const { stdout } = spawnSync('python3', ['-c', script, path('for-numpy.npz')], { encoding: 'utf8' });
    expect(stdout).toBe(
      "{'a': ('<f8', [[1.0, 2.0], [3.0, 4.0]]), 'größe': ('|b1', [True]), 'none': ('|i1', [])}\n",
    );
  });

  it('names arrays as NumPy does where no names are given', async () => {
    await compute([[1], [2]], { to: npz(path('unnamed.npz')), device });
    expect(Object.keys(await loadNpz(path('unnamed.npz')))).toEqual(['arr_0', 'arr_1']);
  });

  it('makes the same bytes of the same arrays', async () => {
    const files = ['one.npz', 'two.npz'].map(path);
    for (const file of files) await saveNpz(file, { x: arange(4) }, { device });
    expect(readFileSync(files[0]!)).toEqual(readFileSync(files[1]!));
  });

  it('keeps names that are paths or members of Object as names', async () => {
    const names = ['../../etc/passwd', '/tmp/x', 'a\\b', '__proto__', 'constructor', 'x.npy'];
    const arrays = Object.fromEntries(names.map((name, k) => [name, [k]]));
    expect(Object.keys(arrays)).toHaveLength(6);
    await saveNpz(path('names.npz'), arrays, { device });
    const loaded = await loadNpz(path('names.npz'));
    expect(Object.keys(loaded)).toEqual(names);
    const values = await compute(Object.values(loaded), { device });
    expect(values.map((value) => value.toArray())).toEqual([[0], [1], [2], [3], [4], [5]]);
  });

  it('refuses names that an archive cannot hold', () => {
    for (const names of [['a', 'a'], [''], ['x'.repeat(70_000)], ['\ud800'], 'ab'])
      expect(() => npz(path('x.npz'), names as string[])).toThrow(ArgumentError);
  });
});

const member = Buffer.concat([npyHeader('<f4', [4], 'C'), Buffer.alloc(16, 1)]);
const x: TestMember = { name: 'x.npy', bytes: member };

describe('bad archives', () => {
  it('reads the archive that they are made of', async () => {
    const { x: array } = await loadNpz(folder.put('good.npz', archive([x])));
    expect((await array!.compute({ device })).shape).toEqual([4]);
  });

  it.each<[string, Buffer, RegExp]>([
    ['what is no archive', Buffer.from('hello'), /a zip archive: End of central directory/],
    ['an archive that is cut off', archive([x]).subarray(0, -30), /a zip archive/],
    [
      'a member that is no array',
      archive([{ ...x, bytes: Buffer.from('hello, world') }]),
      /loadNpz: x\] expected a \.npy file/,
    ],
    ['repeated names', archive([x, x]), /each member once: x/],
    ['names that differ in .npy alone', archive([x, { ...x, name: 'x' }]), /each member once: x/],
    ['an encrypted member', archive([{ ...x, flags: 1 }]), /not encrypted/],
    ['an unknown compression', archive([{ ...x, method: 12 }]), /stored or deflated: method 12/],
    ['members that overlap', archive([x, { ...x, name: 'y.npy', localOffset: 0 }]), /apart/],
    ['a member beyond the file', archive([{ ...x, method: 0, byteLength: 9e6 }]), /mismatch/],
    ['a size that no compression reaches', archive([{ ...x, byteLength: 4e9 }]), /times its compressed size/],
    [
      'an array longer than its member',
      archive([{ ...x, bytes: member.subarray(0, -1) }]),
      /at least 144 bytes/,
    ],
    ['bytes that do not inflate', archive([{ ...x, compressed: Buffer.alloc(99, 0xff) }]), /deflated bytes/],
    ['a local header elsewhere', archive([{ ...x, localOffset: 3 }]), /local file header/],
  ])('refuses %s', async (_, bytes, message) => {
    const loading = loadNpz(folder.put('bad.npz', bytes));
    await expect(loading).rejects.toThrow(FileError);
    await expect(loading).rejects.toThrow(message);
  });

  it.each<[string, Partial<TestMember>, RegExp]>([
    ['a wrong checksum', { checksum: 1 }, /checksum/],
    ['fewer bytes than it says', { compressed: deflateRawSync(member.subarray(0, -4)) }, /more bytes/],
  ])('finds %s when the member is read', async (_, change, message) => {
    const { x: array } = await loadNpz(folder.put('bad.npz', archive([{ ...x, ...change }])));
    const computing = array!.compute({ device });
    await expect(computing).rejects.toThrow(FileError);
    await expect(computing).rejects.toThrow(message);
  });
});

describe('safetensors', () => {
  const fixture = fileFixtures.safetensors[0]!;

  it('reads what the reference wrote', async () => {
    const file = folder.put('x.safetensors', decode(fixture.file));
    await holds(await loadSafetensors(file), fixture);
    expect({ ...(await loadSafetensorsMetadata(file)) }).toEqual(fixture.metadata);
    expect(Object.keys(await loadSafetensors(file, { names: ['a scalar'] }))).toEqual(['a scalar']);
    await expect(loadSafetensors(file, { names: ['no'] })).rejects.toThrow(FileError);
  });

  it('writes byte for byte what the reference writes', async () => {
    const arrays = await loadSafetensors(folder.put('x.safetensors', decode(fixture.file)));
    const names = Object.keys(arrays).reverse();
    const shuffled = Object.fromEntries(names.map((name) => [name, arrays[name]!]));
    const file = path('written.safetensors');
    await holds(await saveSafetensors(file, shuffled, { metadata: fixture.metadata!, device }), fixture);
    expect(readFileSync(file).toString('latin1')).toBe(decode(fixture.file).toString('latin1'));
  });

  it('holds bfloat16', async () => {
    const { x: saved } = await saveSafetensors(
      path('halves.safetensors'),
      { x: lazy([1.5, -2]).astype('bfloat16') },
      { device },
    );
    expect([saved!.dtype, (await saved!.compute({ device })).toArray()]).toEqual(['bfloat16', [1.5, -2]]);
    expect({ ...(await loadSafetensorsMetadata(path('halves.safetensors'))) }).toEqual({});
  });

  it('refuses what the format cannot hold', async () => {
    const file = path('refused.safetensors');
    await expect(saveSafetensors(file, { x: lazy([{ re: 1, im: 0 }]) })).rejects.toThrow(DTypeError);
    await expect(saveSafetensors(file, { __metadata__: [1] })).rejects.toThrow(ArgumentError);
    await expect(saveSafetensors(file, { x: [1] }, { metadata: { a: 1 } as never })).rejects.toThrow(
      ArgumentError,
    );
    await expect(saveSafetensors(file, [[1]] as never)).rejects.toThrow(ArgumentError);
  });

  const f4 = { dtype: 'F32', shape: [2], data_offsets: [0, 8] };
  const of = (json: unknown, data = 8): Buffer => {
    const text = Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(text.length));
    return Buffer.concat([length, text, Buffer.alloc(data)]);
  };

  it.each<[string, Buffer, RegExp]>([
    ['a short file', Buffer.alloc(4), /a safetensors file: 4 bytes/],
    [
      'a header beyond the file',
      Buffer.concat([Buffer.from([99, 0, 0, 0, 0, 0, 0, 0])]),
      /header of 99 bytes/,
    ],
    ['an absurd header', Buffer.alloc(32, 0xff), /at most 100000000 bytes/],
    ['no JSON', of('{'), /header of JSON/],
    ['text that is no UTF-8', of(`{"\u00e9":1}`).fill(0xff, 10, 11), /header of JSON/],
    ['a list', of('[]'), /an object/],
    ['white space before the header', of(' {}', 0), /an object/],
    [
      'an entry without a dtype',
      of({ x: { shape: [2], data_offsets: [0, 8] } }),
      /dtype, shape and data_offsets of x/,
    ],
    ['an entry that is no object', of({ x: 3 }), /data_offsets of x/],
    ['F8', of({ x: { ...f4, dtype: 'F8_E4M3' } }), /a dtype of BOOL.*F8_E4M3/],
    ['a dtype of Object', of({ x: { ...f4, dtype: 'constructor' } }), /a dtype of/],
    [
      'a repeated name',
      of(`{"x":${JSON.stringify(f4)},"\\u0078":${JSON.stringify(f4)}}`),
      /every key once: "x"/,
    ],
    [
      'a repeated key',
      of('{"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}'),
      /every key once/,
    ],
    ['overlapping ranges', of({ x: f4, y: { ...f4, data_offsets: [4, 12] } }, 12), /y to begin at byte 8/],
    ['a hole', of({ x: { ...f4, data_offsets: [4, 12] } }, 12), /x to begin at byte 0/],
    ['bytes that nothing uses', of({ x: f4 }, 9), /8 bytes of data: 9/],
    ['a range beyond the file', of({ x: f4 }, 7), /8 bytes of data: 7/],
    ['a range turned round', of({ x: { ...f4, data_offsets: [8, 0] } }), /\[begin, end\]/],
    ['a range of fractions', of({ x: { ...f4, data_offsets: [0, 8.5] } }), /\[begin, end\]/],
    ['a range of another length', of({ x: { ...f4, shape: [3] } }), /12 bytes for float32 \(3,\): 8/],
    ['a negative size', of({ x: { ...f4, shape: [-2] } }), /not negative/],
    ['a size that is text', of({ x: { ...f4, shape: ['2'] } }), /not negative/],
    ['a shape that is none', of({ x: { ...f4, shape: 2 } }), /a shape/],
    ['a product beyond counting', of({ x: { ...f4, shape: [2 ** 40, 2 ** 40] } }), /2\^53/],
    ['metadata that is no text', of({ __metadata__: { a: 1 }, x: f4 }), /__metadata__ of texts/],
    ['metadata that is a list', of({ __metadata__: [], x: f4 }), /__metadata__ as an object/],
  ])('refuses %s', async (_, bytes, message) => {
    const loading = loadSafetensors(folder.put('bad.safetensors', bytes));
    await expect(loading).rejects.toThrow(FileError);
    await expect(loading).rejects.toThrow(message);
  });

  it('loads the other arrays of a file with a dtype it does not know', async () => {
    const f8 = { dtype: 'F8_E5M2', shape: [4], data_offsets: [8, 12] };
    const file = folder.put('mixed.safetensors', of({ x: f4, y: f8 }, 12));
    await expect(loadSafetensors(file)).rejects.toThrow(FileError);
    expect(Object.keys(await loadSafetensors(file, { names: ['x'] }))).toEqual(['x']);
  });
});

describe('checksums', () => {
  /** The checksums that an archive gives for its members, and those of their bytes. */
  function checksums(bytes: Buffer): [number, number][] {
    const found: [number, number][] = [];
    const end = bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1');
    for (let at = bytes.readUInt32LE(end + 16); at < end; ) {
      const local = bytes.readUInt32LE(at + 42);
      const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
      const member = bytes.subarray(start, start + bytes.readUInt32LE(at + 24));
      expect(bytes.readUInt32LE(local + 14)).toBe(bytes.readUInt32LE(at + 16));
      found.push([bytes.readUInt32LE(at + 16), crc32(member)]);
      at += 46 + bytes.readUInt16LE(at + 28) + bytes.readUInt16LE(at + 30);
    }
    return found;
  }

  it('are right for arrays of all sizes, byte orders and for one array under two names', async () => {
    const large = arange(1_300_007).mul(0.7);
    const same = large.astype('float32');
    const arrays = {
      large,
      same,
      again: same,
      small: lazy([1]),
      none: zeros([0, 2]),
      odd: arange(13, { dtype: 'int8' }),
    };
    for (const byteOrder of ['little', 'big'] as const) {
      await saveNpz(path('sums.npz'), arrays, { byteOrder, device });
      const found = checksums(readFileSync(path('sums.npz')));
      expect(found).toHaveLength(6);
      for (const [said, actual] of found) expect(said).toBe(actual);
    }
  });
});
