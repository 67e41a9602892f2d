/** Jobs of attention whose operands are parts of arrays, or whose heads stand behind positions. */
import { arange, type DType, type Lazy, lazy, where } from '../../src/index.js';

export interface PlacedJob {
  readonly name: string;
  readonly dtype: DType;
  readonly inputs: readonly (readonly number[])[];
  /** Q, K and V, each of (batches …, rows, columns). */
  readonly operands: (inputs: readonly Lazy[]) => readonly [Lazy, Lazy, Lazy];
  readonly isCausal?: boolean;
  /** The result as it is wanted. */
  readonly wanted: (result: Lazy) => Lazy;
  /** Steps of a plan; one, where nothing is copied. */
  readonly steps: readonly string[];
}

type Operands = readonly [Lazy, Lazy, Lazy];
const three = (of: (part: number) => Lazy): Operands => [of(0), of(1), of(2)];
const behind = (x: Lazy): Lazy => x.permuteDims([0, 2, 1, 3]);
const inRows = (x: Lazy): Lazy => {
  const [b, h, n, d] = x.shape as readonly [number, number, number, number];
  return behind(x).reshape([b, n, h * d]);
};

/** Heads `h` of `d` numbers in an array (b, n, 3, h, d). */
const packed = (name: string, dtype: DType, h: number, d: number, rows = 70): PlacedJob => ({
  name: `${name}, ${dtype}`,
  dtype,
  inputs: [[2, rows, 3, h, d]],
  operands: ([x]) => three((part) => behind(x!.slice(null, null, part))),
  wanted: inRows,
  steps: ['attention'],
});

export const PLACED_JOBS: readonly PlacedJob[] = [
  packed('one array of all', 'float32', 3, 16),
  packed('one array of all, five columns', 'float32', 2, 5),
  packed('one array of all, heads of 64', 'float32', 2, 64),
  { ...packed('one array of all, causal', 'float16', 3, 24), isCausal: true },
  packed('one array of all, heads of 64', 'bfloat16', 2, 64, 130),
  packed('one array of all, nine columns', 'bfloat16', 2, 9),
  packed('one array of all, heads of 128', 'float16', 2, 128, 200),
  {
    ...packed('', 'float32', 3, 16),
    name: 'columns of one matrix for each batch',
    inputs: [[2, 50, 3 * 48]],
    operands: ([x]) =>
      three((part) => behind(x!.slice(null, null, [48 * part, 48 * part + 48]).reshape([2, 50, 3, 16]))),
  },
  {
    ...packed('', 'float16', 4, 16),
    name: 'halves, parts of a permuted array',
    inputs: [[2, 50, 3 * 64]],
    operands: ([x]) => {
      const parts = x!.reshape([2, 50, 3, 4, 16]).permuteDims([2, 0, 3, 1, 4]);
      return three((part) => parts.slice(part));
    },
  },
  {
    ...packed('', 'float32', 3, 16),
    name: 'positions first',
    inputs: [[50, 2, 3, 3, 16]],
    operands: ([x]) => three((part) => x!.slice(null, null, part).permuteDims([1, 2, 0, 3])),
    wanted: (result) => result.permuteDims([2, 0, 1, 3]).reshape([50, 2, 48]),
  },
  {
    ...packed('', 'float32', 3, 16),
    name: 'heads that share keys and values',
    inputs: [
      [2, 40, 6, 16],
      [2, 70, 2, 2, 16],
    ],
    operands: ([q, x]) => {
      const shared = (part: number): Lazy => behind(x!.slice(null, null, part)).slice(null, null, 'newaxis');
      return [q!.reshape([2, 40, 2, 3, 16]).permuteDims([0, 2, 3, 1, 4]), shared(0), shared(1)];
    },
    wanted: (result) => result.permuteDims([0, 3, 1, 2, 4]).reshape([2, 40, 96]),
  },
  {
    ...packed('', 'float32', 3, 16),
    name: 'every other row of an array without batches',
    inputs: [[140, 3, 3, 16]],
    operands: ([x]) => three((part) => x!.slice([null, null, 2], part).permuteDims([1, 0, 2])),
    wanted: (result) => result,
  },
  {
    ...packed('', 'float32', 3, 16),
    name: 'rows that begin between places of 16 bytes',
    inputs: [[2, 50, 145]],
    operands: ([x]) => {
      const parts = x!.slice(null, null, [1, 145]).reshape([2, 50, 3, 3, 16]);
      return three((part) => behind(parts.slice(null, null, part)));
    },
    steps: ['map_copy', 'attention'],
  },
  {
    ...packed('', 'float32', 3, 16),
    name: 'columns that lie apart',
    inputs: [[2, 50, 3, 16, 3]],
    operands: ([x]) => three((part) => x!.slice(null, null, part).permuteDims([0, 3, 1, 2])),
    steps: ['map_copy', 'attention'],
  },
];

/** The operands of a job in memory, of numbers that halves have, too. */
export function operandsOf({ inputs, dtype, operands }: PlacedJob): Operands {
  const arrays = inputs.map((shape, seed) => {
    const count = shape.reduce((a, b) => a * b, 1);
    const numbers = Float32Array.from({ length: count }, (_, i) => (((i + seed) * 7919) % 257) / 64 - 2);
    return lazy(numbers).reshape(shape).astype(dtype);
  });
  return operands(arrays);
}

/** The attention of a job. */
export function attentionOf({ isCausal = false }: PlacedJob, [q, k, v]: Operands): Lazy {
  const scores = q.matmul(k.mT).mul(0.25);
  if (!isCausal) return scores.softmax(-1).matmul(v);
  const [rows, columns] = [q, k].map((x) => arange(x.shape.at(-2)!, { dtype: 'int64' })) as [Lazy, Lazy];
  return where(rows.reshape([-1, 1]).greaterEqual(columns), scores, Number.NEGATIVE_INFINITY)
    .softmax(-1)
    .matmul(v);
}
