/**
 * Products with epilogues, each form as a user writes it, and how far a device's may be from float64: for the
 * simulator (`test/sim/epilogues.test.ts`) and for GPUs (`test/devices/epilogues.ts`).
 */
import { type DType, type Lazy, lazy } from '../../src/index.js';

export interface Sizes {
  readonly m: number;
  readonly k: number;
  readonly n: number;
}

export interface Operands extends Sizes {
  readonly a: Lazy;
  readonly b: Lazy;
  readonly c: Lazy;
  readonly bias: Lazy;
}

const wave = (length: number, seed: number): Float64Array =>
  Float64Array.from({ length }, (_, i) => Math.sin(seed + 0.7 * i));

/** An array in memory, so that no cast is left in the graph. */
export async function stored(shape: readonly number[], seed: number, dtype: DType): Promise<Lazy> {
  const data = wave(
    shape.reduce((a, b) => a * b, 1),
    seed,
  );
  return lazy(
    await lazy({ data, shape: [...shape] })
      .astype(dtype)
      .compute({ device: 'cpu' }),
  );
}

/** m a multiple of 6. */
export async function operandsOf(dtype: DType, { m, k, n }: Sizes): Promise<Operands> {
  const a = await stored([m, k], 1, dtype);
  const b = await stored([k, n], 2, dtype);
  const c = await stored([m, n], 3, dtype);
  return { a, b, c, bias: await stored([n], 4, dtype), m, k, n };
}

export const FORMS: Readonly<Record<string, (o: Operands) => Lazy>> = {
  'alpha 2.5': ({ a, b }) => a.matmul(b).mul(2.5),
  'alpha -3, of an operand': ({ a, b }) => a.mul(-3).matmul(b),
  '+ addend': ({ a, b, c }) => a.matmul(b).add(c),
  'alpha 2, + 0.5 addend': ({ a, b, c }) => c.mul(0.5).add(a.matmul(b).mul(2)),
  '+ -1 addend': ({ a, b, c }) => a.matmul(b).sub(c),
  '+ bias': ({ a, b, bias }) => a.matmul(b).add(bias),
  '+ bias, relu': ({ a, b, bias }) => a.matmul(b).add(bias).relu(),
  '+ addend, + bias, relu': ({ a, b, c, bias }) => a.matmul(b).add(c).add(bias).maximum(0),
  '+ bias, gelu': ({ a, b, bias }) => a.matmul(b).add(bias).gelu({ approximate: 'tanh' }),
  'alpha 0.25, gelu': ({ a, b }) => a.matmul(b).mul(0.25).gelu({ approximate: 'tanh' }),
  'of transposed operands, + bias': ({ a, b, bias, m, k, n }) =>
    a
      .reshape([k, m])
      .T.matmul(b.reshape([n, k]).T)
      .add(bias),
  'of stacks, + bias, relu': ({ a, b, bias, m, k, n }) =>
    a
      .reshape([3, m / 3, k])
      .matmul(b)
      .add(bias.reshape([1, n]))
      .relu(),
  'of batches, + bias': ({ a, c, m, k }) =>
    a
      .reshape([2, m / 2, k])
      .matmul(a.reshape([2, k, m / 2]))
      .add(c.reshape([-1]).slice([0, m / 2])),
};

/** The largest error beside the largest value of a result. */
export const ROUNDED: Readonly<Partial<Record<DType, number>>> = {
  float16: 2 ** -8,
  bfloat16: 2 ** -5,
  float32: 1e-5,
  float64: 1e-13,
  complex64: 1e-5,
  complex128: 1e-13,
};

/** The forms that a dtype has as one call. */
export const formsOf = (dtype: DType): [string, (o: Operands) => Lazy][] =>
  Object.entries(FORMS).filter(
    ([name]) => ['float32', 'float16', 'bfloat16'].includes(dtype) || !/bias|relu|gelu/.test(name),
  );

/** Real and imaginary parts. */
export async function parts(x: Lazy): Promise<number[]> {
  const { data } = await x.astype('complex128').compute({ device: 'cpu' });
  return [...(data as Float64Array)];
}

export const largest = (numbers: readonly number[]): number =>
  numbers.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
