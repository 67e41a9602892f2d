/**
 * Memory in a kernel's function: elements of arrays, shared memory, barriers, atomic operations, and the numbers of its
 * launch. Functions of warps are in `kernel-warps.ts`.
 */
import { byteLengthOf, type DType, isDType, isInteger } from '../graph/dtype.js';
import { isExpr, map } from '../graph/infer.js';
import type { AtomicName, KernelInstruction, KernelMemory, KernelNumber } from '../graph/kernel-program.js';
import { binary } from './arithmetic.js';
import { ArrayView, isNumber, type KernelValue, LocalElements, ShapeView, Text } from './kernel-values.js';
import { callOfWarp, isWarpFunction, WARP_NAMES } from './kernel-warps.js';
import type { KernelWriter } from './kernel-writer.js';
import type { Node, Source } from './source.js';
import type { StateType } from './state-types.js';
import type { Operand } from './value.js';

/** Atomic operations by their names in CUDA. */
const ATOMIC: Readonly<Record<string, AtomicName>> = {
  atomicAdd: 'add',
  atomicSub: 'add',
  atomicMin: 'min',
  atomicMax: 'max',
  atomicAnd: 'and',
  atomicOr: 'or',
  atomicXor: 'xor',
  atomicExch: 'exchange',
  atomicCAS: 'compare',
};

const FUNCTIONS = ['shared', 'sync', ...Object.keys(ATOMIC), ...WARP_NAMES];

const WIDE: readonly DType[] = ['int32', 'uint32', 'int64', 'uint64'];
const NUMBERS: readonly DType[] = [...WIDE, 'float32', 'float64'];
/** The dtypes that an atomic operation takes. */
const takes = (name: AtomicName): readonly DType[] =>
  ['and', 'or', 'xor', 'compare'].includes(name) ? WIDE : NUMBERS;

/** Bytes of shared memory that arrays of a fixed size may have on every device. */
const MOST_SHARED_BYTES = 48 * 1024;

export class KernelArrays {
  readonly functions: readonly string[] = FUNCTIONS;
  readonly memory: KernelMemory[] = [];
  /** Instructions that come before all others: numbers of the launch, each once. */
  readonly prologue: KernelInstruction[] = [];
  readonly #numbers = new Map<string, Operand>();
  readonly #written = new Set<number>();
  #sharedBytes = 0;

  constructor(
    readonly source: Source,
    readonly writer: KernelWriter,
    /** Whether the code that is being traced runs once, by all threads. */
    readonly isAtTop: () => boolean,
  ) {}

  hasFunction(name: string): boolean {
    return FUNCTIONS.includes(name);
  }

  /** Whether anything is written to an array. */
  isWritten(array: number): boolean {
    return this.#written.has(array);
  }

  /** A number of the launch. */
  number(number: KernelNumber, type: StateType = { dtype: 'int64', weak: true }): Operand {
    const key = JSON.stringify(number);
    let value = this.#numbers.get(key);
    if (value === undefined) {
      this.prologue.push(
        ...this.writer.listOf(() => {
          value = this.writer.given(type, (to) => ({ kind: 'number', to, number }));
        }),
      );
      this.#numbers.set(key, value!);
    }
    return value!;
  }

  /** A parameter that is an array. */
  parameter(
    name: string,
    memory: KernelMemory & { readonly kind: 'input' | 'output' },
    ndim: number,
  ): ArrayView {
    const array = this.memory.push(memory) - 1;
    const sizeAlong = (axis: number): Operand => this.number({ of: 'size', array, axis });
    const shape = Array.from({ length: ndim }, (_, axis) => sizeAlong(axis));
    const size = ndim === 1 ? shape[0]! : sizeAlong(-1);
    return new ArrayView(name, array, memory.dtype, shape, size, memory.kind === 'output');
  }

  // ---------------------------------------------------------------- elements

  load(node: Node, { array, dtype }: ArrayView, index: Operand): Operand {
    const at = this.source.located(node, () => this.writer.index(index));
    return this.writer.given({ dtype, weak: false }, (to) => ({
      kind: 'read',
      to,
      array,
      index: at,
      ...this.source.placeOf(node),
    }));
  }

  store(node: Node, view: ArrayView, index: Operand, value: Operand): void {
    this.#needWritable(node, view);
    const { array, dtype } = view;
    const [at, from] = this.source.located(node, () => [
      this.writer.index(index),
      this.writer.register(value, { dtype, weak: false }),
    ]) as [number, number];
    this.writer.emit({ kind: 'write', array, index: at, from, ...this.source.placeOf(node) });
  }

  #needWritable(node: Node, { array, name, isWritable }: ArrayView): void {
    if (!isWritable)
      this.source.refuse(
        node,
        'an output or shared memory to write to',
        `the input ${name}`,
        'an output with initial begins as an input',
      );
    this.#written.add(array);
  }

  /** `a.at(i, j)` and `a.index(i, j)`. */
  method(node: Node, view: ArrayView, name: string, args: readonly KernelValue[]): KernelValue {
    if (name !== 'at' && name !== 'index') this.source.refuse(node, 'at() or index() of an array', name);
    const indices = args.map((arg) => (isNumber(arg) ? arg : this.source.refuse(node, 'numbers as indices')));
    if (indices.length !== view.shape.length)
      this.source.refuse(node, `${view.shape.length} indices of ${view.name}`, `${indices.length}`);
    const at = this.#flat(node, view, indices);
    return name === 'index' ? at : this.load(node, view, at);
  }

  /** The place of an element in C order. */
  #flat(node: Node, { shape }: ArrayView, indices: readonly Operand[]): Operand {
    let flat: Operand = 0;
    for (const [axis, index] of indices.entries()) {
      const size = shape[axis]!;
      const place = this.source.placeOf(node);
      const own = this.writer.index(index);
      this.writer.emit({ kind: 'bound', index: own, size: this.writer.index(size), ...place });
      const whole = { dtype: 'int64', weak: true } as const;
      const known = isExpr(index)
        ? this.writer.given(whole, (to) => ({ kind: 'cast', to, from: own }))
        : Number(index);
      flat = axis === 0 ? known : binary('+', binary('*', flat, size), known);
    }
    return flat;
  }

  // ---------------------------------------------------------------- functions of the context

  call(node: Node, name: string, args: readonly KernelValue[]): KernelValue {
    if (name === 'shared') return this.#shared(node, args);
    if (name === 'sync') {
      if (args.length > 0) this.source.refuse(node, 'sync() without arguments');
      this.writer.emit({ kind: 'sync', ...this.source.placeOf(node) });
      return 0;
    }
    if (isWarpFunction(name)) return callOfWarp(this.source, this.writer, node, name, args);
    return this.#atomic(node, name, args);
  }

  #shared(node: Node, args: readonly KernelValue[]): ArrayView {
    const [dtype, size] = args;
    if (!(dtype instanceof Text) || !isDType(dtype.text) || args.length !== 2)
      return this.source.refuse(node, "shared memory of a dtype and a size: shared('float32', 256)");
    const sizes =
      size instanceof LocalElements ? size.elements : size instanceof ShapeView ? size.sizes : [size];
    const isSize = (each: unknown): each is number => Number.isInteger(each) && (each as number) > 0;
    if (!sizes.every(isSize))
      return this.source.refuse(node, 'sizes of shared memory that are known: literals, captures');
    if (!this.isAtTop())
      this.source.refuse(node, 'shared memory at the top of the kernel, outside of conditions and loops');
    const count = sizes.reduce((n, each) => n * each, 1);
    this.#sharedBytes += count * byteLengthOf(dtype.text);
    if (this.#sharedBytes > MOST_SHARED_BYTES)
      this.source.refuse(node, `at most ${MOST_SHARED_BYTES} bytes of shared memory`, `${this.#sharedBytes}`);
    const array = this.memory.push({ kind: 'shared', size: count, dtype: dtype.text }) - 1;
    return new ArrayView('shared memory', array, dtype.text, sizes, count, true);
  }

  #atomic(node: Node, called: string, args: readonly KernelValue[]): Operand {
    const name = ATOMIC[called]!;
    const [view, index, ...values] = args;
    const count = name === 'compare' ? 2 : 1;
    if (
      !(view instanceof ArrayView) ||
      values.length !== count ||
      ![index, ...values].every((x) => x !== undefined && isNumber(x))
    )
      return this.source.refuse(node, `${called}(array, index, ${count === 1 ? 'value' : 'compare, value'})`);
    this.#needWritable(node, view);
    const { array, dtype } = view;
    if (!takes(name).includes(dtype))
      this.source.refuse(node, `an array of ${takes(name).join(', ')} for ${called}`, dtype);
    const type = { dtype, weak: false } as const;
    const [at, ...registers] = this.source.located(node, () => [
      this.writer.index(index as Operand),
      ...(values as Operand[]).map((value) =>
        this.writer.register(called === 'atomicSub' ? negative(value) : value, type),
      ),
    ]) as [number, ...number[]];
    const [compare, from] = count === 1 ? [undefined, registers[0]!] : registers;
    return this.writer.given(type, (to) => ({
      kind: 'atomic',
      name,
      to,
      array,
      index: at,
      from: from!,
      compare,
      ...this.source.placeOf(node),
    }));
  }
}

/** Minus a value, which wraps around for unsigned integers. */
const negative = (value: Operand): Operand =>
  isExpr(value) ? map('subtract', [isInteger(value.dtype) ? 0 : -0, value]) : -(value as number);
