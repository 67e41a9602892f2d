/**
 * The texts of errors: the function that the user called, what it takes, what it was given; and where he
 * called it.
 */
import { describe, expect, it } from 'vitest';
import { formatValue } from '../src/graph/format.js';
import { InternalError, isOwnError } from '../src/host/errors.js';
import * as weft from '../src/index.js';
import { ArgumentError, DTypeError, lazy, RangeArgumentError, ShapeError } from '../src/index.js';

const x = lazy(new Float32Array(6), { shape: [2, 3] });
const halves = lazy([1], { dtype: 'float16' });
/** An object with getters that throw. */
const unreadable = {
  get constructor(): never {
    throw new Error('of the user');
  },
};
const wrong = (value: unknown): never => value as never;

describe('messages', () => {
  // biome-ignore format: a table, one row a line
  it.each<[string, () => unknown, new (message: string) => Error]>([
    ['[slice] expected an index, [start, stop, step], null, text or an array of indices: 1n', () => x.slice(wrong(1n)), ArgumentError],
    ['[sum] expected an axis to be an integer: an array of int32 (1,)', () => x.sum(wrong(new Int32Array(1))), ArgumentError],
    ['[sum] expected an axis to be an integer: 0n', () => x.sum(wrong(0n)), ArgumentError],
    ['[sum] expected keepdims to be true or false: 1', () => x.sum(0, { keepdims: wrong(1) }), ArgumentError],
    ['[sum] expected options axis, keepdims, dtype: option keepDims (here it is keepdims)', () => x.sum(0, wrong({ keepDims: true })), ArgumentError],
    ['[sum] expected options { axis, keepdims, dtype }: an object (Map)', () => x.sum(wrong(new Map([['axis', 0]]))), ArgumentError],
    ['[plan] expected options { deadline, device, devices, exact, hostMemory, memory, onDeviceLost, onProgress, signal, tune, to }: an object (AbortController)', () => x.plan(wrong(new AbortController())), ArgumentError],
    ['[plan] expected a list or an object of arrays: an array of float32 (2, 3) (x.plan() for one)', () => weft.plan(wrong(x), wrong(x)), ArgumentError],
    ['[toJSON] expected numbers or lists for JSON: a Lazy float32 (2, 3) (compute() it, then toArray())', () => JSON.stringify({ x }), ArgumentError],
    ['[lazy] expected a typed array, nested lists, a scalar, { data, shape } or a Lazy: an object that cannot be read', () => lazy(wrong(unreadable)), ArgumentError],
    ["[sum] expected options { axis, keepdims, dtype }: 'float32'", () => x.sum(0, wrong('float32')), ArgumentError],
    ['[reshape] expected a shape as a number or a list of numbers: {}', () => x.reshape(wrong({})), ArgumentError],
    ["[reshape] expected a shape of numbers: ['6']", () => x.reshape(wrong(['6'])), ArgumentError],
    ['[eye] expected a number of columns: { k } (options come third: eye(3, 3, { k: 1 }))', () => weft.eye(3, wrong({ k: 1 })), ArgumentError],
    ['[arange] expected at most 2^53 - 1 elements: (1000000000000000000,)', () => weft.arange(1e18), ShapeError],
    ['[repeat] expected repeats to be an integer below 2^53: 9007199254740992', () => x.repeat(2 ** 53), ShapeError],
    ['[concat] expected a list of arrays: an array of float32 (2, 3) (arrays are one list: [x, y])', () => weft.concat(wrong(x)), ArgumentError],
    ['[tensordot] expected a count or two lists of axes: {}', () => x.tensordot(x, wrong({})), ArgumentError],
    ['[pad] expected a width, [before, after] or such a pair for each axis: [[1, 1], {}]', () => x.pad(wrong([[1, 1], {}])), ArgumentError],
    ["[pad] expected an array or a number, bigint, boolean or { re, im }: 'a'", () => x.pad(1, { value: wrong('a') }), ArgumentError],
    ['[roll] expected a shift or a list of shifts: {}', () => x.roll(wrong({}), 0), ArgumentError],
    ["[roll] expected a shift to be an integer: '1'", () => x.roll(wrong('1')), ArgumentError],
    ['[clip] expected an array or a number, bigint, boolean or { re, im }: { min }', () => x.clip(wrong({ min: 0 })), ArgumentError],
    ['[clip] expected booleans, integers or floats: complex128 and complex128', () => lazy([{ re: 1, im: 0 }]).clip(0), DTypeError],
    ['[argmax] expected one axis or none: [0, 1]', () => x.argmax(wrong([0, 1])), ArgumentError],
    ['[argmin] expected one axis or none: an array of float32 (2, 3)', () => x.argmin(wrong(x)), ArgumentError],
    ["[layerNorm] expected an array or a number, bigint, boolean or { re, im }: 'a'", () => x.layerNorm(wrong('a')), ArgumentError],
    ['[layerNorm] expected shapes that broadcast: (2, 3) and (2,) (axis -1: 3 against 2)', () => x.layerNorm(lazy([1, 2])), ShapeError],
    ["[layerNorm] expected epsilon to be a number: 'a'", () => x.layerNorm(null, null, { epsilon: wrong('a') }), ArgumentError],
    ['[standardize] expected epsilon to be finite: NaN', () => x.standardize(0, { epsilon: NaN }), RangeArgumentError],
    ['[var] expected correction to be a number: {}', () => x.variance(0, { correction: wrong({}) }), ArgumentError],
    ["[isclose] expected rtol to be a number: 'a'", () => x.isclose(x, { rtol: wrong('a') }), ArgumentError],
    ['[isclose] expected shapes that broadcast: (2, 3) and (2,) (axis -1: 3 against 2)', () => x.isclose(new Float32Array(2)), ShapeError],
    ['[arrayEqual] expected an array or a number, bigint, boolean or { re, im }: [1, 2]', () => x.arrayEqual(wrong([1, 2])), ArgumentError],
    ['[at.set] expected an axis with elements to take: axis 0 of 0 elements', () => lazy(new Float32Array(0)).at(Int32Array.of(0)).set(1), ShapeError],
    ["[put] expected an axis with elements to take: axis 0 of 0 elements", () => lazy(new Float32Array(0)).put(Int32Array.of(0), 1, { mode: 'clip' }), ShapeError],
    ['[nextafter] expected int16, int32, int64, uint16, uint32, uint64, float32 or float64: float16 and float16', () => halves.nextafter(halves), DTypeError],
    ['[lazy] expected a shape in a list of numbers: null', () => lazy(wrong({ data: new Float32Array(3), shape: null })), ArgumentError],
    ['[lazy] expected strides in a list of numbers: 1', () => lazy(wrong({ data: [1], shape: [1], strides: 1 })), ArgumentError],
    ['[lazy] expected data in a typed array or a list: null', () => lazy(wrong({ data: null, shape: [1] })), ArgumentError],
    ['[lazy] expected a typed array, nested lists, a scalar, { data, shape } or a Lazy: an object (Date)', () => lazy(wrong(new Date())), ArgumentError],
    ["[compute] expected a size in bytes, or text such as '2GiB' or '50%': {}", () => x.plan({ memory: wrong({}) }), ArgumentError],
  ])('%s', (message, act, error) => {
    expect(act).toThrow(error);
    expect(act).toThrow(new error(message));
  });

  it.each<[string, object]>([
    ['exact as true or false: 1', { exact: 1 }],
    ["onDeviceLost as 'fail' or 'continue': 'stop'", { onDeviceLost: 'stop' }],
    ['onProgress as a function: 3', { onProgress: 3 }],
    ['signal as an AbortSignal: {}', { signal: {} }],
    ["signal as an AbortSignal: 'soon'", { signal: 'soon' }],
  ])('of options: %s', async (message, options) => {
    await expect(x.persist(wrong(options))).rejects.toThrow(/^\[(compute|persist)\] expected /);
    await expect(x.compute(wrong(options))).rejects.toThrow(`[compute] expected ${message}`);
    if (!('onProgress' in options))
      expect(() => weft.batch([], wrong(options))).toThrow(/^\[batch\] expected /);
    expect(() => x.explain(wrong(options))).toThrow(ArgumentError);
  });

  it('refuse holes in lists of arrays', async () => {
    await expect(weft.compute(Array(1))).rejects.toThrow(ArgumentError);
    expect(() => weft.concat(Array(1))).toThrow(ArgumentError);
  });

  it("are Weft's, whatever its functions are given", () => {
    // biome-ignore format: a list
    const odd = [undefined, null, -1, 1.5, NaN, 1n, true, 'a', Symbol('s'), () => 1, {}, [], [[]], [1, 1], ['a'], [null], new Map(),
      x, halves, lazy([{ re: 1, im: 2 }]), [x, 1], { axis: 'a' }, { axis: x }, { dtype: 'x' }, { keepdims: 1 }, 2 ** 53, -Infinity,
      new BigInt64Array(1), { data: 1, shape: 2 }, Object.create(null)];
    const own = /^\[\w+\] expected /;
    const foreign = new Set<string>();
    const attempt = (name: string, act: () => unknown): void => {
      try {
        act();
      } catch (error) {
        const { message } = error as Error;
        if (!isOwnError(error) || error instanceof InternalError || !own.test(message))
          foreign.add(`${name}: ${message}`);
        const frame = error instanceof Error && /^ +at .*/m.exec(error.stack ?? '')?.[0];
        if (!(frame || '').includes('messages.test.ts')) foreign.add(`${name}: a trace that begins ${frame}`);
      }
    };
    // Functions that run, read or write reject later; they are not called here.
    const running =
      /^([A-Z]|load|save|fromFile|batch|compute|persist|profile|synchronize|trim|memory|limitMemory|dashboard|devices|devicePointer|pinned|precompile|progressLine|fromDLPack|fromDuckDB|fromTensor|toDLPack|toArrow|toTensor|toImage|toDuckDB)/;
    for (const [name, value] of Object.entries(weft)) {
      if (typeof value !== 'function' || running.test(name)) continue;
      const call = value as (...args: unknown[]) => unknown;
      for (const a of odd) {
        for (const given of [[a], [x, a], [x, x, a], [x, null, a]]) attempt(name, () => call(...given));
      }
    }
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(weft.Lazy.prototype))) {
      if (typeof value !== 'function' || /^(constructor|compute|persist)$/.test(name)) continue;
      for (const a of odd) for (const given of [[a], [null, a]]) attempt(name, () => value.apply(x, given));
    }
    for (const act of ['at', 'item', 'toJSON'] as const)
      attempt(act, () => new weft.NDArray(new Float32Array(2), [2], 'float32')[act](5, 6));
    const { npy, raw, npz, safetensors, zarr, compile, batch, plan, explain } = weft;
    const opening = [npy, raw, npz, safetensors, zarr, compile, batch, plan, explain] as const;
    for (const open of opening as readonly ((a: unknown, b: unknown) => unknown)[]) {
      for (const a of odd) attempt(open.name, () => open(a, a));
    }
    expect([...foreign]).toEqual([]);
  });

  it('show any value in few words', () => {
    class Made {}
    const shown: readonly [unknown, string][] = [
      ['a'.repeat(200), `'${'a'.repeat(80)}…'`],
      [-0, '-0'],
      [2n, '2n'],
      [Symbol('s'), 'Symbol(s)'],
      [Made, 'a function'],
      [null, 'null'],
      [undefined, 'undefined'],
      [new Made(), 'an object (Made)'],
      [Object.create(null), '{}'],
      [{ a: 1, b: 2 }, '{ a, b }'],
      [[1, ['b'], null], "[1, ['b'], null]"],
      [Array.from({ length: 20 }, (_, k) => k), '[0, 1, 2, 3, 4, 5, 6, 7, …]'],
      [new Uint8Array(3), 'Uint8Array(3)'],
      [new DataView(new ArrayBuffer(3)), 'an object (DataView)'],
      [lazy([1]), 'an array of float64 (1,)'],
    ];
    for (const [value, text] of shown) expect(formatValue(value)).toBe(text);
  });

  it("of functions that give promises have traces that begin at the user's line", async () => {
    const { compute, dashboard, persist, trim, synchronize, pinned, precompile, profile } = weft;
    const { loadNpy, loadNpz, loadSafetensors, loadSafetensorsMetadata, loadParquet, loadZarr, fromFile } =
      weft;
    const { saveNpy, saveRaw, saveZarr, saveNpz, saveSafetensors } = weft;
    const given: Readonly<Record<string, (...args: never[]) => Promise<unknown>>> = {
      ...{ compute, dashboard, persist, trim, synchronize, pinned, precompile, profile },
      ...{ loadNpy, loadNpz, loadSafetensors, loadSafetensorsMetadata, loadParquet, loadZarr, fromFile },
      ...{ saveNpy, saveRaw, saveZarr, saveNpz, saveSafetensors },
      'x.compute': (options) => x.compute(options),
      'x.persist': (options) => x.persist(options),
      compiled: weft.compile((y: weft.Lazy) => weft.reshape(y, [7])),
    };
    const missing = { dtype: 'float32', path: '/no/such/file' };
    for (const [name, call] of Object.entries(given)) {
      for (const args of [
        [-1, -1],
        ['/no/such/file', missing],
      ]) {
        const error: unknown = await call(...(args as never[])).catch((thrown: unknown) => thrown);
        expect(isOwnError(error), `${name}: ${error}`).toBe(true);
        expect(/^ +at .*/m.exec((error as Error).stack!)?.[0], name).toContain('messages.test.ts');
      }
    }
  });

  it("have traces with the user's line, however deep the check is", () => {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 10;
    try {
      x.sum(wrong([0, '1']));
      expect.unreachable();
    } catch (error) {
      expect((error as Error).stack).toContain('messages.test.ts');
      expect(Error.stackTraceLimit).toBe(10);
    } finally {
      Error.stackTraceLimit = limit;
    }
  });
});
