/**
 * Parts of matrix products on the CPU, by Weft's own kernels: ranges of rows, columns and contracted indices
 * give the bits of the whole.
 */
import { describe, expect, it } from 'vitest';
import { matmulGranule } from '../../src/exec/calls/products/matmul-parts.js';
import { createProgram, run } from '../../src/exec/native/native.js';
import type { ProgramSpec, SweepBuffer, SweepStep } from '../../src/exec/native/program-types.js';
import { byteLengthOf, type DType, dtypeCode } from '../../src/graph/dtype.js';
import { generator, randomValues } from '../support/random.js';
import { Arena, bytesOf, randomCuts, windowsOf } from '../support/sweep-runner.js';

const DTYPES: readonly DType[] = ['float16', 'float32', 'float64', 'complex64', 'complex128'];

interface Case {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch?: number;
  /** One b for all of a batch. */
  readonly shared?: boolean;
  /** b is read as if it were transposed. */
  readonly turned?: boolean;
  /** An axis of batches besides, between rows and columns of a and of b: the loop outside of `batch`, or within it. */
  readonly heads?: number;
  readonly isWithin?: boolean;
}
const CASES: readonly Case[] = [
  { m: 40, n: 50, k: 4500 },
  { m: 130, n: 33, k: 2100, turned: true },
  { m: 1, n: 70, k: 4500 },
  { m: 1, n: 70, k: 4500, turned: true },
  { m: 70, n: 1, k: 4500 },
  { m: 2, n: 1, k: 140_000 },
  { m: 40, n: 30, k: 50 },
  { m: 20, n: 30, k: 2100, batch: 3 },
  { m: 20, n: 30, k: 2100, batch: 3, shared: true },
  { m: 1, n: 60, k: 300, batch: 9, shared: true },
  { m: 20, n: 30, k: 2100, batch: 3, heads: 2 },
  { m: 20, n: 30, k: 2100, batch: 3, heads: 2, isWithin: true },
];

type Step = Extract<SweepStep['step'], { kind: 'matmul' }>;

/** The product of stacks (batch, rows, heads, columns), its result (batch, heads, rows, columns). */
function headsStep(dtype: DType, { m, n, k, batch = 1, heads = 1, isWithin = false }: Case): Step {
  const operand = (buffer: number, rows: number, columns: number) => {
    const byBatch = rows * heads * columns;
    const byHead = buffer === 2 ? rows * columns : columns;
    const [inner, outer] = isWithin ? [byHead, byBatch] : [byBatch, byHead];
    const rowStride = buffer === 2 ? columns : heads * columns;
    return { buffer, offset: 0, batchStride: inner, rowStride, columnStride: 1, outerStrides: [outer] };
  };
  return {
    kind: 'matmul',
    dtype: dtypeCode(dtype),
    m,
    n,
    k,
    batch: isWithin ? heads : batch,
    outer: [isWithin ? batch : heads],
    a: operand(0, m, k),
    b: operand(1, k, n),
    c: operand(2, m, n),
  };
}

/** The product, over buffers 0, 1 and 2. */
function stepOf(dtype: DType, c: Case): Step {
  if (c.heads !== undefined) return headsStep(dtype, c);
  const { m, n, k, batch = 1, shared, turned } = c;
  const strides = turned ? { rowStride: 1, columnStride: k } : { rowStride: n, columnStride: 1 };
  return {
    kind: 'matmul',
    dtype: dtypeCode(dtype),
    m,
    n,
    k,
    batch,
    a: { buffer: 0, offset: 0, batchStride: m * k, rowStride: k, columnStride: 1 },
    b: { buffer: 1, offset: 0, batchStride: shared ? 0 : k * n, ...strides },
    c: { buffer: 2, offset: 0, batchStride: m * n, rowStride: n, columnStride: 1 },
  };
}

const countsOf = ({ m, n, k, batch = 1, heads = 1, shared }: Case) => [
  batch * heads * m * k,
  (shared ? 1 : batch) * heads * k * n,
  batch * heads * m * n,
];
const inputsOf = (dtype: DType, c: Case, seed: number) =>
  countsOf(c)
    .slice(0, 2)
    .map((count, i) => randomValues(dtype, [count], seed + i).data);

/** A program of one step, or of one sweep. */
function programOf(dtype: DType, c: Case, steps: ProgramSpec['steps'], arenaByteLength = 0): ProgramSpec {
  const roles = ['input', 'input', 'output'] as const;
  const windowed = arenaByteLength > 0;
  const buffers = countsOf(c).map((count, i) => ({
    role: roles[i]!,
    byteLength: count * byteLengthOf(dtype),
    offset: 0,
    windowed,
  }));
  return { device: 'cpu', arenaByteLength, images: [], buffers, steps };
}

/** Cuts at random places, each a multiple of `granule`. */
const cutsOf = (size: number, granule: number, next: () => number): [number, number][] =>
  randomCuts(Math.ceil(size / granule), next).map(([a, b]) => [a * granule, Math.min(size, b * granule)]);

describe('parts of matrix products', () => {
  for (const dtype of DTYPES) {
    it(`of ${dtype} give the bits of the whole`, async () => {
      for (const [seed, c] of CASES.entries()) {
        const step = stepOf(dtype, c);
        const inputs = inputsOf(dtype, c, seed);
        const native = { createProgram, run };
        const expected = await bytesOf(native, programOf(dtype, c, [step]), inputs);
        const next = generator(seed);
        const { m, n, k, batch = 1 } = c;
        const granule = matmulGranule(dtype, m, n, k, batch) ?? k;
        const ranges: number[] = [];
        for (const rows of cutsOf(batch * m, batch > 1 ? m : 1, next)) {
          for (const columns of cutsOf(n, 1, next)) {
            for (const depth of cutsOf(k, granule, next)) ranges.push(...rows, ...columns, ...depth);
          }
        }
        const body = [{ step, ranges: Float64Array.from(ranges) }];
        const parts = programOf(dtype, c, [{ kind: 'sweep', tiles: ranges.length / 6, buffers: [], body }]);
        expect(await bytesOf(native, parts, inputs), JSON.stringify(c)).toEqual(expected);
      }
    });
  }

  it('are computed from windows of several rows', async () => {
    const c = { m: 64, n: 500, k: 300 };
    const [width, pitch] = [100, 512];
    const step = stepOf('float32', c);
    const inputs = inputsOf('float32', c, 1);
    const expected = await bytesOf({ createProgram, run }, programOf('float32', c, [step]), inputs);
    const arena = new Arena();
    const tiles = c.n / width;
    const columns = Array.from({ length: tiles }, (_, t) => t * width);
    const blocks = (buffer: number, rows: number, direction: SweepBuffer['direction']): SweepBuffer => ({
      buffer,
      direction,
      // A window begins where its first byte is modulo 256.
      offset: arena.take(2 * (rows * pitch + 256)),
      slotByteLength: rows * pitch + 256,
      slots: 2,
      slotPitch: pitch,
      windows: Float64Array.from(columns.flatMap((x, t) => [t % 2, 1, x * 4, width * 4, rows, c.n * 4])),
    });
    const a = windowsOf(
      0,
      'in',
      columns.map(() => ({ first: 0, last: c.m * c.k * 4 })),
      1,
      arena,
    );
    const narrow = { rowStride: pitch / 4, columnStride: 1 };
    const body = [
      {
        step: { ...step, b: { ...step.b, ...narrow }, c: { ...step.c, ...narrow } },
        ranges: Float64Array.from(columns.flatMap((x) => [0, c.m, x, x + width, 0, c.k])),
      },
    ];
    const buffers = [a, blocks(1, c.k, 'in'), blocks(2, c.m, 'out')];
    const spec = programOf('float32', c, [{ kind: 'sweep', tiles, buffers, body }], arena.byteLength);
    expect(await bytesOf({ createProgram, run }, spec, inputs)).toEqual(expected);
  });

  it('of halves are not cut along the contracted axis', () => {
    const c = { m: 4, n: 4, k: 4096 };
    const body = [{ step: stepOf('float16', c), ranges: Float64Array.of(0, 4, 0, 4, 0, 2048) }];
    const spec = programOf('float16', c, [{ kind: 'sweep', tiles: 1, buffers: [], body }]);
    expect(() => createProgram(spec)).toThrow(/all contracted indices/);
  });
});
