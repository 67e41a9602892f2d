/**
 * Reads the committed NumPy fixtures (`test/fixtures`, made by `scripts/make-fixtures.py`): cases from a JSON
 * file, their arrays from the binary file beside it. Little-endian hosts only, as Node's are.
 */
import { readFileSync } from 'node:fs';
import type { DType } from '../../src/graph/dtype.js';
import type { Shape } from '../../src/graph/expr.js';
import { type HostArray, over, sizeOf } from './host.js';
import type { TableDescription } from './table.js';

/** An array in a fixture's binary file. */
export interface StoredArray {
  readonly dtype: DType;
  readonly shape: Shape;
  /** Byte offset. */
  readonly at: number;
}

export interface OpCase {
  readonly op: string;
  readonly dtype: DType;
  /** The first so many elements are ordinary values of the row's domain; the others are specials. */
  readonly random: number;
  readonly inputs: readonly StoredArray[];
  readonly output: StoredArray;
}

export interface CastCase {
  readonly source: DType;
  readonly target: DType;
  readonly input: StoredArray;
  readonly output: StoredArray;
}

export interface ReductionOptions {
  readonly axis?: number | readonly number[];
  readonly keepdims?: boolean;
  readonly correction?: number;
  readonly dtype?: DType;
  readonly ord?: number | 'inf' | '-inf';
}

export interface ReductionCase {
  readonly method: string;
  readonly dtype: DType;
  readonly options: ReductionOptions;
  readonly input: StoredArray;
  /** Largest absolute error; 0: exact. Missing with `error`. */
  readonly bound?: number;
  readonly output?: StoredArray;
  /** NumPy raises. */
  readonly error?: true;
}

export type ViewArgument = null | number | readonly (null | number | readonly (number | null)[])[];
export interface ViewCase {
  readonly call: string;
  readonly args: readonly ViewArgument[];
  readonly dtype: DType;
  readonly inputs: readonly StoredArray[];
  readonly output: StoredArray;
}

export interface MatmulCase {
  readonly dtype: DType;
  readonly a: StoredArray;
  readonly b: StoredArray;
  readonly output: StoredArray;
  readonly bound: number;
}

/** A call of a function of the API; `{ array: i }` stands for input i. */
export interface CompositeCase {
  readonly call: string;
  /** Which of the function's results it is, where it gives a list or an object. */
  readonly part?: number | string;
  readonly args: readonly unknown[];
  readonly inputs: readonly StoredArray[];
  readonly output: StoredArray;
  readonly bound: number;
  /** Whether a simulated GPU runs it, where it runs a part of the cases. */
  readonly few?: boolean;
}

export interface Promotion {
  /** The dtype NumPy gives, by op and dtype of the arguments; null where it takes none. */
  readonly results: Readonly<Record<string, Readonly<Record<string, DType | null>>>>;
  readonly dtypes: readonly DType[];
  readonly pairs: readonly (readonly DType[])[];
  readonly weak: Readonly<Record<'boolean' | 'integer' | 'fraction' | 'complex', readonly DType[]>>;
  readonly mixed: { readonly a: readonly number[]; readonly b: readonly number[] };
}

interface Groups {
  readonly ops: OpCase;
  readonly casts: CastCase;
  readonly reductions: ReductionCase;
  readonly views: ViewCase;
  readonly matmul: MatmulCase;
  readonly composites: CompositeCase;
  readonly sparse: CompositeCase;
  readonly functions: CompositeCase;
  readonly arrays: CompositeCase;
  readonly binning: CompositeCase;
  readonly fourier: CompositeCase;
  readonly linear: CompositeCase;
  readonly ndimage: CompositeCase;
}

export interface Fixtures<Case> {
  readonly cases: readonly Case[];
  /** The array behind a place in the file; it must not be written to. */
  readonly read: (stored: StoredArray) => HostArray;
}

const file = (name: string): Buffer => readFileSync(new URL(`../fixtures/${name}`, import.meta.url));
const json = (name: string): unknown => JSON.parse(file(name).toString('utf8'));

export function fixtures<Name extends keyof Groups>(name: Name): Fixtures<Groups[Name]> {
  const bytes = file(`${name}.bin`);
  // Copied to an aligned buffer: a Buffer may start anywhere in its pool.
  const buffer = new Uint8Array(bytes).buffer;
  const read = ({ dtype, shape, at }: StoredArray): HostArray => ({
    dtype,
    shape,
    data: over(dtype, buffer, at, sizeOf(shape)),
  });
  return { cases: json(`${name}.json`) as readonly Groups[Name][], read };
}

export const promotionFixture = (): Promotion => json('promotion.json') as Promotion;
export const tableFixture = (): TableDescription => json('table.json') as TableDescription;
