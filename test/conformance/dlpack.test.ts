/** Tensors of DLPack: those of Weft as their readers find them in memory, and those of others in any layout. */
import { describe, expect, it, vi } from 'vitest';
import { lazy } from '../../src/api/creation.js';
import { devicePointer, fromDevicePointer } from '../../src/api/device-pointers.js';
import { memory } from '../../src/api/memory.js';
import { fromDLPack, takeDLPack, toDLPack } from '../../src/exchange/dlpack.js';
import { synchronize } from '../../src/exec/run/synchronize.js';
import type { DType } from '../../src/graph/dtype.js';
import { DTYPES } from '../../src/shared/layout.js';
import { backends } from '../support/backends.js';

const devices = backends().filter((name) => name === 'cpu' || name.startsWith('cuda'));
const cpu = { device: 'cpu' } as const;

/** 64-bit words of host memory. */
const wordsAt = async (address: bigint, count: number): Promise<bigint[]> => {
  const words = fromDevicePointer({ ...cpu, address, dtype: 'uint64', shape: [count] });
  return [...(await words.add(0n).compute(cpu)).data];
};

/** A `DLManagedTensorVersioned` without a deleter, at an address that holds as long as the test's arrays. */
const held: unknown[] = [];
async function tensorOf(parts: {
  readonly data: bigint;
  readonly shape: readonly number[];
  readonly strides?: readonly number[];
  readonly byteOffset?: bigint;
  readonly major?: bigint;
  readonly dtype?: readonly [code: bigint, bits: bigint, lanes: bigint];
  readonly device?: readonly [type: bigint, id: bigint];
}): Promise<bigint> {
  const hold = async (words: bigint[]): Promise<bigint> => {
    const array = await lazy(BigInt64Array.from(words)).add(0n).persist(cpu);
    held.push(array);
    return (await devicePointer(array)).address;
  };
  const { shape, strides, major = 1n, byteOffset = 0n } = parts;
  const [code, bits, lanes] = parts.dtype ?? [2n, 64n, 1n];
  const [type, id] = parts.device ?? [1n, 0n];
  const lists = [...shape, ...(strides ?? [])].map(BigInt);
  const list = await hold(lists.length === 0 ? [0n] : lists);
  const stridesAt = strides === undefined ? 0n : list + BigInt(8 * shape.length);
  return hold([
    major,
    ...[0n, 0n, 1n], // context, deleter, flags: read-only
    parts.data,
    type | (id << 32n),
    BigInt(shape.length) | (code << 32n) | (bits << 40n) | (lanes << 48n),
    list,
    stridesAt,
    byteOffset,
  ]);
}

describe.each(devices)('tensors on %s', (device) => {
  it('are the memory of persisted arrays, which they keep', async () => {
    const before = memory().find((use) => use.device.startsWith(device))?.inUse ?? 0;
    const x = await lazy([[1, 2, 3]])
      .mul(10)
      .persist({ device });
    const { address, stream } = await devicePointer(x);
    const capsule = await toDLPack(x, device === 'cpu' ? {} : { stream });
    x.dispose();
    const y = await fromDLPack(capsule);
    expect([y.dtype, y.shape, (await devicePointer(y)).address]).toEqual(['float64', [1, 3], address]);
    expect((await y.add(1).compute({ device })).toArray()).toEqual([[11, 21, 31]]);
    y.dispose();
    await synchronize(device);
    await vi.waitFor(() => expect(memory().find((use) => use.device.startsWith(device))!.inUse).toBe(before));
  });

  it.each<[string, number[], number[], number]>([
    ['in C order', [3, 4], [4, 1], 0],
    ['transposed', [4, 3], [1, 4], 0],
    ['a part of rows and columns', [2, 2], [4, 1], 5],
    ['every second column, from the last row on', [3, 2], [-4, 2], 8],
    ['a column', [3], [4], 1],
    ['repeated', [2, 3], [0, 1], 4],
    ['windows that overlap', [5, 3], [1, 1], 2],
    ['a diagonal', [3], [5], 0],
    ['one element', [1, 1], [7, -3], 11],
    ['no axes', [], [], 3],
  ])('are read with any strides: %s', async (_, shape, strides, first) => {
    const values = Float64Array.from({ length: 12 }, (__, k) => k * 10);
    using all = await lazy(values).add(0).persist({ device });
    const place = await devicePointer(all);
    const tensor = await tensorOf({
      data: place.address,
      shape,
      strides,
      byteOffset: BigInt(8 * first),
      device: device === 'cpu' ? [1n, 0n] : [2n, BigInt(place.device.split(':')[1]!)],
    });
    const y = await fromDLPack(tensor);
    const wanted = lazy({ data: values, shape, strides, offset: first });
    expect((await y.add(1).compute({ device })).toArray()).toEqual(
      (await wanted.add(1).compute(cpu)).toArray(),
    );
  });
});

describe('a tensor of DLPack', () => {
  it('is laid out as DLPack 1.0 says, for every dtype', async () => {
    const codes = new Map<DType, bigint>();
    for (const dtype of DTYPES) {
      const x = await lazy([[1, 0, 1]])
        .astype(dtype)
        .persist(cpu);
      const tensor = takeDLPack(await toDLPack(x));
      const words = await wordsAt(tensor, 10);
      expect(words[0]).toBe(1n); // version 1.0
      expect(words[2]).toBeGreaterThan(0n); // a deleter
      expect(words.slice(3, 6)).toEqual([1n, (await devicePointer(x)).address, 1n]); // read-only; kDLCPU
      expect(words[6]! & 0xffffffffn).toBe(2n); // axes
      expect(await wordsAt(words[7]!, 2)).toEqual([1n, 3n]);
      expect(await wordsAt(words[8]!, 2)).toEqual([3n, 1n]);
      expect(words[9]).toBe(0n);
      codes.set(dtype, words[6]! >> 32n);
      const y = await fromDLPack(tensor);
      expect(y.dtype).toBe(dtype);
      expect((await y.compute(cpu)).data).toEqual((await x.compute(cpu)).data);
    }
    const one = 1n << 16n; // lanes
    expect(codes.get('bool')).toBe(one | (8n << 8n) | 6n);
    expect(codes.get('int64')).toBe(one | (64n << 8n));
    expect(codes.get('uint8')).toBe(one | (8n << 8n) | 1n);
    expect(codes.get('float16')).toBe(one | (16n << 8n) | 2n);
    expect(codes.get('bfloat16')).toBe(one | (16n << 8n) | 4n);
    expect(codes.get('complex64')).toBe(one | (64n << 8n) | 5n);
  });

  it('of a typed array or a result shares its memory, for writing too', async () => {
    const data = new Float32Array([1, 2, 3]);
    const tensor = takeDLPack(await toDLPack(data));
    expect((await wordsAt(tensor, 4))[3]).toBe(0n);
    const y = await fromDLPack(tensor);
    data[1] = 20;
    expect((await y.add(1).compute(cpu)).toArray()).toEqual([2, 21, 4]);
    const result = await lazy([[1n, 2n]]).compute(cpu);
    const z = await fromDLPack(await toDLPack(result));
    expect([z.dtype, z.shape]).toEqual(['int64', [1, 2]]);
    result.data[0] = 9n;
    expect((await z.sum().compute(cpu)).item()).toBe(11);
  });

  it('without elements is an array of zeros of its shape', async () => {
    const x = await fromDLPack(await toDLPack(await lazy(new Int8Array(0), { shape: [0, 3] }).compute(cpu)));
    expect([x.dtype, x.shape]).toEqual(['int8', [0, 3]]);
    const resident = await lazy(new Int8Array(0)).persist(cpu);
    expect((await fromDLPack(await toDLPack(resident))).shape).toEqual([0]);
  });

  it('is taken once', async () => {
    const capsule = await toDLPack(new Int32Array([1, 2]));
    expect((await fromDLPack(capsule)).shape).toEqual([2]);
    const taken = 'a capsule of DLPack whose tensor was not taken';
    await expect(fromDLPack(capsule)).rejects.toThrow(taken);
    expect(() => takeDLPack(capsule)).toThrow(taken);
    await expect(fromDLPack({} as never)).rejects.toThrow(taken);
    for (const wrong of [0n, 8n, -8n, 4097n, 1n << 64n])
      await expect(fromDLPack(wrong)).rejects.toThrow('the address of a tensor');
    expect(() => takeDLPack(5n as never)).toThrow(taken);
  });

  it('is refused by name where Weft has no such array', async () => {
    using x = await lazy([1, 2, 3]).persist(cpu);
    const good = { data: (await devicePointer(x)).address, shape: [2] };
    const wrong = async (parts: object): Promise<unknown> =>
      fromDLPack(await tensorOf({ ...good, ...parts }));
    await expect(wrong({ major: 2n })).rejects.toThrow('a tensor of DLPack 1: of version 2');
    await expect(wrong({ dtype: [10n, 8n, 1n] })).rejects.toThrow("DLPack's type code 10 of 8 bits");
    await expect(wrong({ dtype: [2n, 32n, 4n] })).rejects.toThrow('4 lanes');
    await expect(wrong({ device: [8n, 0n] })).rejects.toThrow("DLPack's device type 8");
    await expect(wrong({ byteOffset: 4n })).rejects.toThrow('float64 at multiples of 8 bytes');
    expect((await fromDLPack(await tensorOf(good))).shape).toEqual([2]);
  });

  it('is of an array that has its elements', async () => {
    await expect(toDLPack(lazy([1]).add(1))).rejects.toThrow('an array that has its elements');
    await expect(toDLPack([1] as never)).rejects.toThrow('an array, a result or a typed array');
    await expect(toDLPack(new Float32Array(1), { stream: 1 })).rejects.toThrow(
      'no stream for an array of the CPU',
    );
    await expect(toDLPack(new Float32Array(1), { stream: 2 })).rejects.toThrow("a stream's address");
    await expect(fromDLPack(1n, { stream: 0.5 })).rejects.toThrow("a stream's address");
  });
});
