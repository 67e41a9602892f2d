/**
 * .npy files: what NumPy wrote is read, what is written is what NumPy writes, and everything else is refused.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  compute,
  DTypeError,
  FileError,
  fromFile,
  lazy,
  loadNpy,
  npy,
  saveNpy,
  saveRaw,
  zeros,
} from '../../src/index.js';
import { decode, elementsOf, fileFixtures, stored, temporaryFolder } from '../support/files.js';

const folder = temporaryFolder();
const device = 'cpu';

/** A .npy file of any header. */
function withHeader(header: string, { version = 1, data = Buffer.alloc(64) } = {}): Buffer {
  const text = Buffer.from(header, 'latin1');
  const prefix = Buffer.alloc(version === 1 ? 10 : 12);
  prefix.write('\x93NUMPY', 'latin1');
  prefix[6] = version;
  if (version === 1) prefix.writeUInt16LE(text.length, 8);
  else prefix.writeUInt32LE(text.length, 8);
  return Buffer.concat([prefix, text, data]);
}
const header = (shape: string, descr = "'<f4'", fortran = 'False'): Buffer =>
  withHeader(`{'descr': ${descr}, 'fortran_order': ${fortran}, 'shape': ${shape}, }\n`);

describe('reading', () => {
  it.each(fileFixtures.npy)('reads $name as NumPy does', async (fixture) => {
    const x = await loadNpy(folder.put('x.npy', decode(fixture.file)));
    expect([x.dtype, x.shape]).toEqual([fixture.dtype, fixture.shape]);
    expect(await stored(x)).toEqual(elementsOf(fixture));
  });

  it('takes file URLs', async () => {
    const [fixture] = fileFixtures.npy;
    const url = pathToFileURL(folder.put('a name.npy', decode(fixture!.file)));
    expect(await stored(await loadNpy(url))).toEqual(elementsOf(fixture!));
  });

  it('reads only the part of a file that is needed', async () => {
    const path = folder.put('huge.npy', header('(1000000, 1000000)'));
    await expect(loadNpy(path)).rejects.toThrow(/at least 4000000000\d{3} bytes/);
    const large = await saveNpy(join(folder.path, 'large.npy'), arange(100_000).reshape([1000, 100]));
    expect((await large.slice([500, 502], 7).compute({ device })).toArray()).toEqual([50_007, 50_107]);
  });

  it('reads bytes that are neither 0 nor 1 as true', async () => {
    const path = folder.put(
      'bools.npy',
      withHeader("{'descr':'|b1','fortran_order':False,'shape':(3,)}", { data: Buffer.from([0, 1, 2]) }),
    );
    const x = await loadNpy(path);
    expect((await x.compute({ device })).toArray()).toEqual([false, true, true]);
    expect((await x.sum().compute({ device })).item()).toBe(2);
  });

  it.each([
    ['Python 2 integers', "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }"],
    ['double quotes and no padding', '{"shape":(2,3),"fortran_order":False,"descr":"<f4"}'],
    ['sizes in parentheses', "{'descr': ('<f4'), 'fortran_order': (False), 'shape': (2, (3)), }"],
  ])('reads headers with %s', async (_, text) => {
    expect((await loadNpy(folder.put('other.npy', withHeader(text)))).shape).toEqual([2, 3]);
  });
});

describe('refusals', () => {
  it.each(fileFixtures.refused)('refuses $name, and says why', async ({ name, file }) => {
    const path = folder.put('refused.npy', decode(file));
    const error = await loadNpy(path).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FileError);
    expect(error).toMatchObject({ path });
    expect(String(error)).toContain(path);
    expect(String(error)).toMatch(name === 'objects' ? /pickle/ : /dtype of numbers.*(save|fields)/);
  });

  it.each<[string, Buffer, RegExp]>([
    ['an empty file', Buffer.alloc(0), /a \.npy file: other/],
    ['a wrong magic', Buffer.from('\x93NUMPX\x01\0\x10\0'.padEnd(64), 'latin1'), /a \.npy file: other/],
    ['half a prefix', Buffer.from('\x93NUMPY\x01\0', 'latin1'), /a \.npy file: other/],
    ['version 4', withHeader('', { version: 4 }), /version 1, 2 or 3: 4\.0/],
    [
      'a header beyond the file',
      withHeader('x', { version: 2 }).fill(0xf0, 8, 10),
      /header of \d+ bytes: the end/,
    ],
    [
      'a header beyond all reason',
      withHeader('x', { version: 2 }).fill(0xff, 8, 12),
      /at most 65536 bytes: 4294967295/,
    ],
    [
      'an expression',
      header('(2, 3)', "__import__('os').system('true')"),
      /Python literal: not a number, text, .* at \d+: "__import__\('"/,
    ],
    [
      'an unfinished header',
      withHeader("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3"),
      /Python literal/,
    ],
    ['something after the header', withHeader('{} {}'), /Python literal/],
    ['deep nesting', header('('.repeat(5000)), /at most 16 levels/],
    ['a list as a header', withHeader('[1]'), /a header that is a dict/],
    ['a repeated key', withHeader("{'shape': (1,), 'shape': (2,)}"), /the key 'shape' once/],
    [
      'a missing key',
      withHeader("{'descr': '<f4', 'shape': (2,)}"),
      /the keys descr, fortran_order and shape/,
    ],
    [
      'an additional key',
      withHeader("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}"),
      /the keys/,
    ],
    ['an order that is no truth value', header('(2, 3)', "'<f4'", '1'), /fortran_order as True or False/],
    ['a negative size', header('(-1, 3)'), /not negative/],
    ['a size that is no integer', header('(2.5,)'), /Python literal/],
    ['a truth value as a size', header('(True,)'), /tuple of integers/],
    ['a list as a shape', header('[2, 3]'), /tuple of integers/],
    ['a size beyond counting', header('(99999999999999999999,)'), /below 2\^53/],
    ['an integer of many digits', header(`(${'9'.repeat(4000)},)`), /Python literal/],
    ['a product beyond counting', header('(4294967296, 4294967296)'), /at most 2\^53 - 1 bytes/],
    [
      'a product beyond counting beside 0',
      header('(0, 9007199254740991, 9007199254740991)'),
      /at most 2\^53/,
    ],
    ['too many axes', header(`(${'1,'.repeat(65)})`), /at most 64 axes/],
    ['an unknown dtype', header('(2,)', "'<q7'"), /a dtype of numbers/],
    ['a name of Object as dtype', header('(2,)', "'<constructor'"), /a dtype of numbers/],
    ['a file that ends too soon', header('(17,)'), /at least \d+ bytes for float32 \(17,\)/],
  ])('refuses %s', async (_, bytes, message) => {
    const loading = loadNpy(folder.put('bad.npy', bytes));
    await expect(loading).rejects.toThrow(FileError);
    await expect(loading).rejects.toThrow(message);
  });

  it('refuses arguments that are no paths', async () => {
    for (const path of [3, '', 'a\0b', new URL('http://localhost/x.npy'), undefined]) {
      await expect(loadNpy(path as string)).rejects.toThrow(ArgumentError);
    }
  });
});

describe('writing', () => {
  it.each(fileFixtures.npy.filter(({ version }) => version === 1))(
    'writes $name byte for byte as NumPy does',
    async ({ name, file, order, byteOrder }) => {
      const x = await loadNpy(folder.put('source.npy', decode(file)));
      const path = join(folder.path, 'written.npy');
      const again = await saveNpy(path, x, { order, byteOrder, device });
      expect(readFileSync(path).toString('base64'), name).toBe(file);
      expect(await stored(again)).toEqual(await stored(x));
    },
  );

  it('gives the array of the file, to go on with', async () => {
    const path = join(folder.path, 'result.npy');
    const x = await arange(6)
      .reshape([2, 3])
      .mul(2)
      .compute({ to: npy(path), device });
    expect([x.shape, x.dtype]).toEqual([[2, 3], 'float64']);
    expect((await x.sum(1).compute({ device })).toArray()).toEqual([6, 24]);
    const [a, b] = await compute([x.add(1), x.sum()], {
      to: [npy(join(folder.path, 'a.npy')), npy(join(folder.path, 'b.npy'))],
      device,
    });
    expect([(await a.compute({ device })).toArray(), (await b.compute({ device })).item()]).toEqual([
      [
        [1, 3, 5],
        [7, 9, 11],
      ],
      30,
    ]);
  });

  it('writes over the file that it reads', async () => {
    const path = join(folder.path, 'itself.npy');
    const x = await saveNpy(path, arange(5), { device });
    const y = await saveNpy(path, x.mul(3), { device });
    expect((await y.compute({ device })).toArray()).toEqual([0, 3, 6, 9, 12]);
    await expect(x.compute({ device })).rejects.toThrow(/changed or replaced/);
  });

  it('writes raw elements, and reads them', async () => {
    const path = join(folder.path, 'x.raw');
    const x = lazy(new Int16Array([1, 2, 3, 4, 5, 258]), { shape: [2, 3] });
    await saveRaw(path, x, { order: 'F', byteOrder: 'big', device });
    expect([...readFileSync(path)]).toEqual([0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 1, 2]);
    const again = await fromFile(path, { dtype: 'int16', shape: [2, 3], order: 'F', byteOrder: 'big' });
    expect(await stored(again)).toEqual(await stored(x));
    const tail = await fromFile(path, { dtype: 'uint8', offset: 9 });
    expect((await tail.compute({ device })).toArray()).toEqual([3, 1, 2]);
  });

  it('writes arrays without elements', async () => {
    const x = await saveNpy(join(folder.path, 'empty.npy'), zeros([0, 3], 'int8'), { device });
    expect((await x.compute({ device })).shape).toEqual([0, 3]);
    expect(await stored(await loadNpy(join(folder.path, 'empty.npy')))).toEqual(await stored(x));
  });

  it('refuses what the format cannot hold, before computing', async () => {
    const to = npy(join(folder.path, 'refused.npy'));
    await expect(zeros([2], 'bfloat16').compute({ to })).rejects.toThrow(DTypeError);
    await expect(compute([zeros([2]), zeros([2])], { to })).rejects.toThrow(/one array: 2/);
    await expect(compute([zeros([2])], { to: [] })).rejects.toThrow(/a file for each of 1 arrays: 0/);
    await expect(compute([zeros([2]), zeros([2])], { to: [to, to] })).rejects.toThrow(/each file once/);
    await expect(zeros([2]).compute({ to: 'x.npy' as never })).rejects.toThrow(ArgumentError);
    await expect(zeros([2]).persist({ to } as object)).rejects.toThrow(ArgumentError);
  });
});

describe('raw files', () => {
  it.each<[string, object, RegExp]>([
    ['without a dtype', {}, /a dtype/],
    ['part of an element', { dtype: 'float32' }, /whole elements of float32/],
    ['an offset beyond the file', { dtype: 'int8', offset: 20 }, /whole elements/],
    ['a shape beyond the file', { dtype: 'int8', shape: [4, 4] }, /at least 16 bytes for int8 \(4, 4\)/],
    ['a negative offset', { dtype: 'int8', offset: -1 }, /offset of 0 or more/],
    ['an unknown order', { dtype: 'int8', order: 'A' }, /an order: 'C' or 'F'/],
    ['an unknown byte order', { dtype: 'int8', byteOrder: 'middle' }, /a byte order/],
    ['an unknown option', { dtype: 'int8', size: 3 }, /option size/],
  ])('refuses %s', async (_, options, error) => {
    const path = folder.put('ten.raw', Buffer.alloc(10));
    await expect(fromFile(path, options as { dtype: 'int8' })).rejects.toThrow(error);
  });
});
