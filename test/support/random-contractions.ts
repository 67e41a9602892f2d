/**
 * Random einsums with small integers for elements, of which every order of the sums is exact, and their values
 * as a sum over all indices.
 */
import {
  DTYPES,
  type DType,
  isComplex,
  isFloat,
  isHalf,
  isInteger,
  type Scalar,
} from '../../src/graph/dtype.js';
import {
  type EinsumOptions,
  einsum,
  type Lazy,
  type ProductLibrary,
  type ProductPrecision,
  resultType,
} from '../../src/index.js';
import { type Prepared, toLazy } from './api.js';
import { fromScalars, type HostArray, sizeOf, toScalars } from './host.js';
import { generator } from './random.js';
import { wrap } from './scalar.js';

const MOST_OPERANDS = 6;
const MOST_LABELS = 8;
const MOST_AXES = 4;
/** Sizes, the likelier the more often they stand here. */
const SIZES = [2, 3, 2, 3, 5, 1, 7, 4, 2, 3, 1, 2, 3, 5, 2, 3, 2, 0];
/** Rows, columns and terms of products that are large enough for a library, and matrices along a batch label. */
const ROWS = [9, 10, 11, 12];
const TERMS = [2, 3, 4, 5];
const BATCHES = [2, 3];
/** Indices of all labels; and terms of a sum of which halves hold every value. */
const MOST_INDICES = 4000;
const MOST_HALF_TERMS = 256;
const LETTERS = 'abcdefgh';
const PRECISIONS = ['float32', 'tf32', 'tf32x3'] as const;

export interface Contraction {
  readonly subscripts: string;
  readonly operands: readonly HostArray[];
  readonly sizes: readonly number[];
  /** By operand the labels of its axes, and those of the result. */
  readonly inputs: readonly (readonly number[])[];
  readonly output: readonly number[];
  /** By operand the step of each axis in the array that it is a view of: −1 is flipped, 2 every other element. */
  readonly steps: readonly (readonly number[])[];
  /** By operand the order of its axes in memory. */
  readonly orders: readonly (readonly number[])[];
  /** Of a contraction of float32. */
  readonly precision: ProductPrecision | undefined;
  /** Whether it is written with lists of numbers. */
  readonly inLists: boolean;
  readonly isImplicit: boolean;
}

/** The contraction of a seed. */
export function randomContraction(seed: number): Contraction {
  const random = generator(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  for (;;) {
    const product = random() < 0.25 ? libraryProduct(random) : undefined;
    const { sizes, inputs } = product ?? anyOperands(below, pick);
    const used = [...new Set(inputs.flat())];
    if (used.reduce((volume, label) => volume * sizes[label]!, 1) > MOST_INDICES) continue;
    const isImplicit = product === undefined && random() < 0.2;
    const output = isImplicit
      ? onceIn(inputs.flat())
      : (product?.output ?? shuffled(used, random).slice(0, below(used.length + 1)));
    const terms = used.reduce((n, label) => (output.includes(label) ? n : n * Math.max(1, sizes[label]!)), 1);
    const own = pick(DTYPES);
    const dtypes = inputs.map(() => (random() < 0.6 ? own : pick(DTYPES)));
    if (isHalf(resultType(...dtypes)) && terms > MOST_HALF_TERMS) continue;
    const operands = inputs.map((list, k) => {
      const spread = list.filter(() => random() < 0.12); // axes of size 1 that broadcast
      const shape = list.map((label) => (spread.includes(label) ? 1 : sizes[label]!));
      return fromScalars(
        dtypes[k]!,
        shape,
        Array.from({ length: sizeOf(shape) }, () => element(dtypes[k]!, below)),
      );
    });
    const text = (list: readonly number[]): string => list.map((label) => LETTERS[label]).join('');
    const subscripts = `${inputs.map(text).join(',')}${isImplicit ? '' : `->${text(output)}`}`;
    const inLists = random() < 0.3;
    const steps = operands.map(({ shape }) => shape.map(() => (random() < 0.25 ? pick([-1, 2, -2, 3]) : 1)));
    const orders = operands.map(({ shape }) => {
      const axes = shape.map((_, axis) => axis);
      return random() < 0.4 ? shuffled(axes, random) : axes;
    });
    const isSingle = resultType(...dtypes) === 'float32';
    const precision = isSingle && random() < 0.5 ? pick(PRECISIONS) : undefined;
    return { subscripts, operands, sizes, inputs, output, steps, orders, precision, inLists, isImplicit };
  }
}

interface Labelled {
  readonly sizes: readonly number[];
  readonly inputs: readonly (readonly number[])[];
}

function anyOperands(below: (n: number) => number, pick: <T>(list: readonly T[]) => T): Labelled {
  const count = 1 + below(MOST_OPERANDS);
  const labels = 1 + below(MOST_LABELS);
  const sizes = Array.from({ length: labels }, () => pick(SIZES));
  const inputs = Array.from({ length: count }, () =>
    Array.from({ length: below(MOST_AXES + 1) }, () => below(labels)),
  );
  return { sizes, inputs };
}

/** Two operands with up to two batch labels, each with its labels in any order, as the result. */
function libraryProduct(random: () => number): Labelled & { readonly output: readonly number[] } {
  const pick = (list: readonly number[]): number => list[Math.floor(random() * list.length)]!;
  const batch = Array.from({ length: Math.floor(random() * 3) }, (_, label) => label);
  const [m, n, k] = [batch.length, batch.length + 1, batch.length + 2];
  return {
    sizes: [...batch.map(() => pick(BATCHES)), pick(ROWS), pick(ROWS), pick(TERMS)],
    inputs: [shuffled([...batch, m, k], random), shuffled([...batch, k, n], random)],
    output: shuffled([...batch, m, n], random),
  };
}

const onceIn = (labels: readonly number[]): number[] =>
  labels.filter((label) => labels.indexOf(label) === labels.lastIndexOf(label)).sort((a, b) => a - b);

function shuffled(list: readonly number[], random: () => number): number[] {
  return list
    .map((label) => ({ label, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ label }) => label);
}

function element(dtype: DType, below: (n: number) => number): Scalar {
  if (dtype === 'bool') return below(3) > 0;
  if (isComplex(dtype)) return { re: below(3) - 1, im: below(3) - 1 };
  const value = below(3) - 1;
  if (isFloat(dtype)) return value;
  return BigInt(dtype.startsWith('u') ? value + 1 : value);
}

/** A Gaussian integer, which all elements are. */
interface Exact {
  readonly re: bigint;
  readonly im: bigint;
}

const exact = (value: Scalar): Exact =>
  typeof value === 'object' ? { re: BigInt(value.re), im: BigInt(value.im) } : { re: BigInt(value), im: 0n };

/** The sum over all indices of the products of elements. */
export function contractionValue({ operands, sizes, inputs, output }: Contraction): HostArray {
  const dtype = resultType(...operands.map((operand) => operand.dtype));
  const values = operands.map((operand) => toScalars(operand).map(exact));
  // A label whose axes all have size 1 has size 1.
  const sizeBy = sizes.map(
    (_, label) =>
      inputs
        .flatMap((list, k) =>
          list.flatMap((each, axis) => (each === label ? [operands[k]!.shape[axis]!] : [])),
        )
        .find((n) => n !== 1) ?? 1,
  );
  const order = [...output, ...new Set(inputs.flat().filter((label) => !output.includes(label)))];
  const at = sizes.map(() => 0);
  const positionIn = (k: number): number =>
    inputs[k]!.reduce((position, label, axis) => {
      const size = operands[k]!.shape[axis]!;
      return position * size + (size === 1 ? 0 : at[label]!);
    }, 0);
  const shape = output.map((label) => sizeBy[label]!);
  const sums = Array.from({ length: sizeOf(shape) }, (): Exact => ({ re: 0n, im: 0n }));
  const walk = (depth: number, position: number): void => {
    if (depth < order.length) {
      const label = order[depth]!;
      for (let i = 0; i < sizeBy[label]!; i++) {
        at[label] = i;
        walk(depth + 1, depth < output.length ? position * sizeBy[label]! + i : position);
      }
      return;
    }
    const term = values.reduce<Exact>((product, list, k) => times(product, list[positionIn(k)]!), {
      re: 1n,
      im: 0n,
    });
    sums[position] = { re: sums[position]!.re + term.re, im: sums[position]!.im + term.im };
  };
  walk(0, 0);
  return fromScalars(
    dtype,
    shape,
    sums.map((sum) => asScalar(dtype, sum)),
  );
}

const times = (a: Exact, b: Exact): Exact => ({
  re: a.re * b.re - a.im * b.im,
  im: a.re * b.im + a.im * b.re,
});

function asScalar(dtype: DType, { re, im }: Exact): Scalar {
  if (dtype === 'bool') return re !== 0n;
  if (isInteger(dtype)) return wrap(dtype, re);
  return isComplex(dtype) ? { re: Number(re), im: Number(im) } : Number(re);
}

export function buildContraction(
  { subscripts, operands, inputs, output, steps, orders, precision, inLists, isImplicit }: Contraction,
  given: EinsumOptions = {},
): Lazy {
  const arrays = operands.map((operand, k) => viewed(operand, steps[k]!, orders[k]!));
  const options = precision === undefined ? given : { ...given, precision };
  if (!inLists) return einsum(subscripts, ...arrays, options);
  const lists = arrays.flatMap((array, k) => [array, inputs[k]!]);
  return isImplicit ? einsum(...lists, options) : einsum(...lists, output, options);
}

/**
 * An operand as a view, by steps, of an array that holds other elements between its own, with its axes in another
 * order.
 */
function viewed(operand: HostArray, steps: readonly number[], order: readonly number[]): Lazy {
  if (steps.every((step) => step === 1) && order.every((axis, k) => axis === k)) return toLazy(operand);
  const { dtype, shape } = operand;
  const values = toScalars(operand);
  const wide = shape.map((n, axis) => (n === 0 ? 0 : (n - 1) * Math.abs(steps[axis]!) + 1));
  const filler = values[0] ?? 0;
  const data: Scalar[] = Array.from({ length: sizeOf(wide) }, () => filler);
  for (const [position, value] of values.entries()) {
    let [rest, at, stride] = [position, 0, 1];
    const index: number[] = [];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      index[axis] = rest % shape[axis]!;
      rest = Math.floor(rest / shape[axis]!);
    }
    for (const axis of order.toReversed()) {
      const step = steps[axis]!;
      at += stride * (step > 0 ? index[axis]! * step : wide[axis]! - 1 + index[axis]! * step);
      stride *= wide[axis]!;
    }
    data[at] = value;
  }
  const inMemory = order.map((axis) => wide[axis]!);
  return toLazy(fromScalars(dtype, inMemory, data))
    .permuteDims(wide.map((_, axis) => order.indexOf(axis)))
    .slice(...steps.map((step) => [null, null, step] as const));
}

/** Whether a library of a GPU has the products of a contraction. */
export function isForLibraries({ operands }: Contraction): boolean {
  const dtype = resultType(...operands.map((operand) => operand.dtype));
  return isFloat(dtype) || isComplex(dtype);
}

/** The contraction of a seed as a case of the conformance suite; of a library that has it by that. */
export function preparedContraction(seed: number, library?: ProductLibrary): Prepared {
  const contraction = randomContraction(seed);
  const { operands, subscripts } = contraction;
  const types = operands.map(({ dtype, shape }) => `${dtype} [${shape}]`).join(', ');
  return {
    label: `seed ${seed}: ${subscripts} of ${types}${library === undefined ? '' : ` by ${library}`}`,
    build: () => buildContraction(contraction, isForLibraries(contraction) ? { library } : {}),
    check: (actual) => {
      const [received, wanted] = [textOf(actual), textOf(contractionValue(contraction))];
      return received === wanted ? undefined : `${received}, not ${wanted}`;
    },
  };
}

export const textOf = (array: HostArray): string =>
  `${array.dtype} [${array.shape}] ${toScalars(array)
    .map((value) => (typeof value === 'object' ? `${value.re + 0}+${value.im + 0}i` : String(value)))
    .join(' ')}`;
