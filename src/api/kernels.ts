/** Kernels of the user's own, with blocks, threads and shared memory: `kernel`. */
import { createHash } from 'node:crypto';
import { refuseMore } from '../graph/arguments.js';
import { call } from '../graph/calls.js';
import type { DType } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatScalar, formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import type { KernelArgument, KernelCode, UserKernel } from '../graph/user-kernel.js';
import { ArgumentError, expected, RangeArgumentError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { cudaCode } from './kernel-cuda.js';
import { checkBlock, checkCuts, checkGrid, checkShared, type KernelCutsSpec } from './kernel-launch.js';
import {
  checkDeclared,
  givenOf,
  isScalarInput,
  type KernelGiven,
  type KernelInputs,
  type KernelOutputSpec,
  type KernelShapes,
  type OfShapes,
  outputsOf,
  resolved,
  shapeOf,
} from './kernel-options.js';
import { Lazy } from './lazy.js';
import { isRecord } from './structure.js';

/** Outputs by name. */
export type KernelOutputs<Inputs extends KernelInputs> = Readonly<
  Record<string, KernelOutputSpec<KernelShapes<Inputs>>>
>;

/** Blocks or threads along x, or along up to three axes. */
export type KernelSizes = number | readonly number[];

/** The names of a record's fields. */
type NameOf<T> = Extract<keyof T, string>;

/** The launch of a kernel, and the arrays that it reads and writes. */
export interface KernelOptions<Inputs extends KernelInputs, Outputs extends KernelOutputs<Inputs>> {
  /** What it reads, by name, in the order of the arguments of a call. */
  readonly inputs: Inputs;
  /** What it writes, by name. */
  readonly outputs: Outputs;
  /** Blocks along x, y and z. */
  readonly grid: OfShapes<KernelSizes, KernelShapes<Inputs, NameOf<Outputs>>>;
  /** Threads of a block along x, y and z, 1,024 in all. */
  readonly block: OfShapes<KernelSizes, KernelShapes<Inputs, NameOf<Outputs>>>;
  /** Dynamic shared memory of a block in bytes: `extern __shared__`. */
  readonly shared?: OfShapes<number, KernelShapes<Inputs, NameOf<Outputs>>>;
  /** How it may be run in parts, where it does not fit as a whole; without it, it is refused there. */
  readonly cuts?: OfShapes<KernelCutsSpec, KernelShapes<Inputs, NameOf<Outputs>>>;
  /** The function, or an instantiation of a template: `'saxpy<float>'`. Without it, the only kernel of the source. */
  readonly name?: OfShapes<string, KernelShapes<Inputs>>;
  /**
   * The names of inputs and outputs in the order of the function's parameters; without it, inputs, but those that outputs
   * begin as, then outputs. With `cuts`, `'firstBlock'` is an `unsigned int` that is added to `blockIdx` along their axis; it comes last if it is
   * not named.
   */
  readonly parameters?: readonly string[];
  /** Further options of NVRTC: `['--use_fast_math', '-I/opt/headers', '-DTILE=16']`. */
  readonly options?: readonly string[];
}

type IsOne<Name, All = Name> = Name extends unknown ? ([All] extends [Name] ? true : false) : never;

type OutputOf<Spec> = Spec extends { readonly dtype: infer D extends DType } ? Lazy<D> : Lazy;

/** One array, or of several outputs each by its name. */
export type KernelResult<Outputs> =
  IsOne<keyof Outputs> extends true
    ? OutputOf<Outputs[keyof Outputs]>
    : { readonly [Name in keyof Outputs]: OutputOf<Outputs[Name]> };

/** A kernel as a function of its inputs. */
export type KernelFunction<Outputs> = (...inputs: readonly ArrayLike[]) => KernelResult<Outputs>;

const OPTIONS = ['inputs', 'outputs', 'grid', 'block', 'shared', 'cuts', 'name', 'parameters', 'options'];

/**
 * A kernel in CUDA C as a function of arrays: a node like any other, which is planned within the budget, put into
 * streams and graphs, timed and explained. The source is compiled by NVRTC for each device, once, and kept on disk.
 *
 * Arrays are passed by address, in C order, as pointers to their dtype: `const float*` for float32, `__half` or
 * `unsigned short` for float16, `float2` or a struct of two for complex64; scalars by value. Grids, blocks, shapes
 * and shared memory may follow from shapes: `({ x }) => Math.ceil(x.size / 256)`. An output with `initial` holds a
 * number, or an input's elements, before the kernel runs, so that it may add to them.
 *
 * Results have the bits that the kernel gives: atomic operations on floats may give others each time. What it writes
 * outside of its arrays is not found here; `docs/design/user-kernels.md` says how to look for it.
 *
 * Throws an ArgumentError, a DTypeError, a ShapeError or a RangeArgumentError for declarations and arguments that do
 * not fit, with the name of the array. `compute` rejects with a CompileError for a source that does not compile, with
 * line and column in the user's file, and with a DeviceError without a GPU.
 *
 * @example
 * const saxpy = kernel(
 *   `extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* out, int n) {
 *     int i = blockIdx.x * blockDim.x + threadIdx.x;
 *     if (i < n) out[i] = a * x[i] + y[i];
 *   }`,
 *   {
 *     inputs: { a: { scalar: 'float32' }, x: 'float32', y: 'float32', n: { scalar: 'int32' } },
 *     outputs: { out: { dtype: 'float32', shape: ({ x }) => x.shape } },
 *     parameters: ['a', 'x', 'y', 'out', 'n'],
 *     grid: ({ n }) => Math.ceil(n / 256),
 *     block: 256,
 *   },
 * );
 * console.log(saxpy(2, ones([4], { dtype: 'float32' }), ones([4], { dtype: 'float32' }), 4).shape);
 * //=> [ 4 ]
 */
export function kernel<const Inputs extends KernelInputs, const Outputs extends KernelOutputs<Inputs>>(
  source: string,
  options: KernelOptions<Inputs, Outputs>,
): KernelFunction<Outputs>;
export function kernel(
  source: string,
  options: KernelOptions<KernelInputs, KernelOutputs<KernelInputs>>,
  ...more: readonly unknown[]
): unknown {
  return called(kernel, () => {
    refuseMore('kernel', 2, [source, options, ...more]);
    const made = new DeclaredKernel(source, options);
    const apply = (...args: readonly unknown[]): unknown => called(apply, () => made.apply(args));
    return apply;
  });
}

type AnyOptions = KernelOptions<KernelInputs, KernelOutputs<KernelInputs>>;

class DeclaredKernel {
  readonly #options: AnyOptions;
  readonly #outputs: readonly string[];
  readonly #code: (shapes: KernelGiven['shapes']) => KernelCode;
  /** Names of the parameters, in order. */
  readonly #parameters: readonly string[];

  constructor(source: string, options: AnyOptions) {
    if (typeof source !== 'string' || source.trim() === '')
      throw new ArgumentError(expected('kernel', 'CUDA C', formatValue(source)));
    if (!isRecord(options))
      throw new ArgumentError(expected('kernel', '{ inputs, outputs, grid, block }', formatValue(options)));
    const unknown = Object.keys(options).find((field) => !OPTIONS.includes(field));
    if (unknown !== undefined)
      throw new ArgumentError(expected('kernel', `options ${OPTIONS.join(', ')}`, unknown));
    for (const field of ['grid', 'block'] as const) {
      if (options[field] === undefined) throw new ArgumentError(expected('kernel', `a ${field}`, 'none'));
    }
    checkDeclared('kernel', options.inputs, options.outputs);
    this.#options = options;
    this.#outputs = Object.keys(options.outputs);
    this.#code = cudaCode(source, options);
    this.#parameters = parametersOf(options, this.#outputs);
  }

  apply(args: readonly unknown[]): unknown {
    const { inputs, outputs, cuts: cutsSpec } = this.#options;
    const op = 'kernel';
    const given = givenOf(op, inputs, args);
    const code = this.#code(given.shapes);
    const made = outputsOf(op, outputs, given);
    const named = new Map(this.#outputs.map((name, k) => [name, made[k]!]));
    const shapes = {
      ...given.shapes,
      ...Object.fromEntries([...named].map(([name, x]) => [name, shapeOf(x)])),
    };
    const grid = checkGrid(op, resolved(this.#options.grid, shapes));
    const launch = {
      grid,
      block: checkBlock(op, resolved(this.#options.block, shapes)),
      sharedByteLength: checkShared(op, resolved(this.#options.shared, shapes) ?? 0),
    };
    const unwritten = [...named].find(([, x]) => x.initial === undefined && sizeOfShape(x.shape) > 0);
    if (grid.includes(0) && unwritten !== undefined)
      throw new RangeArgumentError(
        expected(op, `blocks that write ${unwritten[0]}`, `a grid of ${grid.join('×')}`),
      );
    const arrays = Object.keys(inputs).filter((name) => !isScalarInput(inputs[name]!));
    const cuts =
      cutsSpec && checkCuts(op, resolved(cutsSpec, shapes), { grid, inputs: arrays, outputs: named });
    const data = {
      name: code.entry,
      code,
      ...launch,
      arguments: this.#arguments(given),
      outputs: made,
      cuts,
    };
    return this.#results(call('kernel', [], given.arrays, op, { ...data, key: keyOf(data) }));
  }

  #arguments({ inputs }: KernelGiven): KernelArgument[] {
    return this.#parameters.map((name): KernelArgument => {
      if (name === FIRST_BLOCK) return { firstBlock: true };
      return inputs.get(name) ?? { output: this.#outputs.indexOf(name) };
    });
  }

  #results(exprs: readonly Expr[]): Lazy | Readonly<Record<string, Lazy>> {
    if (exprs.length === 1) return new Lazy(exprs[0]!);
    return Object.fromEntries(this.#outputs.map((name, k) => [name, new Lazy(exprs[k]!)]));
  }
}

const FIRST_BLOCK = 'firstBlock';

/**
 * Each input and output once, and the first block where there are cuts. An input that an output begins as need not be
 * there.
 */
function parametersOf(
  { inputs, outputs: specs, parameters, cuts }: AnyOptions,
  outputs: readonly string[],
): readonly string[] {
  const begins = Object.values(specs).map(({ initial }) => initial);
  const needed = [...Object.keys(inputs).filter((name) => !begins.includes(name)), ...outputs];
  const arrays = [...Object.keys(inputs), ...outputs];
  const first = cuts === undefined || parameters?.includes(FIRST_BLOCK) ? [] : [FIRST_BLOCK];
  if (parameters === undefined) return [...needed, ...first];
  const known = [...arrays, ...(cuts === undefined ? [] : [FIRST_BLOCK])];
  const isOnce = new Set(parameters).size === parameters.length;
  if (!Array.isArray(parameters) || !isOnce || !parameters.every((name) => known.includes(name)))
    throw new ArgumentError(
      expected('kernel', `parameters of ${known.join(', ')}, each once`, formatValue(parameters)),
    );
  const missing = needed.find((name) => !parameters.includes(name));
  if (missing !== undefined)
    throw new ArgumentError(expected('kernel', `${missing} among the parameters`, 'none of that name'));
  return [...parameters, ...first];
}

/** A text that says all of a kernel but the place of its source. */
function keyOf({ name, code, ...rest }: Omit<UserKernel, 'key'>): string {
  const { place: _, ...own } = code;
  const scalar = (_key: string, value: unknown): unknown =>
    typeof value === 'bigint' ||
    (typeof value === 'number' && !Number.isInteger(value)) ||
    Object.is(value, -0)
      ? formatScalar(value as number)
      : value;
  const text = JSON.stringify([own, rest], scalar);
  return `${name} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}
