/**
 * Arguments that no parameter takes are refused, and so are the spellings of other libraries, with ours
 * beside them.
 */
import { describe, expect, it } from 'vitest';
import { mostArguments } from '../src/api/function-parameters.js';
import * as functions from '../src/api/functions.js';
import * as composites from '../src/graph/composites.js';
import * as masks from '../src/graph/masks.js';
import * as products from '../src/graph/products.js';
import * as statistics from '../src/graph/statistics.js';
import * as views from '../src/graph/views.js';
import * as weft from '../src/index.js';
import { ArgumentError, compile, Lazy, lazy, NDArray, ShapeError, zeros } from '../src/index.js';

const x = lazy(new Float32Array(6), { shape: [2, 3] });
const device = 'cpu';
/** Arguments that the types refuse. */
const wrong = <T extends readonly unknown[] = []>(...args: unknown[]): T => args as unknown as T;
const many = Array<number>(9).fill(1);
const refused = /^\[\w+\] expected (no argument|one argument|at most \d arguments): (9|[34] or more)/;
/** They take any number of arguments; the others of a Lazy take none and look at none. */
const VARIADIC = ['reshape', 'slice', 'broadcastTo'];
const PLAIN = ['constructor', 'dispose', 'toString', 'toJSON'];

describe('excess arguments are refused', () => {
  it('by every method of a Lazy', async () => {
    const taken: string[] = [];
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(Lazy.prototype))) {
      if (typeof value !== 'function' || PLAIN.includes(name)) continue;
      const error: unknown = await (async () => value.apply(x, many))().catch((caught: unknown) => caught);
      if (!(error instanceof ArgumentError && refused.test(error.message))) taken.push(name);
    }
    expect(taken.sort()).toEqual(['at', ...VARIADIC].sort());
  });

  it('by every free function of the tables', () => {
    const taken: string[] = [];
    for (const [name, call] of Object.entries(functions as Record<string, unknown>)) {
      try {
        (call as (...args: unknown[]) => unknown)(...many);
        taken.push(name);
      } catch (error) {
        if (!refused.test(String((error as Error).message))) taken.push(name);
      }
    }
    expect(taken.sort()).toEqual([...VARIADIC].sort());
  });

  it('since the functions of the tables have no default values, up to which length would count', () => {
    const tables = { ...composites, ...masks, ...products, ...statistics, ...views };
    const counted = Object.entries(tables).filter(([name]) => !VARIADIC.includes(name));
    expect(counted.length).toBeGreaterThan(40);
    // Of a function whose text has the word arguments it is not certain.
    for (const [name, build] of counted)
      expect([build.length, undefined], name).toContain(mostArguments(build));
  });

  it('by every function that makes, joins, loads, saves, runs and tells', async () => {
    const isOwn = ([name, value]: [string, unknown]): boolean =>
      typeof value === 'function' && /^[a-z]/.test(name) && !Object.hasOwn(functions, name);
    const own = Object.entries(weft as Record<string, unknown>).filter(isOwn);
    const taken: string[] = [];
    for (const [name, call] of own) {
      const error: unknown = await (async () => (call as (...args: unknown[]) => unknown)(...many))().catch(
        (caught: unknown) => caught,
      );
      if (!(error instanceof ArgumentError && refused.test(error.message))) taken.push(name);
    }
    expect(own.length).toBeGreaterThan(45);
    expect(taken.sort()).toEqual(['broadcastShapes', 'einsum', 'einsumPath', 'progressLine', 'resultType']);
    expect(() => new NDArray(new Float32Array(1), [1], 'float32').item(...wrong(0))).toThrow(ArgumentError);
  });

  it('by a profile of a function, which has no options', async () => {
    await expect(weft.profile(() => 1, ...wrong({ device }))).rejects.toThrow(
      '[profile] expected one argument: 2',
    );
    const { result } = await weft.profile(() => x.compute({ device }));
    expect(result.shape).toEqual([2, 3]);
  });

  it('but not where they are undefined', async () => {
    expect(x.add(1, ...wrong(undefined)).sum(0, undefined, ...wrong(undefined)).shape).toEqual([3]);
    expect(zeros([2], undefined, ...wrong(undefined)).shape).toEqual([2]);
    expect((await x.compute({ device }, ...wrong(undefined))).shape).toEqual([2, 3]);
  });

  it('by compiled functions', async () => {
    const f = compile((a: Lazy, axis: number) => a.sum(axis), { device });
    await expect(f(x, 0, ...wrong(1))).rejects.toThrow('[compile] expected at most 2 arguments: 3');
    await expect(f.persist(x, 0, ...wrong(x))).rejects.toThrow(ArgumentError);
    expect(() => f.plan(x, 0, ...wrong(1))).toThrow(ArgumentError);
    const withDefault = compile((a: Lazy, axis: number = 0) => a.sum(axis), { device });
    expect((await withDefault(x)).shape).toEqual([3]);
    expect((await withDefault(x, 1)).shape).toEqual([2]);
    await expect(withDefault(x, 1, ...wrong(2))).rejects.toThrow('[compile] expected at most 2 arguments: 3');
    const rest = compile((...all: Lazy[]) => all.reduce((a, b) => a.add(b)), { device });
    expect((await rest(x, x, x)).shape).toEqual([2, 3]);
  });
});

it.each<[number | undefined, CallableFunction]>([
  [0, () => 1],
  [1, (a: number) => a],
  [2, (a: number, b = 1) => a + b],
  [3, (a: number, { b, c } = { b: ',)', c: [1, Math.max(2, 3)] }, d = "'") => [a, b, c, d]],
  [2, async (a: number /* (x, y = 1) */, b /* , */ = 2) => a + b],
  [
    2,
    {
      method(a: number, b = 3) {
        return a + b;
      },
    }.method,
  ],
  [
    1,
    function named(a: number) {
      return a;
    },
  ],
  [undefined, (a: number, ...more: number[]) => [a, more]],
  [undefined, (a = /,/) => a],
  [undefined, (a = `${1}`) => a],
  [undefined, ((a: number, b = 1) => a + b).bind(null)],
  [undefined, Math.max],
])('%s arguments are the most of a function', (most, fn) => {
  expect(mostArguments(fn)).toBe(most);
});

it('a function that reads its arguments takes any number', () => {
  expect(mostArguments(new Function('return arguments.length'))).toBeUndefined();
});

describe('errors say the right spelling', () => {
  it.each<[string, () => unknown]>([
    [
      '[round] expected no argument: 1 (for 2 decimals x.mul(100).round().div(100))',
      () => x.round(...wrong(2)),
    ],
    [
      '[transpose] expected one argument: 2 (axes are one list: [1, 0])',
      () => x.transpose([1, 0], ...wrong(0)),
    ],
    ['[zeros] expected a dtype: 3 (a shape is one list: [2, 3])', () => zeros(2, ...wrong(3))],
    [
      '[ones] expected at most 2 arguments: 3 (a shape is one list: [2, 3])',
      () => weft.ones(...wrong<[never]>(2, 3, 4)),
    ],
    [
      '[eye] expected a number of rows: [3, 3] (eye(rows, columns))',
      () => weft.eye(...wrong<[never]>([3, 3])),
    ],
    ['[identity] expected a number of rows: [3]', () => weft.identity(...wrong<[never]>([3]))],
    [
      '[var] expected options axis, keepdims, correction: option ddof (here it is correction)',
      () => x.var(...wrong({ ddof: 1 })),
    ],
    [
      '[sum] expected options axis, keepdims, dtype: option dim (here it is axis)',
      () => x.sum(...wrong({ dim: 1 })),
    ],
    ["[pad] expected one value for the border, as { value }: mode 'edge'", () => x.pad(1, ...wrong('edge'))],
    [
      "[pad] expected one value for the border, as { value }: mode 'wrap'",
      () => x.pad(1, ...wrong({ mode: 'wrap' })),
    ],
    [
      '[pad] expected options value: option constant_values (here it is value)',
      () => x.pad(1, ...wrong({ constant_values: 1 })),
    ],
    [
      '[concat] expected a list of arrays: an array of float32 (2, 3) (arrays are one list: [x, y])',
      () => weft.concat(...wrong<[never]>(x, x)),
    ],
    [
      '[meshgrid] expected a list of arrays: an array of float32 (2, 3) (arrays are one list: [x, y])',
      () => weft.meshgrid(...wrong<[never]>(x, x)),
    ],
    ['[memory] expected no argument: 1', () => weft.memory(...wrong<[]>('cpu'))],
    [
      '[Lazy] expected lazy() to make an array: [1, 2] (lazy(x), not new Lazy(x))',
      () => new Lazy(wrong<never>(1, 2)),
    ],
  ])('%s', (message, act) => {
    expect(act).toThrow(message);
    expect(act).toThrow(ArgumentError);
  });

  it('for letters of an einsum that disagree', () => {
    const act = () => weft.einsum('ij,jk->ik', x, zeros([4, 5]));
    expect(act).toThrow("[einsum] expected one size, or 1, for 'j': (2, 3) and (4, 5) (3 against 4)");
    expect(act).toThrow(ShapeError);
  });

  it('for paths that a loader is mapped over, and for options of pinned memory', async () => {
    await expect(Promise.all(['a.npy', 'b.npy'].map(weft.loadNpy))).rejects.toThrow(
      '[loadNpy] expected one argument: 3 (of a list: paths.map((path) => loadNpy(path)))',
    );
    await expect(weft.pinned([2], 'float32', ...wrong({ devices: 1 }))).rejects.toThrow(
      '[pinned] expected options device: option devices',
    );
  });

  it('for devices that trim() does not find', async () => {
    await expect(weft.trim('cuda:97')).rejects.toThrow("[trim] device 'cuda:97' cannot be used");
    await expect(weft.trim('gpu')).rejects.toThrow(
      "[trim] expected a device named 'cpu', 'cuda' or 'cuda:N': 'gpu'",
    );
  });
});
