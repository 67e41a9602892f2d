/** Errors of products of each precision against float64, over lengths of the contracted axis and over scales. */
import { lazy } from '../../src/index.js';

export const PRECISIONS = ['float32', 'tf32', 'tf32x3'] as const;

/** Factors of one magnitude, or of magnitudes from 2⁻¹⁰ to 2¹⁰. */
export type Scale = number | 'mixed';

export interface PrecisionErrors {
  readonly k: number;
  readonly scale: Scale;
  /** Of each precision the largest |error| against the sum of the magnitudes of the products. */
  readonly errors: Readonly<Record<(typeof PRECISIONS)[number], number>>;
}

/** The same numbers for the same seed, in [-1, 1) times the scale: Numerical Recipes' linear congruence. */
function factors(seed: number, count: number, scale: Scale): Float32Array {
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
  return Float32Array.from({ length: count }, () => {
    const value = next();
    return value * (scale === 'mixed' ? 2 ** Math.round(10 * next()) : scale);
  });
}

/** Rows and columns of a product. */
export type Sides = readonly [rows: number, columns: number];

/** The errors of a (rows, k) · (k, columns) on a device. */
export async function precisionErrors(
  device: string,
  [rows, columns]: Sides,
  k: number,
  scale: Scale,
): Promise<PrecisionErrors> {
  const a = lazy({ data: factors(1, rows * k, scale), shape: [rows, k] });
  const b = lazy({ data: factors(2, k * columns, scale), shape: [k, columns] });
  const [wide, narrow] = [a.astype('float64'), b.astype('float64')];
  const exact = wide.matmul(narrow);
  const size = wide.abs().matmul(narrow.abs());
  const errorOf = async (precision: (typeof PRECISIONS)[number]): Promise<number> => {
    const product = a.matmul(b, { precision }).astype('float64');
    return (await product.sub(exact).abs().div(size).max().compute({ device })).data[0] as number;
  };
  const [float32, tf32, tf32x3] = [await errorOf('float32'), await errorOf('tf32'), await errorOf('tf32x3')];
  return { k, scale, errors: { float32, tf32, tf32x3 } };
}
