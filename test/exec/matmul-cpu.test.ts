/**
 * Matrix products of the CPU backend, through programs of one step: every dtype, layout and instruction set
 * against plain loops. Operands are small integers, whose products and sums are exact in float32, so results
 * have to be equal.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MatrixOperand } from '../../src/exec/calls/products/product-steps.js';
import { cpuInfo, createProgram, run } from '../../src/exec/native/native.js';
import { DTYPE_INFO, type DType, dtypeCode, isComplex, type Scalar } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { allocate, elementAt, over, setElement } from '../support/host.js';
import { generator, randomIntegers } from '../support/random.js';
import { castScalar, halfValue } from '../support/scalar.js';

const DTYPES = ['float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'] as const;

/**
 * The addon itself: settings are made here for the process, which `native-addon.ts` does once from the
 * environment.
 */
const addon = createRequire(import.meta.url)(
  resolve(import.meta.dirname, '../../build/Release/weft.node'),
) as {
  configureCpu(settings: { threads?: number; isa?: string; poison: boolean; blas?: string }): void;
};
const { isa, threads } = cpuInfo();
const ISAS =
  isa === 'neon'
    ? ['neon']
    : ['baseline', 'avx2', 'avx512'].slice(0, ['baseline', 'avx2', 'avx512'].indexOf(isa) + 1);

beforeEach(() => addon.configureCpu({ poison: false, blas: 'none' }));
afterEach(() => addon.configureCpu({ isa, threads, poison: false }));

/** How the elements of a (batch, rows, columns) operand lie in its buffer. */
type Layout = 'rows' | 'columns' | 'gaps' | 'strided' | 'upside down' | 'shared';
const LAYOUTS: readonly Layout[] = ['rows', 'columns', 'gaps', 'strided', 'upside down'];

interface Placed extends Omit<MatrixOperand, 'buffer'> {
  readonly elementCount: number;
}

function place(layout: Layout, batch: number, rows: number, columns: number): Placed {
  const dense = {
    offset: 0,
    batchStride: rows * columns,
    rowStride: columns,
    columnStride: 1,
    elementCount: batch * rows * columns,
  };
  switch (layout) {
    case 'rows':
      return dense;
    case 'columns':
      return { ...dense, rowStride: 1, columnStride: rows };
    case 'gaps': {
      const batchStride = rows * (columns + 3) + 5;
      return {
        offset: 2,
        batchStride,
        rowStride: columns + 3,
        columnStride: 1,
        elementCount: 2 + batch * batchStride,
      };
    }
    case 'strided': {
      const batchStride = rows * (2 * columns + 1);
      return {
        offset: 1,
        batchStride,
        rowStride: 2 * columns + 1,
        columnStride: 2,
        elementCount: 1 + batch * batchStride,
      };
    }
    case 'upside down':
      return { ...dense, offset: Math.max(rows - 1, 0) * columns, rowStride: -columns };
    case 'shared':
      return { ...dense, batchStride: 0, elementCount: rows * columns };
  }
}

const at = (p: Placed, batch: number, row: number, column: number): number =>
  p.offset + batch * p.batchStride + row * p.rowStride + column * p.columnStride;

interface Case {
  readonly dtype: DType;
  readonly batch?: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly a?: Layout;
  readonly b?: Layout;
  readonly c?: Layout;
}

interface Product {
  readonly a: TypedArray;
  readonly b: TypedArray;
  readonly c: TypedArray;
  readonly places: { readonly a: Placed; readonly b: Placed; readonly c: Placed };
}

const operands = (c: Case) => {
  const batch = c.batch ?? 1;
  return {
    a: place(c.a ?? 'rows', batch, c.m, c.k),
    b: place(c.b ?? 'rows', batch, c.k, c.n),
    c: place(c.c ?? 'rows', batch, c.m, c.n),
  };
};

type Draw = (dtype: DType, count: number, seed: number) => TypedArray;

/** Draws each sequence once: its first `count` elements. */
function once(draw: Draw): Draw {
  const drawn = new Map<string, TypedArray>();
  return (dtype, count, seed) => {
    const key = `${dtype} ${seed}`;
    const length = isComplex(dtype) ? 2 * count : count;
    let data = drawn.get(key);
    if (data === undefined || data.length < length) {
      data = draw(dtype, Math.max(count, 300_000), seed);
      drawn.set(key, data);
    }
    return data.subarray(0, length);
  };
}

const integers = once((dtype, count, seed) => randomIntegers(dtype, [count], seed).data);

const reals = once((dtype, count, seed) => {
  const next = generator(seed);
  const data = allocate(dtype, count);
  for (let i = 0; i < count; i++) {
    const value = next() - 0.5;
    setElement(dtype, data, i, isComplex(dtype) ? { re: value, im: next() } : value);
  }
  return data;
});

const decoded = new WeakMap<ArrayBufferLike, Float64Array>();

/** The numbers of an operand, complex ones as two. Those of a sequence are decoded once. */
function numbersOf(dtype: DType, data: TypedArray): Float64Array {
  const known = decoded.get(data.buffer);
  if (known !== undefined) return known;
  const all = over(
    dtype,
    data.buffer as ArrayBuffer,
    0,
    data.buffer.byteLength / DTYPE_INFO[dtype].byteLength,
  );
  const isHalf = dtype === 'float16' || dtype === 'bfloat16';
  const numbers = Float64Array.from(all as Float32Array, (x) => (isHalf ? halfValue(dtype, x) : x));
  decoded.set(data.buffer, numbers);
  return numbers;
}

async function multiply(test: Case, a?: TypedArray, b?: TypedArray): Promise<Product> {
  const { dtype, m, n, k } = test;
  const places = operands(test);
  const data = {
    a: a ?? integers(dtype, places.a.elementCount, 1),
    b: b ?? integers(dtype, places.b.elementCount, 2),
  };
  const byteLength = (p: Placed) => p.elementCount * DTYPE_INFO[dtype].byteLength;
  const operand = (buffer: number, { elementCount: _, ...p }: Placed): MatrixOperand => ({ buffer, ...p });
  const program = createProgram({
    device: 'cpu',
    arenaByteLength: 0,
    images: [],
    buffers: [
      { role: 'input', byteLength: byteLength(places.a), offset: -1 },
      { role: 'input', byteLength: byteLength(places.b), offset: -1 },
      { role: 'output', byteLength: byteLength(places.c), offset: -1 },
    ],
    steps: [
      {
        kind: 'matmul',
        dtype: dtypeCode(dtype),
        m,
        n,
        k,
        batch: test.batch ?? 1,
        a: operand(0, places.a),
        b: operand(1, places.b),
        c: operand(2, places.c),
      },
    ],
  });
  const { outputs } = await run(program, [data.a, data.b], { outputs: ['host'] });
  return { ...data, c: over(dtype, outputs[0] as ArrayBuffer, 0, places.c.elementCount), places };
}

/** The element of the product, summed exactly, rounded once. */
function expectedAt(test: Case, product: Product, batch: number, row: number, column: number): Scalar {
  const { dtype } = test;
  const { a: first, b: second } = product.places;
  const [xs, ys] = [numbersOf(dtype, product.a), numbersOf(dtype, product.b)];
  const [x, y] = [at(first, batch, row, 0), at(second, batch, 0, column)];
  const [perX, perY] = [first.columnStride, second.rowStride];
  let [re, im] = [0, 0];
  if (!isComplex(dtype)) {
    for (let k = 0; k < test.k; k++) re += xs[x + k * perX]! * ys[y + k * perY]!;
    return castScalar(re, dtype);
  }
  for (let k = 0; k < test.k; k++) {
    const [i, j] = [2 * (x + k * perX), 2 * (y + k * perY)];
    re += xs[i]! * ys[j]! - xs[i + 1]! * ys[j + 1]!;
    im += xs[i]! * ys[j + 1]! + xs[i + 1]! * ys[j]!;
  }
  return castScalar({ re, im }, dtype);
}

/**
 * Faults of a product: elements that differ (all, or `samples` of them), and writes between its
 * elements.
 */
function faults(test: Case, product: Product, samples = Number.POSITIVE_INFINITY): string[] {
  const { dtype, m, n, batch = 1 } = test;
  const found: string[] = [];
  const check = (z: number, i: number, j: number) => {
    const actual = elementAt(dtype, product.c, at(product.places.c, z, i, j));
    const wanted = expectedAt(test, product, z, i, j);
    const same =
      typeof actual === 'object' && typeof wanted === 'object'
        ? actual.re === wanted.re && actual.im === wanted.im
        : actual === wanted;
    if (!same) found.push(`[${z}, ${i}, ${j}]: ${JSON.stringify(actual)}, not ${JSON.stringify(wanted)}`);
  };
  const next = generator(3);
  if (batch * m * n > samples) {
    for (let s = 0; s < samples; s++)
      check(Math.floor(next() * batch), Math.floor(next() * m), Math.floor(next() * n));
    check(batch - 1, m - 1, n - 1);
  } else {
    for (let z = 0; z < batch; z++) for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) check(z, i, j);
  }
  return found.slice(0, 3);
}

/** With poison on, bytes of the output that no element has stay 0xff. */
function strayWrites(test: Case, product: Product): number {
  const bytes = new Uint8Array(product.c.buffer);
  const width = DTYPE_INFO[test.dtype].byteLength;
  const isWritten = new Uint8Array(bytes.length);
  for (let z = 0; z < (test.batch ?? 1); z++) {
    for (let i = 0; i < test.m; i++) {
      for (let j = 0; j < test.n; j++) {
        const begin = at(product.places.c, z, i, j) * width;
        for (let k = 0; k < width; k++) isWritten[begin + k] = 1;
      }
    }
  }
  let stray = 0;
  for (let i = 0; i < bytes.length; i++) if (isWritten[i] === 0 && bytes[i] !== 0xff) stray++;
  return stray;
}

const label = ({ batch = 1, m, n, k, a, b, c }: Case) =>
  `${batch} × (${m}, ${k}) · (${k}, ${n}) ${a ?? ''} ${b ?? ''} ${c ?? ''}`;

async function faultsOf(cases: readonly Case[], samples?: number): Promise<string[]> {
  const all: string[] = [];
  for (const test of cases) {
    const product = await multiply(test);
    all.push(...faults(test, product, samples).map((fault) => `${label(test)} ${fault}`));
    const stray = strayWrites(test, product);
    if (stray > 0) all.push(`${label(test)}: ${stray} bytes written between elements`);
  }
  return all;
}

function shapes(dtype: DType): Case[] {
  const cases: Case[] = [];
  for (const m of [1, 13, 30]) {
    for (const n of [1, 17, 33, 70]) for (const k of [1, 7, 64, 260]) cases.push({ dtype, m, n, k });
  }
  return cases;
}

function layouts(dtype: DType): Case[] {
  const cases: Case[] = [];
  for (const a of LAYOUTS) {
    for (const b of LAYOUTS) {
      for (const c of LAYOUTS.slice(0, 4)) {
        cases.push({ dtype, batch: 2, m: 13, n: 33, k: 9, a, b, c });
        cases.push(
          { dtype, batch: 2, m: 1, n: 9, k: 5, a, b, c },
          { dtype, batch: 2, m: 9, n: 1, k: 5, a, b, c },
        );
      }
    }
  }
  for (const shared of ['a', 'b'] as const) {
    cases.push(
      { dtype, batch: 4, m: 3, n: 5, k: 7, [shared]: 'shared' },
      { dtype, batch: 3, m: 1, n: 6, k: 4, [shared]: 'shared' },
    );
  }
  return cases;
}

/** Sizes that take several panels, pieces of k, granules, outer blocks. */
const large = (dtype: DType): Case[] => [
  { dtype, m: 150, n: 200, k: 300 },
  { dtype, m: 150, n: 200, k: 300, a: 'columns', b: 'columns', c: 'columns' },
  { dtype, m: 3000, n: 20, k: 30 },
  { dtype, m: 20, n: 3000, k: 30 },
  { dtype, m: 3, n: 2, k: 9000 },
  { dtype, m: 1, n: 1500, k: 400 },
  { dtype, m: 1500, n: 1, k: 400 },
  { dtype, m: 1500, n: 1, k: 400, a: 'columns' },
  // Long enough to be cut into slots.
  { dtype, batch: 2, m: 2, n: 1, k: 140_000 },
  { dtype, m: 1, n: 2, k: 131_072, b: 'columns' },
  { dtype, batch: 40, m: 70, n: 64, k: 66 },
  { dtype, m: 520, n: 500, k: 70, a: 'strided' },
];

describe.each(ISAS)('matrix products with %s', (set) => {
  it.each(DTYPES)(
    'of %s are right for every shape, layout and batch, and write nothing else',
    async (dtype) => {
      addon.configureCpu({ isa: set, threads: 3, poison: true });
      expect(cpuInfo()).toMatchObject({ isa: set, threads: 3 });
      expect(await faultsOf([...shapes(dtype), ...layouts(dtype)])).toEqual([]);
    },
  );

  it.each(DTYPES)('of %s are right where they are cut into blocks', async (dtype) => {
    addon.configureCpu({ isa: set, threads: 3, poison: true });
    expect(await faultsOf(large(dtype), 40)).toEqual([]);
  });

  // How work is cut up does not depend on the instruction set.
  const once = set === isa ? '' : ' (skipped: once, for the widest instruction set)';
  it.runIf(set === isa).each(DTYPES)(
    `of %s have the same bits on any number of threads${once}`,
    async (dtype) => {
      for (const test of large(dtype)) {
        const places = operands(test);
        const [a, b] = [reals(dtype, places.a.elementCount, 4), reals(dtype, places.b.elementCount, 5)];
        const bits: Uint8Array[] = [];
        for (const count of [1, 2, 5]) {
          addon.configureCpu({ isa: set, threads: count, poison: true });
          bits.push(new Uint8Array((await multiply(test, a, b)).c.buffer));
        }
        expect(Buffer.compare(bits[0]!, bits[1]!), label(test)).toBe(0);
        expect(Buffer.compare(bits[0]!, bits[2]!), label(test)).toBe(0);
      }
    },
  );

  it.each(['float16', 'bfloat16'] as const)('of %s add up in float32 over all of k', async (dtype) => {
    addon.configureCpu({ isa: set, poison: false });
    // Adding ones one by one, float16 would stay at 2048 and bfloat16 at 256.
    for (const [k, m] of [
      [6000, 2],
      [40_000, 3],
    ] as const) {
      const test = { dtype, m, n: 40, k } as const;
      const ones = allocate(dtype, k * 40);
      setElement(dtype, ones, 0, 1);
      ones.fill(ones[0] as never);
      const { c } = await multiply(test, ones.slice(0, m * k) as TypedArray, ones);
      expect(elementAt(dtype, c, m * 40 - 1)).toBe(castScalar(k, dtype));
    }
  });

  it.each(DTYPES)('of %s pass NaN and infinities on, past zeros', async (dtype) => {
    addon.configureCpu({ isa: set, poison: false });
    for (const [m, n, k] of [
      [3, 4, 5],
      [1, 40, 9],
      [40, 1, 9],
      [130, 140, 300],
    ] as const) {
      const [a, b] = [allocate(dtype, m * k), allocate(dtype, k * n)];
      setElement(dtype, b, n - 1, Number.POSITIVE_INFINITY);
      setElement(dtype, b, (k - 1) * n, Number.NaN);
      const { c } = await multiply({ dtype, m, n, k }, a, b);
      const component = (i: number) => {
        const value = elementAt(dtype, c, i);
        return typeof value === 'object' ? value.re : value;
      };
      // 0 · ∞ and 0 · NaN; the columns between them are sums of zeros.
      expect(component(0)).toBeNaN();
      expect(component(m * n - 1)).toBeNaN();
      if (n > 2) expect(component(1)).toBe(0);
    }
  });
});

describe('matrix products', () => {
  it.each(DTYPES)('of %s over no k are zeros', async (dtype) => {
    addon.configureCpu({ poison: true });
    for (const c of LAYOUTS.slice(0, 4)) {
      expect(await faultsOf([{ dtype, batch: 2, m: 3, n: 4, k: 0, c }])).toEqual([]);
    }
  });

  it('agree with a BLAS library', async () => {
    expect(() => addon.configureCpu({ poison: false, blas: '/nowhere/libblas.so' })).toThrow(/BLAS/);
    expect(cpuInfo().blas).toBeNull();
    const library = process.env.WEFT_TEST_BLAS;
    if (library === undefined) return;
    try {
      addon.configureCpu({ poison: true, blas: library });
      expect(cpuInfo().blas).not.toBeNull();
      for (const dtype of DTYPES)
        expect(await faultsOf([...large(dtype), ...layouts(dtype)], 40)).toEqual([]);
    } finally {
      addon.configureCpu({ poison: false, blas: 'none' });
    }
  });
});
