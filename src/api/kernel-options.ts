/** The arrays and scalars that a user's kernel takes and gives: their declarations, and what a call gives for them. */
import { DTYPES, type DType, isDType, isInteger, type Scalar } from '../graph/dtype.js';
import type { Expr, Shape } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { cast } from '../graph/infer.js';
import { inRange, isComplexValue, isScalar, weakValue } from '../graph/scalar.js';
import type { KernelOutput } from '../graph/user-kernel.js';
import { ArgumentError, DTypeError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { outsideCall } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf } from './lazy.js';
import { isRecord } from './structure.js';

/** An array that a kernel reads: its dtype, or one of several, and the number of its axes; without them, any. */
export interface KernelArray {
  readonly dtype?: DType | readonly DType[];
  readonly ndim?: number;
}

/** A number that a kernel takes by value. It is part of the kernel: another number is another one. */
export interface KernelScalar {
  readonly scalar: DType;
}

/** A parameter that is read: an array of a dtype, an array of several, or a scalar. */
export type KernelInput = DType | KernelArray | KernelScalar;

/** Input parameters by name, in the order of a call's arguments. */
export type KernelInputs = Readonly<Record<string, KernelInput>>;

/** An array of a call, as functions of shapes see it. */
export interface KernelShape {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly size: number;
}

/** Inputs of a call, and behind them its outputs, by name: arrays by dtype and shape, scalars by value. */
export type KernelShapes<Inputs extends KernelInputs = KernelInputs, Names extends string = never> = {
  readonly [K in keyof Inputs]: Inputs[K] extends KernelScalar ? number : KernelShape;
} & { readonly [K in Names]: KernelShape };

/** A value, or a function of the shapes of a call. */
export type OfShapes<T, Shapes> = T | ((shapes: Shapes) => T);

/** An array that a kernel writes. */
export interface KernelOutputSpec<Shapes = KernelShapes> {
  /** Without it, that of the input that it begins as. */
  readonly dtype?: OfShapes<DType, Shapes>;
  /** Without it, that of the input that it begins as. */
  readonly shape?: OfShapes<number | readonly number[], Shapes>;
  /**
   * Its elements before the kernel runs: those of the input of this name, or all one number. Without it they are
   * undefined, and the kernel has to write all of them.
   */
  readonly initial?: string | Scalar;
}

export const isScalarInput = (input: KernelInput): input is KernelScalar =>
  typeof input === 'object' && 'scalar' in input;

/** The declarations of inputs and outputs, looked at once. */
export function checkDeclared(op: string, inputs: unknown, outputs: unknown): asserts inputs is KernelInputs {
  if (!isRecord(inputs))
    throw new ArgumentError(expected(op, "inputs by name: { x: 'float32' }", formatValue(inputs)));
  for (const [name, input] of Object.entries(inputs as Record<string, unknown>)) checkInput(op, name, input);
  if (!isRecord(outputs) || Object.keys(outputs).length === 0)
    throw new ArgumentError(
      expected(op, "outputs by name: { y: { dtype: 'float32', shape: 8 } }", formatValue(outputs)),
    );
  for (const [name, output] of Object.entries(outputs as Record<string, unknown>)) {
    if (Object.hasOwn(inputs, name))
      throw new ArgumentError(expected(op, 'names that inputs and outputs do not share', name));
    checkOutput(op, name, output, inputs as KernelInputs);
  }
}

const DTYPE_LIST = DTYPES.join(', ');

function checkInput(op: string, name: string, input: unknown): void {
  if (isDType(input)) return;
  if (!isRecord(input))
    throw new ArgumentError(
      expected(op, `a dtype, { dtype, ndim } or { scalar } for the input ${name}`, formatValue(input)),
    );
  const { scalar, dtype, ndim } = input as { scalar?: unknown; dtype?: unknown; ndim?: unknown };
  const unknown = Object.keys(input).find((field) => !['scalar', 'dtype', 'ndim'].includes(field));
  if (unknown !== undefined || (scalar !== undefined && Object.keys(input).length > 1))
    throw new ArgumentError(
      expected(op, `{ dtype, ndim } or { scalar } for the input ${name}`, formatValue(input)),
    );
  const wanted = scalar ?? dtype ?? [];
  const list: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted];
  const wrong = list.find((each) => !isDType(each));
  if (wrong !== undefined || (scalar !== undefined && Array.isArray(scalar)))
    throw new DTypeError(
      expected(op, `a dtype of the input ${name}, one of ${DTYPE_LIST}`, formatValue(wrong)),
    );
  if (ndim !== undefined && !(Number.isInteger(ndim) && (ndim as number) >= 0))
    throw new ArgumentError(expected(op, `a number of axes of the input ${name}`, formatValue(ndim)));
}

function checkOutput(op: string, name: string, output: unknown, inputs: KernelInputs): void {
  const wanted = `{ dtype, shape } or { initial } for the output ${name}`;
  if (!isRecord(output)) throw new ArgumentError(expected(op, wanted, formatValue(output)));
  const unknown = Object.keys(output).find((field) => !['dtype', 'shape', 'initial'].includes(field));
  if (unknown !== undefined) throw new ArgumentError(expected(op, wanted, `a field ${unknown}`));
  const { dtype, shape, initial } = output as KernelOutputSpec;
  const source = typeof initial === 'string' ? inputs[initial] : undefined;
  if (typeof initial === 'string' && (source === undefined || isScalarInput(source)))
    throw new ArgumentError(expected(op, `an array among the inputs that ${name} begins as`, initial));
  if (initial !== undefined && typeof initial !== 'string' && !isScalar(initial))
    throw new ArgumentError(
      expected(op, `the name of an input or a number that ${name} begins as`, formatValue(initial)),
    );
  if ((dtype === undefined || shape === undefined) && source === undefined)
    throw new ArgumentError(expected(op, wanted, dtype === undefined ? 'no dtype' : 'no shape'));
}

/** The place of an input among the arrays, or its value. */
export type GivenInput = { readonly input: number } | { readonly dtype: DType; readonly value: Scalar };

/** The arguments of a call. */
export interface KernelGiven {
  /** Arrays, in order. */
  readonly arrays: readonly Expr[];
  readonly inputs: ReadonlyMap<string, GivenInput>;
  readonly shapes: Readonly<Record<string, KernelShape | Scalar>>;
}

export function givenOf(op: string, inputs: KernelInputs, args: readonly unknown[]): KernelGiven {
  const declared = Object.entries(inputs);
  if (args.length !== declared.length) {
    const names = declared.map(([name]) => name).join(', ');
    const count = `${declared.length} argument${declared.length === 1 ? '' : 's'}`;
    throw new ArgumentError(expected(op, names === '' ? count : `${count}, ${names}`, `${args.length}`));
  }
  const arrays: Expr[] = [];
  const shapes: Record<string, KernelShape | Scalar> = {};
  const given = declared.map(([name, input], k): readonly [string, GivenInput] => {
    if (isScalarInput(input)) {
      const value = scalarOf(op, name, input, args[k]);
      shapes[name] = value;
      return [name, { dtype: input.scalar, value }];
    }
    const array = arrayOf(op, name, input, args[k]);
    shapes[name] = shapeOf(array);
    arrays.push(array);
    return [name, { input: arrays.length - 1 }];
  });
  return { arrays, inputs: new Map(given), shapes };
}

export const shapeOf = ({ dtype, shape }: { dtype: DType; shape: Shape }): KernelShape => ({
  dtype,
  shape: [...shape],
  size: sizeOfShape(shape),
});

/** A number of a dtype; throws where it does not hold the value. */
export function scalarOf(op: string, name: string, { scalar: dtype }: KernelScalar, value: unknown): Scalar {
  if (!isScalar(value))
    throw new ArgumentError(
      expected(op, `a number for ${name}`, formatValue(value), 'arrays are inputs by dtype'),
    );
  const isWhole = typeof value === 'bigint' || typeof value === 'boolean' || Number.isInteger(value);
  if (isInteger(dtype) && !(isWhole && (typeof value === 'boolean' || inRange(value as number, dtype))))
    throw new RangeArgumentError(expected(op, `an integer of ${dtype} for ${name}`, formatValue(value)));
  if (isComplexValue(value) && !dtype.startsWith('complex'))
    throw new DTypeError(expected(op, `a real number for ${name}`, formatValue(value)));
  return weakValue(op, value, dtype);
}

function arrayOf(op: string, name: string, input: DType | KernelArray, value: unknown): Expr {
  const { dtype, ndim } = typeof input === 'string' ? { dtype: input, ndim: undefined } : input;
  const wanted: readonly DType[] = dtype === undefined ? [] : typeof dtype === 'string' ? [dtype] : dtype;
  let array = exprOf(op, value as ArrayLike);
  // Lists and numbers of JavaScript's have no dtype of their own.
  if ((isScalar(value) || Array.isArray(value)) && wanted.length === 1) array = cast(array, wanted[0]!);
  if (wanted.length > 0 && !wanted.includes(array.dtype))
    throw new DTypeError(
      expected(op, `${name} of ${wanted.join(' or ')}`, array.dtype, `${name}.astype('${wanted[0]}')`),
    );
  if (ndim !== undefined && array.shape.length !== ndim)
    throw new ShapeError(expected(op, `${name} with ${ndim} axes`, `${array.shape.length}`));
  return array.weak ? { ...array, weak: false } : array;
}

/** A value, or what a function of the user's gives for the shapes of a call. */
export function resolved<T>(
  value: OfShapes<T, never> | undefined,
  shapes: KernelGiven['shapes'],
): T | undefined {
  if (typeof value !== 'function') return value;
  return outsideCall(() => (value as (shapes: KernelGiven['shapes']) => T)(shapes));
}

const MOST_ELEMENTS = 2 ** 53;

/** The outputs of a call. */
export function outputsOf(
  op: string,
  outputs: Readonly<Record<string, KernelOutputSpec<never>>>,
  { arrays, inputs, shapes }: KernelGiven,
): KernelOutput[] {
  return Object.entries(outputs).map(([name, spec]): KernelOutput => {
    const { initial } = spec;
    const source = typeof initial === 'string' ? (inputs.get(initial) as { input: number }) : undefined;
    const begins = source === undefined ? undefined : arrays[source.input]!;
    const dtype = resolved(spec.dtype, shapes) ?? begins!.dtype;
    if (!isDType(dtype))
      throw new DTypeError(expected(op, `a dtype of ${name}, one of ${DTYPE_LIST}`, formatValue(dtype)));
    const shape = checkShape(op, name, resolved(spec.shape, shapes) ?? begins!.shape);
    if (begins !== undefined && (begins.dtype !== dtype || begins.shape.join() !== shape.join()))
      throw new ShapeError(
        expected(op, `${name} as ${initial as string} is, which it begins as`, `${dtype} [${shape}]`),
      );
    if (initial === undefined) return { dtype, shape };
    if (source !== undefined) return { dtype, shape, initial: source };
    return { dtype, shape, initial: { value: weakValue(op, initial as Scalar, dtype) } };
  });
}

function checkShape(op: string, name: string, value: unknown): readonly number[] {
  const shape: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isSize = (size: unknown): size is number => Number.isInteger(size) && (size as number) >= 0;
  if (!shape.every(isSize) || sizeOfShape(shape) > MOST_ELEMENTS)
    throw new ShapeError(expected(op, `a shape of ${name}`, formatValue(value)));
  return [...shape];
}
