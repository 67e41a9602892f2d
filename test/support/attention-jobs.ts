/** Jobs of attention in the ways that users write it, and their values in float64. */
import { arange, type DType, type Lazy, lazy, where } from '../../src/index.js';

export interface AttentionJob {
  readonly name: string;
  readonly dtype: DType;
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly inner: number;
  readonly width: number;
  readonly mask?: 'causal' | 'boolean' | 'additive' | 'wholly';
}

const JOB: AttentionJob = { name: '', dtype: 'float32', batch: 2, m: 9, n: 13, inner: 8, width: 8 };
const job = (name: string, changes: Partial<AttentionJob>): AttentionJob => ({ ...JOB, name, ...changes });

export const ATTENTION_JOBS: readonly AttentionJob[] = [
  job('float32, odd sizes', { inner: 5, width: 3 }),
  job('float32, one row', { m: 1, n: 40 }),
  job('float32, more than a tile', { batch: 1, m: 130, n: 70, inner: 20, width: 40 }),
  job('float32, causal', { m: 70, n: 70, mask: 'causal' }),
  job('float32, additive mask', { mask: 'additive' }),
  job('float32, boolean mask with a row of none', { mask: 'wholly' }),
  job('float32, heads of 64, three tiles, causal', {
    batch: 1,
    m: 140,
    n: 260,
    inner: 64,
    width: 64,
    mask: 'causal',
  }),
  job('float32, heads of 37, two tiles', { batch: 1, m: 140, n: 150, inner: 37, width: 41 }),
  job('float32, heads of 128, two tiles of rows and columns, causal', {
    batch: 1,
    m: 140,
    n: 150,
    inner: 128,
    width: 128,
    mask: 'causal',
  }),
  job('float32, many heads, causal', {
    batch: 133,
    m: 3,
    n: 70,
    inner: 37,
    width: 40,
    mask: 'causal',
  }),
  job('float32, heads of 100, additive mask', {
    m: 20,
    n: 33,
    inner: 100,
    width: 98,
    mask: 'additive',
  }),
  job('float32, heads of 150', { batch: 1, m: 70, n: 40, inner: 150, width: 131 }),
  job('float32, heads of 32, three columns', { m: 130, n: 3, inner: 32, width: 33 }),
  job('float16', { dtype: 'float16', m: 20, n: 70, inner: 16, width: 16 }),
  job('float16, odd sizes', { dtype: 'float16', batch: 1, m: 3, n: 5, inner: 7, width: 9 }),
  job('float16, boolean mask', { dtype: 'float16', inner: 24, mask: 'boolean' }),
  job('bfloat16, causal', { dtype: 'bfloat16', batch: 1, m: 40, n: 40, inner: 16, mask: 'causal' }),
];

/** Heads of 64 and 128, of which compute capability 9.0 has kernels of its own: ends of tiles, few blocks and many. */
export const HEAD_JOBS: readonly AttentionJob[] = [
  job('float16, heads of 64', { dtype: 'float16', m: 130, n: 260, inner: 64, width: 64 }),
  job('bfloat16, heads of 128, causal', {
    dtype: 'bfloat16',
    m: 200,
    n: 200,
    inner: 128,
    width: 128,
    mask: 'causal',
  }),
  job('float16, many heads of 64', { dtype: 'float16', batch: 70, m: 10, n: 140, inner: 64, width: 64 }),
  job('float16, heads of 64, causal', {
    dtype: 'float16',
    m: 150,
    n: 200,
    inner: 64,
    width: 64,
    mask: 'causal',
  }),
  job('bfloat16, heads of 64 and 128', { dtype: 'bfloat16', m: 64, n: 170, inner: 64, width: 128 }),
  job('float16, heads of 128, one column', { dtype: 'float16', m: 130, n: 1, inner: 128, width: 128 }),
  job('float16, heads of 128, a mask with a row of none', {
    dtype: 'float16',
    m: 70,
    n: 140,
    inner: 128,
    width: 128,
    mask: 'wholly',
  }),
  job('float16, heads of 64, additive mask', {
    dtype: 'float16',
    m: 65,
    n: 256,
    inner: 64,
    width: 64,
    mask: 'additive',
  }),
];

/** Numbers between -2 and 2 that halves have, too. */
const numbers = (count: number, seed: number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => (((i + seed) * 7919) % 257) / 64 - 2);

export interface AttentionCase {
  readonly output: Lazy;
  readonly expected: Float64Array;
}

/** The mask of a job: the columns that a row has, or what is added to its scores. */
function maskOf({ mask, m, n }: AttentionJob): {
  kept: (i: number, j: number) => boolean;
  added: Float32Array;
} {
  const added = mask === 'additive' ? numbers(m * n, 5) : new Float32Array(m * n);
  switch (mask) {
    case 'causal':
      return { kept: (i, j) => j <= i, added };
    case 'boolean':
      return { kept: (i, j) => (i * 3 + j) % 4 !== 0, added };
    case 'wholly':
      return { kept: (i, j) => i !== 2 && j !== 1, added };
    default:
      return { kept: () => true, added };
  }
}

export function attentionCase(each: AttentionJob): AttentionCase {
  const { dtype, batch, m, n, inner, width, mask } = each;
  const data = [numbers(batch * m * inner, 1), numbers(batch * n * inner, 2), numbers(batch * n * width, 3)];
  const [q, k, v] = (
    [
      [m, inner],
      [n, inner],
      [n, width],
    ] as const
  ).map(([rows, columns], at) => lazy(data[at]!).reshape([batch, rows, columns]).astype(dtype));
  const { kept, added } = maskOf(each);
  let scores = q!.matmul(k!.transpose([0, 2, 1])).div(Math.sqrt(inner));
  if (mask === 'causal')
    scores = where(
      arange(m, { dtype: 'int64' })
        .reshape([m, 1])
        .greaterEqual(arange(n, { dtype: 'int64' })),
      scores,
      Number.NEGATIVE_INFINITY,
    );
  if (mask === 'boolean' || mask === 'wholly') {
    const bits = Uint8Array.from({ length: m * n }, (_, at) => Number(kept(Math.floor(at / n), at % n)));
    scores = where(lazy(bits).reshape([m, n]).astype('bool'), scores, Number.NEGATIVE_INFINITY);
  }
  if (mask === 'additive') scores = scores.add(lazy(added).reshape([m, n]).astype(dtype));
  return {
    output: scores.softmax(-1).matmul(v!),
    get expected() {
      return expectedOf(each, data as [Float32Array, Float32Array, Float32Array], kept, added);
    },
  };
}

function expectedOf(
  { batch, m, n, inner, width }: AttentionJob,
  [q, k, v]: readonly [Float32Array, Float32Array, Float32Array],
  kept: (i: number, j: number) => boolean,
  added: Float32Array,
): Float64Array {
  const out = new Float64Array(batch * m * width);
  for (let b = 0; b < batch; b++)
    for (let i = 0; i < m; i++) {
      const scores = Array.from({ length: n }, (_, j) => {
        let sum = 0;
        for (let d = 0; d < inner; d++) sum += q[(b * m + i) * inner + d]! * k[(b * n + j) * inner + d]!;
        return kept(i, j) ? sum / Math.sqrt(inner) + added[i * n + j]! : Number.NEGATIVE_INFINITY;
      });
      const most = Math.max(...scores);
      const powers = scores.map((score) => Math.exp(score - most));
      const total = powers.reduce((sum, power) => sum + power, 0);
      for (let e = 0; e < width; e++) {
        let sum = 0;
        for (let j = 0; j < n; j++) sum += powers[j]! * v[(b * n + j) * width + e]!;
        out[(b * m + i) * width + e] = sum / total;
      }
    }
  return out;
}

/** The largest difference of two results, infinite where only one of two elements is NaN. */
export function worstOf(found: Float64Array, expected: Float64Array): number {
  let worst = 0;
  expected.forEach((value, at) => {
    const other = found[at]!;
    if (Number.isNaN(value) !== Number.isNaN(other)) worst = Number.POSITIVE_INFINITY;
    else if (!Number.isNaN(value)) worst = Math.max(worst, Math.abs(other - value));
  });
  return worst;
}

/** The largest differences that rounding makes. */
export const TOLERANCES: Partial<Readonly<Record<DType, number>>> = {
  float32: 1e-5,
  float16: 4e-3,
  bfloat16: 3e-2,
};
