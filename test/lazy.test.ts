/**
 * Lazy: what a handle is, methods and functions from the tables, bad input at the user's call, call sites,
 * depth.
 */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { OP_NAMES, opRow } from '../src/graph/ops.js';
import { REDUCTION_NAMES } from '../src/graph/reducing.js';
import { reductionRow } from '../src/graph/reductions.js';
import { formatSite, lineOf } from '../src/host/site.js';
import * as weft from '../src/index.js';
import { ArgumentError, DTypeError, Lazy, lazy, ones, ShapeError, zeros } from '../src/index.js';
import { valuesOf } from './support/values-of.js';

describe('a Lazy', () => {
  const x = lazy(new Float32Array(6), { shape: [2, 3] });

  it('knows shape and dtype', () => {
    expect([x.shape, x.dtype, x.ndim, x.size]).toEqual([[2, 3], 'float32', 2, 6]);
    expect([x.T.shape, zeros([2, 3, 4]).T.shape, zeros([2, 3, 4]).mT.shape]).toEqual([
      [3, 2],
      [4, 3, 2],
      [2, 4, 3],
    ]);
    expect([`${x}`, inspect(x)]).toEqual(['Lazy float32 (2, 3)', 'Lazy float32 (2, 3)']);
  });

  it('has a shape that cannot be written to, as its results have', async () => {
    expect(() => (x.shape as number[]).push(4)).toThrow(TypeError);
    const result = await x.compute({ device: 'cpu' });
    expect(() => (result.shape as number[]).reverse()).toThrow(TypeError);
    expect([x.shape, result.shape]).toEqual([
      [2, 3],
      [2, 3],
    ]);
  });

  it('is not taken for a promise', async () => {
    expect('then' in x).toBe(false);
    expect(await x).toBe(x);
  });

  it("refuses JavaScript's operators", () => {
    expect(() => (x as unknown as number) + 1).toThrow(ArgumentError);
    expect(() => (x as unknown as number) * 2).toThrow('x.add(y), not x + y');
    expect(() => (x as unknown as number) < 2).toThrow(TypeError);
  });

  it('holds nothing to free before it is persisted', () => {
    expect(x.device).toBeUndefined();
    x[Symbol.dispose]();
    expect(x.add(1).shape).toEqual([2, 3]);
  });
});

describe('the tables', () => {
  it('give every op, alias and reduction a method and a function', () => {
    const names = [...OP_NAMES.flatMap((op) => [op, ...(opRow(op).aliases ?? [])]), ...REDUCTION_NAMES];
    const api = weft as unknown as Record<string, unknown>;
    const methods = Lazy.prototype as unknown as Record<string, { name: string }>;
    expect(names.filter((name) => typeof api[name] !== 'function')).toEqual([]);
    expect(names.filter((name) => typeof methods[name] !== 'function')).toEqual([]);
    expect([methods.sub, methods.subtract!.name, methods.sum!.name]).toEqual([
      methods.subtract,
      'subtract',
      'sum',
    ]);
  });

  it('keep internal reductions out of methods, functions and the list of exports', () => {
    const exported = readFileSync(new URL('../docs/api.md', import.meta.url), 'utf8');
    expect(reductionRow('squaredDeviations').isInternal).toBe(true);
    expect(REDUCTION_NAMES).not.toContain('squaredDeviations');
    expect('squaredDeviations' in Lazy.prototype || 'squaredDeviations' in weft).toBe(false);
    expect(exported).not.toContain('squaredDeviations');
    expect(valuesOf(lazy([1, 3]).var())).toEqual([1]);
  });

  it('are written out with their documentation in src/api/functions.ts and src/api/methods.ts', async () => {
    const script: string = '../scripts/make-functions.mjs';
    const render = (await import(script)) as Record<'renderFunctions' | 'renderMethods', () => string>;
    const read = (name: string): string =>
      readFileSync(new URL(`../src/api/${name}.ts`, import.meta.url), 'utf8');
    const [functions, methods] = [read('functions'), read('methods')];
    expect(functions, 'run npm run build:ts').toBe(render.renderFunctions());
    expect(methods, 'run npm run build:ts').toBe(render.renderMethods());
    const free = Object.keys((await import('../src/api/lazy.js')).free).sort();
    const names = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name);
    expect([...names(functions, /^export const (\w+)/gm), 'var'].sort()).toEqual(free);
    expect(names(methods, /^ {2}readonly (\w+):/gm).sort()).toEqual(free);
  });

  it('make methods and functions that agree', () => {
    const x = lazy([1, 4, 9]);
    expect(valuesOf(x.sqrt())).toEqual([1, 2, 3]);
    expect(valuesOf(weft.sqrt([1, 4, 9]))).toEqual([1, 2, 3]);
    expect(valuesOf(weft.subtract(10, x))).toEqual([9, 6, 1]);
    expect(valuesOf(x.sub([1, 1, 1]))).toEqual([0, 3, 8]);
    expect(valuesOf(x.greater(3).where(x, -1))).toEqual([-1, 4, 9]);
    expect(valuesOf(weft.sum(x, 0))).toEqual([14]);
    expect(valuesOf(x.var({ correction: 1 }))).toEqual([49 / 3]);
    expect(valuesOf(weft.var([1, 3]))).toEqual([1]);
    expect(valuesOf(x.clip(2, null))).toEqual([2, 4, 9]);
    expect(valuesOf(lazy(new Uint8Array([1, 200])).clip(-5, 300))).toEqual([1, 200]);
    expect(valuesOf(weft.concat([x, [1]]))).toEqual([1, 4, 9, 1]);
    expect(
      valuesOf(
        weft.einsum(
          'ij,j->i',
          [
            [1, 2],
            [3, 4],
          ],
          [1, 10],
        ),
      ),
    ).toEqual([21, 43]);
  });
});

describe('slice', () => {
  const x = lazy(
    new Int32Array(24).map((_, k) => k),
    { shape: [2, 3, 4] },
  );
  it("reads NumPy's text", () => {
    expect(x.slice('1, ::-1').shape).toEqual([3, 4]);
    expect(valuesOf(x.slice('1, 0, ::2'))).toEqual([12, 14]);
    expect(x.slice('..., newaxis, 0').shape).toEqual([2, 3, 1]);
    expect(valuesOf(x.slice('-1,-1,-2:'))).toEqual([22, 23]);
    expect(x.slice('newaxis', '...', [0, 2]).shape).toEqual([1, 2, 3, 2]);
  });
  it('of everything is the array itself', () => {
    expect(x.slice().expr).toBe(x.expr);
    expect(x.slice(null, '...', [0, 100]).expr).toBe(x.expr);
  });
  it('clips bounds and steps of any size, infinities among them', () => {
    const line = x.slice(0, 0);
    expect(valuesOf(line.slice([1, Infinity]))).toEqual([1, 2, 3]);
    expect(valuesOf(line.slice([-Infinity, 2]))).toEqual([0, 1]);
    expect(valuesOf(line.slice([2 ** 60, null, -1]))).toEqual([3, 2, 1, 0]);
    expect(valuesOf(line.slice([null, null, 2 ** 60]))).toEqual([0]);
    expect(valuesOf(line.slice([null, null, -Infinity]))).toEqual([3]);
    expect(valuesOf(line.slice('-99999999999999999999:2'))).toEqual([0, 1]);
    expect(line.slice([Infinity]).shape).toEqual([0]);
    expect(valuesOf(line.roll(2 ** 60 + 2 ** 9))).toEqual([0, 1, 2, 3]);
    expect(
      valuesOf(
        line
          .roll(-(2 ** 60))
          .slice([0, 3])
          .roll(2 ** 60),
      ),
    ).toEqual([2, 0, 1]);
  });
  it.each<[string, () => unknown, unknown]>([
    ['an index out of range', () => x.slice(2), ShapeError],
    ['an index before the first', () => x.slice(0, -4), ShapeError],
    ['a step of 0', () => x.slice([0, 1, 0]), ShapeError],
    ['a fraction', () => x.slice(0.5), ShapeError],
    ['NaN as a bound', () => x.slice([NaN]), ShapeError],
    ['too many selectors', () => x.slice(0, 0, 0, 0), ShapeError],
    ['two ellipses', () => x.slice('...', 0, '...'), ArgumentError],
    ['words', () => x.slice('first'), ArgumentError],
    ['four bounds', () => x.slice([0, 1, 1, 1]), ArgumentError],
    ['objects', () => x.slice({} as unknown as number), ArgumentError],
  ])('refuses %s', (_, act, error) => {
    expect(act).toThrow(error as new () => Error);
    expect(act).toThrow(/^\[slice\] expected /);
  });
});

describe('views', () => {
  const x = lazy(new Int32Array([1, 2, 3, 4]), { shape: [2, 2] });
  it('pad with any value', () => {
    expect(valuesOf(x.pad(1))).toEqual([0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0]);
    expect(
      valuesOf(
        x.pad(
          [
            [0, 1],
            [1, 0],
          ],
          { value: -1 },
        ),
      ),
    ).toEqual([-1, 1, 2, -1, 3, 4, -1, -1, -1]);
    expect(valuesOf(lazy([1]).pad([0, 1], { value: -0 }))).toEqual([1, -0]);
    expect(x.pad(0).expr).toBe(x.expr);
  });
  it('join arrays of several dtypes, empty ones included', () => {
    const joined = weft.concat([new Int8Array([1]), [], new Int16Array([300]), new Int8Array([2]), [0.5]]);
    expect([joined.dtype, valuesOf(joined)]).toEqual(['float64', [1, 300, 2, 0.5]]);
    expect(weft.concat([zeros([2, 0]), zeros([3, 0])]).shape).toEqual([5, 0]);
    expect(valuesOf(weft.concat([x, [[5, 6]]], null))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(weft.stack([x, x, x], -1).shape).toEqual([2, 2, 3]);
  });
  it.each<[string, () => unknown]>([
    ['reshape to another size', () => x.reshape(3)],
    ['reshape with two sizes free', () => x.reshape(-1, -1)],
    ['reshape by a size that does not divide', () => x.reshape(3, -1)],
    ['reshape with a fraction', () => x.reshape(1.5, -1)],
    ['permute with an axis missing', () => x.permuteDims([0])],
    ['permute with an axis twice', () => x.permuteDims([0, 0])],
    ['broadcast to another shape', () => x.broadcastTo(3)],
    ['broadcast to fewer axes', () => x.broadcastTo(2)],
    ['squeeze an axis of another size', () => x.squeeze(0)],
    ['expand an axis twice', () => x.expandDims([0, 0])],
    ['flip an axis out of range', () => x.flip(2)],
    ['move one axis to two places', () => x.moveaxis(0, [0, 1])],
    ['repeat less than never', () => x.repeat(-1)],
    ['tile by a fraction', () => x.tile(0.5)],
    ['pad less than nothing', () => x.pad(-1)],
    ['roll by a fraction', () => x.roll(0.5)],
    ['tril of a line', () => lazy([1]).tril()],
    ['mT of a line', () => lazy([1]).mT],
    ['concat other sizes', () => weft.concat([x, ones([2, 3])])],
    ['concat other axes', () => weft.concat([x, [1]])],
    ['concat scalars', () => weft.concat([1, 2])],
    ['stack other shapes', () => weft.stack([[1], [1, 2]])],
  ])('refuse to %s', (_, act) => {
    expect(act).toThrow(ShapeError);
  });
  it('refuse lists that are none', () => {
    expect(() => weft.concat([])).toThrow(ArgumentError);
    expect(() => weft.concat(x as unknown as Lazy[])).toThrow(ArgumentError);
  });

  it('name what is wrong with a shape as it was given', () => {
    expect(() => ones([6]).reshape([-1, -1])).toThrow('at most one size of -1: (-1, -1)');
    expect(() => weft.zeros([undefined as never])).toThrow('a shape of numbers: [undefined]');
  });
});

describe('functions of several arrays', () => {
  it('take an array apart and put it together', () => {
    const x = lazy(new Int8Array([1, 2, 3, 4, 5, 6]), { shape: [2, 3] });
    const parts = weft.unstack(x, 1);
    expect(parts.map(valuesOf)).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ]);
    expect(valuesOf(weft.stack(parts, 1))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(weft.broadcastArrays([x, 1, [[1], [2]]]).map((each) => each.shape)).toEqual(Array(3).fill([2, 3]));
    expect(() => weft.unstack(x, 2)).toThrow(ShapeError);
  });

  it('say in which dtype they meet', () => {
    expect(weft.resultType('int8', 'uint8')).toBe('int16');
    expect(weft.resultType('int8', 2, 0.5)).toBe('float64');
    expect(weft.resultType([1.5], 'float32')).toBe('float64');
    expect(weft.resultType(1, true)).toBe('int64');
    expect(() => weft.resultType()).toThrow(ArgumentError);
    expect(() => weft.resultType('float' as 'float32')).toThrow(DTypeError);
  });

  it('difference neighbours', () => {
    expect(valuesOf(weft.diff([1, 4, 9, 16]))).toEqual([3, 5, 7]);
    expect(valuesOf(weft.diff([1, 4, 9, 16], { n: 2 }))).toEqual([2, 2]);
    expect(
      valuesOf(
        lazy([
          [1, 2],
          [4, 8],
        ]).diff({ axis: 0 }),
      ),
    ).toEqual([3, 6]);
    expect(valuesOf(lazy([true, false, false]).diff())).toEqual([true, false]);
    expect([lazy([1]).diff({ n: 3 }).shape, lazy([1]).diff({ n: 0 }).shape]).toEqual([[0], [1]]);
    expect(() => lazy([1]).diff({ n: -1 })).toThrow(ShapeError);
    expect(() => lazy(1).diff()).toThrow(ShapeError);
  });
});

describe('reductions', () => {
  const x = ones([2, 3, 4], 'float32');
  it('take the axis and options in two ways', () => {
    const shapes = [
      x.sum(),
      x.sum(0),
      x.sum(-1, { keepdims: true }),
      x.sum({ axis: [0, 2] }),
      x.sum([0, -1]),
      x.sum([]),
    ];
    expect(shapes.map((each) => each.shape)).toEqual([[], [3, 4], [2, 3, 1], [3], [3], [2, 3, 4]]);
    expect([x.argmax().shape, x.argmax(1, { keepdims: true }).shape]).toEqual([[], [2, 1, 4]]);
    expect([x.norm({ ord: 1, axis: 0 }).shape, x.norm('fro', [0, 1]).shape, x.norm().shape]).toEqual([
      [3, 4],
      [4],
      [],
    ]);
  });

  it('have the dtypes of NumPy', () => {
    const of = (dtype: weft.DType): unknown[] => {
      const values = ones([2], dtype);
      return [values.sum(), values.mean(), values.var(), values.countNonzero(), values.softmax()].map(
        (y) => y.dtype,
      );
    };
    expect(of('int8')).toEqual(['int64', 'float64', 'float64', 'int64', 'float16']);
    expect(of('uint8')).toEqual(['uint64', 'float64', 'float64', 'int64', 'float16']);
    expect(of('bool')).toEqual(['int64', 'float64', 'float64', 'int64', 'float16']);
    expect(of('float16')).toEqual(['float16', 'float16', 'float16', 'int64', 'float16']);
    expect(of('float32')).toEqual(['float32', 'float32', 'float32', 'int64', 'float32']);
    expect(ones([2], 'complex64').std().dtype).toBe('float32');
    expect([x.sum({ dtype: 'int8' }).dtype, x.mean({ dtype: 'float64' }).dtype]).toEqual(['int8', 'float64']);
  });

  it('of nothing give their identity, or NaN', () => {
    const empty = zeros([0, 2]);
    expect(valuesOf(empty.sum(0))).toEqual([0, 0]);
    expect(valuesOf(empty.prod())).toEqual([1]);
    expect([valuesOf(empty.any()), valuesOf(empty.all())]).toEqual([[false], [true]]);
    expect(valuesOf(empty.mean())).toEqual([NaN]);
    expect(valuesOf(lazy([1]).var({ correction: 2 }))).toEqual([NaN]);
    expect(valuesOf(empty.logsumexp())).toEqual([-Infinity]);
  });

  it('in halves do not overflow on the way', () => {
    const big = weft.full([4096], 100, 'float16');
    expect(valuesOf(big.mean())).toEqual([100]);
    expect(valuesOf(big.norm())).toEqual([6400]);
  });

  it.each<[string, () => unknown, unknown]>([
    ['an axis out of range', () => x.sum(3), ShapeError],
    ['an axis twice', () => x.sum([0, 0]), ShapeError],
    ['a fraction for an axis', () => x.sum(0.5), ShapeError],
    ['an axis of a scalar', () => ones([]).sum(0), ShapeError],
    ['the minimum of nothing', () => zeros([0]).min(), ShapeError],
    ['argmax over an empty axis', () => zeros([2, 0]).argmax(1), ShapeError],
    ['argmax over two axes', () => x.argmax([0, 1]), ArgumentError],
    ['the maximum of complex numbers', () => ones([2], 'complex64').max(), DTypeError],
    ['an integer mean', () => x.mean({ dtype: 'int32' }), DTypeError],
    ['a misspelt option', () => x.sum(0, { keepDims: true } as object), ArgumentError],
    ['an axis twice over', () => x.sum(0, { axis: 1 }), ArgumentError],
    ['a correction that is none', () => x.var({ correction: NaN }), RangeError],
    ['softmax of complex numbers', () => ones([2], 'complex64').softmax(), DTypeError],
    ['a norm of no order', () => x.norm('nuc' as 'fro'), ArgumentError],
  ])('refuse %s', (_, act, error) => {
    expect(act).toThrow(error as new () => Error);
  });
});

describe('call sites', () => {
  it("are the user's line, in composites too, and cost no stack depth elsewhere", () => {
    const limit = Error.stackTraceLimit;
    const converted = lazy([1, 2], { dtype: 'int8' });
    const made = [converted, weft.exp([1]), lazy([1, 2]).softmax(), zeros(2), lazy([1]).T.add(1)];
    const softmax = made[2]!.expr;
    for (const site of [...made.map((x) => x.expr.site), softmax.inputs[0]!.site]) {
      expect(formatSite(site)).toContain('lazy.test.ts');
    }
    expect(Error.stackTraceLimit).toBe(limit);
  });

  it('are left when a call throws', () => {
    const x = lazy([1]);
    expect(() => x.add('x' as unknown as number)).toThrow(ArgumentError);
    expect(lazy([1]).expr.site).toBeUndefined();
    const first = formatSite(x.abs().expr.site);
    expect(formatSite(x.abs().expr.site)).not.toBe(first);
  });

  it('are those of readers where an array is read as it is, and its own where it is converted', async () => {
    const data = new Float32Array([1, 2]);
    const leaves = [lazy(data), lazy([1, 2]), lazy(new weft.NDArray(data, [2], 'float32'))];
    for (const leaf of leaves) expect([leaf.expr.kind, leaf.expr.site]).toEqual(['source', undefined]);
    const shaped = { data: new Uint8Array([0, 2]), shape: [2], dtype: 'bool' };
    for (const x of [lazy(data, { dtype: 'float64' }), lazy(shaped), lazy(leaves[0]!, { dtype: 'int32' })])
      expect(formatSite(x.expr.site)).toContain('lazy.test.ts');

    const lines = (x: Lazy): unknown =>
      x
        .explain({ device: 'cpu' })
        .toJSON()
        .steps.map((step) => step.lines);
    const read = lazy(data);
    const sum = read.add(1);
    expect(lines(sum)).toEqual([[lineOf(sum.expr.site)]]);
    const cast = lazy(data, { dtype: 'float64' });
    expect(lines(cast)).toEqual([[lineOf(cast.expr.site)]]);

    structuredClone(data, { transfer: [data.buffer] });
    const told: unknown = await sum.compute().catch((error: unknown) => error);
    expect((told as Error).message).toContain(`made at ${formatSite(sum.expr.site)}`);
  });

  it('are left when a method is called on nothing, and when there is no stack left', () => {
    const x = lazy([1]);
    expect(() => x.add.call(undefined as unknown as Lazy, 1)).toThrow(TypeError);
    expect(() => x.sum.call(undefined as unknown as Lazy)).toThrow(TypeError);
    const deeper = (): Lazy => x.add(deeper());
    const adding = (): Lazy => {
      x.add(1);
      return adding();
    };
    expect(deeper).toThrow(RangeError);
    expect(adding).toThrow(RangeError);
    const first = formatSite(x.abs().expr.site);
    expect(first).toContain('lazy.test.ts');
    expect(formatSite(x.abs().expr.site)).not.toBe(first);
  });

  it('of methods, aliases and functions of every kind are their own lines', () => {
    const x = lazy([[1, 2]]);
    const made = [
      () => x.neg(),
      () => x.negative(),
      () => x.where(1, 2),
      () => x.slice(0),
      () => x.matmul([[1], [2]]),
      () => weft.add(x, 1),
      () => weft.sum(x, 1),
      () => x.mT.sqrt(),
    ].map((make) => formatSite(make().expr.site));
    expect(new Set(made).size).toBe(made.length);
    for (const site of made) expect(site).toContain('lazy.test.ts');
  });
});

it('builds deep graphs', () => {
  let x = lazy(new Float32Array(3));
  for (let k = 0; k < 100_000; k++) x = x.add(1);
  expect([x.shape, x.dtype, x.expr.kind]).toEqual([[3], 'float32', 'map']);
});
