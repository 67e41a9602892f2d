/**
 * Objects of other libraries by their form: mistakes, and forms that the libraries themselves seldom make. What the
 * libraries do is tested with them, in `exchange/`.
 */
import { describe, expect, it } from 'vitest';
import { lazy } from '../src/api/creation.js';
import { fromDuckDB, toDuckDB } from '../src/exchange/duckdb.js';
import { fromImage, toImage } from '../src/exchange/images.js';
import { fromTensor, toTensor } from '../src/exchange/tensors.js';
import { ArgumentError, DTypeError, ShapeError } from '../src/host/errors.js';

const device = 'cpu';

describe('images', () => {
  const info = { width: 2, height: 2, channels: 1 };

  it('of a depth are read in place where they are aligned, else from a copy', async () => {
    const bytes = new Uint8Array(new Float32Array([0, 1, 2, 3, 4]).buffer);
    const x = fromImage({ data: bytes.subarray(4), info: { ...info, depth: 'float' } });
    expect((await x.compute({ device })).toArray()).toEqual([
      [[1], [2]],
      [[3], [4]],
    ]);
    const odd = new Uint8Array(21);
    odd.set(bytes, 1);
    const y = fromImage({ data: odd.subarray(5), info: { ...info, depth: 'float' } });
    expect((await y.compute({ device })).toArray()).toEqual([
      [[1], [2]],
      [[3], [4]],
    ]);
  });

  it("may be a canvas's", () => {
    const image = { width: 3, height: 2, data: new Uint8ClampedArray(24) };
    expect(fromImage(image)).toMatchObject({ dtype: 'uint8', shape: [2, 3, 4] });
  });

  it('of a wrong size, depth or shape are refused', async () => {
    const data = new Uint8Array(5);
    expect(() => fromImage({ data, info })).toThrow('4 values for 2 rows of 2 pixels of 1 channels: 5');
    expect(() => fromImage({ data, info: { ...info, depth: 'complex' } })).toThrow(DTypeError);
    expect(() => fromImage({ data, info: { ...info, depth: 'ushort' } })).toThrow('whole values of uint16');
    expect(() => fromImage({ data } as never)).toThrow(ArgumentError);
    expect(() => fromImage(null as never)).toThrow('an image of sharp');
    await expect(toImage(lazy([1, 2]))).rejects.toThrow(ShapeError);
    await expect(toImage(lazy(new Uint8Array(0), { shape: [0, 3] }))).rejects.toThrow(ShapeError);
    await expect(toImage(lazy([[true]]))).rejects.toThrow('a dtype that sharp has');
  });
});

describe('tensors', () => {
  it('of other kinds are refused', async () => {
    const tensor = (type: string, data: unknown) => ({ type, dims: [2], getData: async () => data });
    await expect(fromTensor(tensor('int4', new Uint8Array(1)))).rejects.toThrow(DTypeError);
    await expect(fromTensor(tensor('toString', new Uint8Array(1)))).rejects.toThrow(DTypeError);
    await expect(fromTensor(tensor('int8', [1, 2]))).rejects.toThrow('elements in a typed array');
    await expect(fromTensor(tensor('int8', new Int8Array(3)))).rejects.toThrow(ShapeError);
    await expect(fromTensor([1] as never)).rejects.toThrow('a tensor of onnxruntime or TensorFlow.js');
    await expect(toTensor(lazy([1]), {} as never)).rejects.toThrow('onnxruntime or TensorFlow.js: {}');
  });
});

describe('results of DuckDB', () => {
  it('whose chunks are not of 64 rows keep their masks', async () => {
    const chunk = (rowCount: number, bits: bigint | null, first: number) => ({
      rowCount,
      getColumnVector: () => ({
        items: Float64Array.from({ length: rowCount }, (_, k) => first + k),
        validity: { data: bits === null ? null : BigUint64Array.of(bits), offset: 0 },
      }),
    });
    const result = {
      columnNames: () => ['x'],
      columnTypes: () => ['DOUBLE'],
      fetchAllChunks: async () => [
        chunk(3, 0b101n, 0),
        chunk(0, null, 0),
        chunk(5, null, 3),
        chunk(2, 0b10n, 8),
      ],
    };
    const { x } = await fromDuckDB(result, { nulls: 'mask' });
    const valid = (await x!.valid.compute({ device })).toArray();
    expect(valid).toEqual([true, false, true, true, true, true, true, true, false, true]);
    await expect(fromDuckDB(result)).rejects.toThrow('no missing values in x: 2');
    const filled = await fromDuckDB(result, { nulls: -1 });
    expect((await filled.x!.compute({ device })).toArray()).toEqual([0, -1, 2, 3, 4, 5, 6, 7, -1, 9]);
  });

  it('are refused in other forms', async () => {
    await expect(fromDuckDB([] as never)).rejects.toThrow('a result of DuckDB');
    const duckdb = { DuckDBDataChunk: { create: () => ({ rowCount: 0, getColumnVector: () => ({}) }) } };
    await expect(toDuckDB({ x: [1, 2], y: [1] }, duckdb)).rejects.toThrow(
      'one axis and one length: (2,) and (1,)',
    );
    await expect(toDuckDB({ x: [[1]] }, duckdb)).rejects.toThrow(ShapeError);
    await expect(toDuckDB({ x: [{ re: 1, im: 0 }] }, duckdb)).rejects.toThrow('a dtype that DuckDB has');
    await expect(toDuckDB([1] as never, duckdb)).rejects.toThrow('an object of columns');
    await expect(toDuckDB({ x: [1] }, {} as never)).rejects.toThrow('the module @duckdb/node-api');
  });
});
