/**
 * Builds kernels by hand, for tests of the code generators. Buffers are made as they are named: one per
 * distinct array, large enough for every access to it.
 */
import { affinesIn } from '../../src/fusion/kernel/algebra.js';
import { isReduction } from '../../src/fusion/kernel/arithmetic.js';
import { create } from '../../src/fusion/kernel/instruction.js';
import type {
  Access,
  AccessIndex,
  Affine,
  Bound,
  BufferParameter,
  Instruction,
  Kernel,
  Store,
} from '../../src/fusion/kernel/kernel.js';
import { argumentsOf } from '../../src/fusion/kernel/kernel.js';
import { type DType, isHalf, type Scalar } from '../../src/graph/dtype.js';
import type { ElementLoop } from '../../src/graph/loop-step.js';
import { type OpName, opRow } from '../../src/graph/ops.js';
import { type ReductionName, reductionRow } from '../../src/graph/reductions.js';

export interface ArrayOptions {
  readonly offset?: number;
  readonly bounds?: readonly Bound[];
  /** Loads of one name share a buffer. */
  readonly buffer?: string;
}

export class KernelBuilder {
  readonly #sizes: readonly number[];
  readonly #parallel: readonly number[];
  readonly #reduced: readonly number[];
  readonly #tape: Instruction[] = [];
  readonly #stores: Store[] = [];
  readonly #buffers: BufferParameter[] = [];
  readonly #names = new Map<string, number>();

  constructor(parallel: readonly number[], reduced: readonly number[] = []) {
    this.#parallel = parallel;
    this.#reduced = reduced;
    this.#sizes = [...parallel, ...reduced];
  }

  #push(instruction: Instruction): number {
    return this.#tape.push(instruction) - 1;
  }

  #buffer(dtype: DType, role: 'input' | 'output', affine: Affine, name: string | undefined): number {
    const key = name ?? `#${this.#buffers.length}`;
    const reach = affine.strides.reduce(
      (end, s, k) => end + Math.max(0, s * (this.#sizes[k]! - 1)),
      affine.offset,
    );
    const at = this.#names.get(key) ?? this.#buffers.push({ dtype, role, elementCount: 0 }) - 1;
    this.#names.set(key, at);
    const old = this.#buffers[at]!;
    this.#buffers[at] = { ...old, elementCount: Math.max(old.elementCount, reach + 1) };
    return at;
  }

  load(dtype: DType, strides: readonly number[], options: ArrayOptions = {}): number {
    const affine = { offset: options.offset ?? 0, strides };
    const buffer = this.#buffer(dtype, 'input', affine, options.buffer);
    const access: Access = { ...affine, buffer, bounds: options.bounds ?? [] };
    return this.#push(create.load(dtype, access));
  }

  /**
   * A load at an affine place and `stride` elements further for each of `size` indices that an int64 value
   * chooses from.
   */
  gather(dtype: DType, strides: readonly number[], index: AccessIndex, options: ArrayOptions = {}): number {
    const affine = { offset: options.offset ?? 0, strides };
    const last = { ...affine, offset: affine.offset + index.stride * (index.size - 1) };
    const buffer = this.#buffer(dtype, 'input', last, options.buffer);
    return this.#push(create.load(dtype, { ...affine, buffer, bounds: options.bounds ?? [], index }));
  }

  constant(dtype: DType, value: Scalar): number {
    return this.#push(create.constant(dtype, value));
  }

  index(strides: readonly number[], offset = 0): number {
    return this.#push(create.index({ offset, strides }));
  }

  inside(bounds: readonly Bound[]): number {
    return this.#push(create.inside(bounds));
  }

  /** An op; halves are computed in float32 and rounded, as fusion writes them. */
  map(op: OpName, ...args: number[]): number {
    const dtypes = args.map((arg) => this.#tape[arg]!.dtype);
    const { result } = opRow(op).dtype(dtypes)!;
    const wide = args.map((arg) => (isHalf(this.#tape[arg]!.dtype) ? this.cast(arg, 'float32') : arg));
    const dtype = isHalf(result) ? 'float32' : result;
    const value = this.#push(create.map(dtype, op, wide));
    return isHalf(result) ? this.cast(value, result) : value;
  }

  /** A state after a loop of each element. */
  repeat(loop: ElementLoop, result: number, ...args: number[]): number {
    return this.#push(create.repeat(loop.arguments[result]!, loop, result, args));
  }

  cast(arg: number, dtype: DType): number {
    return this.#tape[arg]!.dtype === dtype ? arg : this.#push(create.cast(dtype, arg));
  }

  /** A reduction; an indexed one counts along the reduced axes in C order. */
  reduce(reduction: ReductionName, arg: number): number {
    const from = this.#tape[arg]!.dtype;
    const signature = reductionRow(reduction).dtype(from)!;
    const half = isHalf(signature.arg);
    const args = [this.cast(arg, half ? 'float32' : signature.arg)];
    if (reductionRow(reduction).indexed) {
      const strides = this.#sizes.map(() => 0);
      let stride = 1;
      for (let k = this.#sizes.length - 1; k >= this.#parallel.length; k--) {
        strides[k] = stride;
        stride *= this.#sizes[k]!;
      }
      args.push(this.index(strides));
    }
    const dtype = isHalf(signature.result) ? 'float32' : signature.result;
    const value = this.#push(create.reduce(dtype, reduction, args));
    return this.cast(value, signature.result);
  }

  /**
   * Stores densely over the parallel axes, for a row-level value, or over all axes; or with the strides
   * given.
   */
  store(value: number, strides?: readonly number[], offset = 0): this {
    const dense = strides ?? this.#dense(this.#isElement(value) ? this.#sizes.length : this.#parallel.length);
    const affine = { offset, strides: dense };
    const buffer = this.#buffer(this.#tape[value]!.dtype, 'output', affine, undefined);
    this.#stores.push({ value, access: { ...affine, buffer, bounds: [] } });
    return this;
  }

  #isElement(value: number): boolean {
    const i = this.#tape[value]!;
    const on = (a: Affine) => a.strides.some((s, k) => k >= this.#parallel.length && s !== 0);
    if (isReduction(i)) return false;
    if (affinesIn(i).some(on)) return true;
    return argumentsOf(i).some((arg) => this.#isElement(arg));
  }

  #dense(axes: number): number[] {
    const strides = this.#sizes.map(() => 0);
    let stride = 1;
    for (let k = axes - 1; k >= 0; k--) {
      strides[k] = stride;
      stride *= this.#sizes[k]!;
    }
    return strides;
  }

  build(name = 'test'): Kernel {
    return {
      name,
      parallel: this.#parallel,
      reduced: this.#reduced,
      buffers: this.#buffers,
      tape: this.#tape,
      stores: this.#stores,
    };
  }
}
