/** Functions of scalars in CUDA C on arrays: fused with what is around them, or kernels of their own. */
import { call } from '../graph/calls.js';
import { applyCuda } from '../graph/cuda-function.js';
import type { Expr } from '../graph/expr.js';
import { sizeOfShape } from '../graph/graph.js';
import { cast, constant, iota } from '../graph/infer.js';
import type { CudaFunction } from '../graph/loop-step.js';
import { ELEMENTS_THREADS, type ElementsCode } from '../graph/user-kernel.js';
import { broadcast, reshape } from '../graph/view-nodes.js';
import {
  CudaDefinition,
  type CudaNumber,
  type CudaTexts,
  type CudaTypes,
  passedAs,
} from '../language/cuda-definition.js';
import type { Captures } from '../language/names.js';
import { CpuVersion } from './cuda-versions.js';
import { userKernelKey } from './declared-kernel.js';
import { checkGrid } from './kernel-launch.js';

/** The version for the CPU: a function of scalars, and its captures; its first parameters may be lists of numbers. */
export interface CudaVersion {
  readonly fn: CallableFunction | undefined;
  readonly captures: Captures | undefined;
  readonly lengths?: readonly number[] | undefined;
}

/** The numbers of elements that an operation may ask for. */
export type CudaSizes = Partial<Record<Exclude<CudaNumber, 'i'>, number>>;

export class CudaElements {
  readonly definition: CudaDefinition;
  readonly #name: string;
  readonly #version: CpuVersion | undefined;

  /** `op`: the function that the texts were given to. */
  constructor(op: string, name: string, texts: CudaTexts, { fn, ...version }: CudaVersion) {
    this.#name = name;
    this.definition = new CudaDefinition(texts);
    this.#version = fn === undefined ? undefined : new CpuVersion(op, name, fn, version);
    this.#version?.check(this.definition);
  }

  /** Whether it reads an array as a whole. */
  get isRaw(): boolean {
    return this.definition.inputs.some((each) => each.isRaw);
  }

  /** The results in a shape, halves in float32, of arrays in the dtypes of the inputs. */
  wide(
    types: CudaTypes,
    arrays: readonly Expr[],
    shape: readonly number[],
    sizes: CudaSizes,
  ): readonly Expr[] {
    const { inputs, numbers } = this.definition;
    const own = this.definition.functionFor(types, this.#version?.stepFor);
    const passed = arrays.map((x, k) => (inputs[k]!.isRaw ? x : cast(x, passedAs(x.dtype))));
    if (this.isRaw) {
      const spread = passed.map((x, k) => (inputs[k]!.isRaw ? x : broadcast(x, shape)));
      return runElements(this.#name, own, spread, shape);
    }
    const further = numbers.map((name) =>
      name === 'i' ? reshape(iota(sizeOfShape(shape)), shape) : constant(sizes[name]!, 'int64'),
    );
    return applyCuda(this.#name, own, [...passed, ...further]).map((x) => broadcast(x, shape));
  }
}

/** A thread for each element; inputs that are no raw ones are in the shape of the results. */
function runElements(
  op: string,
  own: CudaFunction,
  inputs: readonly Expr[],
  shape: readonly number[],
): readonly Expr[] {
  const blocks = Math.ceil(sizeOfShape(shape) / ELEMENTS_THREADS);
  const part = { size: ELEMENTS_THREADS, before: 0, after: 0 };
  const code: ElementsCode = { kind: 'elements', function: own };
  const data = {
    name: op,
    code,
    grid: checkGrid(op, blocks),
    block: [ELEMENTS_THREADS, 1, 1] as const,
    sharedByteLength: 0,
    arguments: [],
    outputs: own.results.map(({ dtype }) => ({ dtype, shape })),
    cuts: {
      axis: 'x' as const,
      inputs: inputs.map((_, k) => (own.parameters[k]!.raw === undefined ? part : undefined)),
      outputs: own.results.map(() => part),
    },
  };
  return call('kernel', [], inputs, op, { ...data, key: userKernelKey(data) });
}
