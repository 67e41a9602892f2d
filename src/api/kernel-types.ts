/** The options of kernels, and their types as functions. */
import type { DType } from '../graph/dtype.js';
import type { Captures } from '../language/names.js';
import type { ArrayLike } from './fluent-types.js';
import type { KernelCutsSpec } from './kernel-launch.js';
import type { KernelInputs, KernelOutputSpec, KernelShapes, OfShapes } from './kernel-options.js';
import type { Lazy } from './lazy.js';

/** Outputs by name. */
export type KernelOutputs<Inputs extends KernelInputs> = Readonly<
  Record<string, KernelOutputSpec<KernelShapes<Inputs>>>
>;

/** Blocks or threads along x, or along up to three axes. */
export type KernelSizes = number | readonly number[];

/** The names of a record's fields. */
type NameOf<T> = Extract<keyof T, string>;

/** The launch of a kernel, and the arrays that it reads and writes. */
export interface KernelLaunch<Inputs extends KernelInputs, Outputs extends KernelOutputs<Inputs>> {
  /** Arrays and scalars that are read, by name, in the order of a call's arguments. */
  readonly inputs: Inputs;
  /** Arrays that are written, by name. */
  readonly outputs: Outputs;
  /** Blocks along x, y and z. */
  readonly grid: OfShapes<KernelSizes, KernelShapes<Inputs, NameOf<Outputs>>>;
  /** Threads of a block along x, y and z, 1,024 in all. */
  readonly block: OfShapes<KernelSizes, KernelShapes<Inputs, NameOf<Outputs>>>;
  /** How it may be run in parts, where it does not fit as a whole; without it, it is refused there. */
  readonly cuts?: OfShapes<KernelCutsSpec, KernelShapes<Inputs, NameOf<Outputs>>>;
}

/** Options of a kernel that is a function. */
export interface KernelFunctionOptions<Inputs extends KernelInputs, Outputs extends KernelOutputs<Inputs>>
  extends KernelLaunch<Inputs, Outputs> {
  /** Names from outside of the function that it reads, with their values, as of `elementwise`. */
  readonly captures?: Captures | undefined;
  /** Its name in plans and timelines; without it, the function's own. */
  readonly name?: string | undefined;
}

/** Options of a kernel in CUDA C. */
export interface KernelOptions<Inputs extends KernelInputs, Outputs extends KernelOutputs<Inputs>>
  extends KernelLaunch<Inputs, Outputs> {
  /** Dynamic shared memory of a block in bytes: `extern __shared__`. */
  readonly shared?: OfShapes<number, KernelShapes<Inputs, NameOf<Outputs>>>;
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
