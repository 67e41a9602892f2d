/**
 * Runs a plan step by step in TypeScript, over an arena of poisoned memory: fusion, index maps, lifetimes and
 * places in the arena are held to the reference without any code generator or native code. Slow and obvious.
 *
 * The conformance suite takes it for a device called `interpreted`.
 */

import type { RoutineStep } from '../../src/exec/calls/call.js';
import type { MatmulStep, MatrixOperand } from '../../src/exec/calls/products/product-steps.js';
import type { DevicePlan, LoopStep, Step } from '../../src/exec/plan/plan.js';
import { planPartition } from '../../src/exec/plan/plan-graph.js';
import { opOf } from '../../src/fusion/kernel/arithmetic.js';
import {
  type Access,
  argumentsOf,
  formOf,
  type Instruction,
  type Kernel,
} from '../../src/fusion/kernel/kernel.js';
import { partition } from '../../src/fusion/partition/partition.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import type { SourceArray } from '../../src/fusion/passes/source-array.js';
import { byteLengthOf, type DType, isComplex, isHalf, type Scalar } from '../../src/graph/dtype.js';
import type { Expr, TypedArray } from '../../src/graph/expr.js';
import { givenValue } from '../../src/graph/runtime-scalar.js';
import { affineAt, isInside, placeOf } from './folds.js';
import { allocate, elementAt, type HostArray, indices, over, setElement, sizeOf } from './host.js';
import { scalarOp } from './reference.js';
import { cudaOp, repeatOp } from './reference-loops.js';
import { extremePosition, reduceValues } from './reference-reduce.js';
import { routineValues } from './reference-routines.js';
import { castScalar, zeroOf } from './scalar.js';

/** The content of memory before it is written: no ordinary value. */
const POISON = 0xcd;

interface InterpretOptions {
  readonly exact?: boolean;
  /** Whether the sums of a kernel have an order in common; of any, where it is not given. */
  readonly keepsOrder?: (kernel: Kernel) => boolean;
}

/** The outputs by their plan; every pass is verified. */
export function evaluateInterpreted(
  exprs: readonly Expr[],
  { keepsOrder, ...options }: InterpretOptions = {},
): HostArray[] {
  const canonical = canonicalize(exprs);
  const graph = runPasses(canonical.graph, { ...options, verify: true });
  const model = { scratchOf: () => [], workspaceOf: () => ({ most: 0, least: 0 }), heldBytes: () => 0 };
  const parts = partition(graph, undefined, undefined, undefined, keepsOrder);
  const plan = planPartition(graph, parts, canonical.sources, model);
  const outputs = runPlan(plan, canonical.sources);
  return exprs.map(({ dtype, shape }, k) => {
    const at = plan.outputs[k]!;
    const data =
      at < 0 ? allocate(dtype, 0) : over(dtype, outputs[at]!.buffer, outputs[at]!.byteOffset, sizeOf(shape));
    return { dtype, shape, data };
  });
}

interface Bytes {
  readonly buffer: ArrayBuffer;
  readonly byteOffset: number;
  readonly byteLength: number;
}

/** The bytes of the output buffers, in the plan's order. */
function runPlan(plan: DevicePlan, sources: readonly SourceArray[]): Bytes[] {
  const poisoned = (byteLength: number): ArrayBuffer => new Uint8Array(byteLength).fill(POISON).buffer;
  const arena = poisoned(plan.arenaByteLength);
  let input = 0;
  const memory = plan.buffers.map(({ role, byteLength, offset }): Bytes => {
    if (role === 'temporary') return { buffer: arena, byteOffset: offset, byteLength };
    if (role !== 'input') return { buffer: poisoned(byteLength), byteOffset: 0, byteLength };
    return { buffer: inputBytes(sources[plan.inputs[input++]!]!), byteOffset: 0, byteLength };
  });
  for (const step of plan.steps) runStep(step, memory);
  return memory.filter((_, i) => plan.buffers[i]!.role === 'output');
}

function runStep(step: Step, memory: Bytes[]): void {
  if (step.kind === 'kernel')
    runKernel(
      step.kernel,
      step.buffers.map((buffer) => memory[buffer]!),
    );
  else if (step.kind === 'call') {
    if (step.call === 'matmul') multiply(step, memory);
    else if (step.call === 'contraction') throw new TypeError('the plan interpreter has no cuTENSOR');
    else runRoutine(step, memory);
  } else if (step.kind === 'loop') runLoop(step, memory);
  else throw new TypeError(`the plan interpreter runs no ${step.kind}`);
}

function runRoutine({ call, parameters, operands, results }: RoutineStep, memory: Bytes[]): void {
  const inputs = operands.map(({ buffer, dtype, shape }) => {
    const read = viewOf(memory[buffer]!, dtype, shape);
    return {
      dtype,
      shape,
      values: Array.from({ length: sizeOf(shape) }, (_, k) => elementAt(dtype, read, k)),
    };
  });
  const made = routineValues(call, parameters, inputs);
  for (const [k, result] of results.entries()) {
    const written = viewOf(memory[result.buffer]!, result.dtype, result.shape);
    made[k]!.forEach((value, at) => {
      setElement(result.dtype, written, at, value);
    });
  }
}

const viewOf = ({ buffer, byteOffset }: Bytes, dtype: DType, shape: readonly number[]): TypedArray =>
  over(dtype, buffer, byteOffset, sizeOf(shape));

const bytesOf = ({ buffer, byteOffset, byteLength }: Bytes): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

function runLoop({ steps, condition, every, states, body }: LoopStep, memory: Bytes[]): void {
  let places = states.map(({ initial }) => memory[initial]!);
  for (let step = 1; step <= steps; step++) {
    if (condition >= 0 && bytesOf(places[condition]!)[0] === 0) break;
    const written = states.map(({ last, other }) => memory[step % 2 === 0 || other < 0 ? last : other]!);
    states.forEach(({ current, next }, k) => {
      memory[current] = places[k]!;
      memory[next] = written[k]!;
    });
    for (const part of body) runStep(part, memory);
    places = written;
    if (every === 0 || step % every !== 0) continue;
    states.forEach(({ kept }, k) => {
      if (kept < 0) return;
      bytesOf(memory[kept]!).set(bytesOf(places[k]!), (step / every - 1) * places[k]!.byteLength);
    });
  }
  states.forEach(({ last }, k) => {
    bytesOf(memory[last]!).set(bytesOf(places[k]!));
  });
}

/** A copy of what the plan reads of a source. */
function inputBytes({ source, start, elementCount, dtype }: SourceArray): ArrayBuffer {
  if (source.type !== 'host') throw new TypeError('the plan interpreter reads host arrays only');
  const values = isComplex(dtype) ? 2 : 1;
  const { buffer, byteOffset, byteLength } = source.data.slice(
    start * values,
    (start + elementCount) * values,
  );
  return (buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength);
}

/** Elements of one buffer, with every access checked. */
class Elements {
  readonly #dtype: DType;
  readonly #data: TypedArray;
  readonly #count: number;

  constructor(dtype: DType, bytes: Bytes, count = bytes.byteLength / byteLengthOf(dtype)) {
    if (count * byteLengthOf(dtype) > bytes.byteLength)
      throw new RangeError(`${count} elements in ${bytes.byteLength} bytes`);
    this.#dtype = dtype;
    this.#count = count;
    this.#data = over(dtype, bytes.buffer, bytes.byteOffset, count);
  }

  #checked(i: number): number {
    if (!Number.isInteger(i) || i < 0 || i >= this.#count)
      throw new RangeError(`element ${i} of ${this.#count}`);
    return i;
  }

  get(i: number): Scalar {
    return elementAt(this.#dtype, this.#data, this.#checked(i));
  }

  set(i: number, value: Scalar): void {
    setElement(this.#dtype, this.#data, this.#checked(i), value);
  }
}

function runKernel(kernel: Kernel, memory: readonly Bytes[]): void {
  if ([...kernel.parallel, ...kernel.reduced].some((size) => size < 2))
    throw new RangeError('a kernel axis of size 0 or 1');
  const buffers = kernel.buffers.map(
    ({ dtype, elementCount }, i) => new Elements(dtype, memory[i]!, elementCount),
  );
  const inner = Array.from(indices(kernel.reduced), (index) => [...index]);
  const evaluations = kernel.tape.map((instruction) => evaluationOf(instruction, kernel, buffers));
  for (const row of indices(kernel.parallel)) {
    const domain = inner.map((index) => [...row, ...index]);
    // Every value at all places of the row; what does not depend on them is the same at each.
    const values: Scalar[][] = [];
    for (const evaluate of evaluations) values.push(evaluate(domain, values));
    for (const { value, access } of kernel.stores) {
      const written = new Set<number>();
      domain.forEach((index, i) => {
        const at = affineAt(access, index);
        if (!written.has(at)) buffers[access.buffer]!.set(at, values[value]![i]!);
        written.add(at);
      });
    }
  }
}

type ScalarOp = ReturnType<typeof scalarOp>;

/** The op of a map. */
function scalarOpOf(instruction: Instruction, kernel: Kernel): ScalarOp | undefined {
  const op = opOf(instruction);
  if (op === undefined) return undefined;
  const dtypes = argumentsOf(instruction).map((arg) => kernel.tape[arg]!.dtype);
  if (dtypes.some(isHalf)) throw new TypeError(`${op} of a half in a kernel`);
  return scalarOp(op, dtypes, instruction.dtype);
}

type Domain = readonly (readonly number[])[];

/** The values of an instruction at all places of a row, by those before it. */
type Evaluation = (domain: Domain, values: readonly Scalar[][]) => Scalar[];

function evaluationOf(instruction: Instruction, kernel: Kernel, buffers: readonly Elements[]): Evaluation {
  const form = formOf(instruction);
  const { dtype } = form;
  switch (form.kind) {
    case 'load': {
      const { access } = form;
      const { index: further } = access;
      return (domain, values) =>
        domain.map((index, i) => {
          const chosen = further === undefined ? 0 : Number(values[further.value]![i]!) * further.stride;
          return load(access, dtype, index, chosen, buffers);
        });
    }
    case 'const': {
      const value = castScalar(givenValue(form.value), dtype);
      return (domain) => domain.map(() => value);
    }
    case 'index':
      return (domain) => domain.map((index) => BigInt(affineAt(form.affine, index)));
    case 'inside':
      return (domain) => domain.map((index) => form.bounds.every((bound) => isInside(bound, index)));
    case 'cast':
      return (_, values) => values[form.args[0]]!.map((value) => castScalar(value, dtype));
    case 'map':
      return mapped(scalarOpOf(instruction, kernel)!, form.args);
    case 'repeat':
      return mapped(repeatOp(form.loop, form.result, scalarOp), form.args);
    case 'function':
      return mapped(cudaOp(form.function, form.result, scalarOp), form.args);
    case 'reduce': {
      const [from, position] = form.args as readonly [number, number | undefined];
      const { reduction } = form;
      const taken = kernel.tape[from]!.dtype;
      return (domain, values) => {
        const result =
          position === undefined
            ? reduceValues(reduction, values[from]!, taken)
            : extremePosition(reduction, values[from]!, values[position]!, taken);
        const value = castScalar(result, dtype);
        return domain.map(() => value);
      };
    }
  }
}

const mapped =
  (op: ScalarOp, args: readonly number[]): Evaluation =>
  (domain, values) => {
    const lists = args.map((arg) => values[arg]!);
    return domain.map((_, i) => op(lists.map((list) => list[i]!)));
  };

/** `further`: elements that the index of a gather adds. */
function load(
  access: Access,
  dtype: DType,
  index: readonly number[],
  further: number,
  buffers: readonly Elements[],
): Scalar {
  const place = placeOf(access, index);
  return place === undefined ? zeroOf(dtype) : buffers[access.buffer]!.get(place + further);
}

function multiply(step: MatmulStep, memory: readonly Bytes[]): void {
  const { dtype, m, n, k } = step;
  const operand = (each: MatrixOperand) => {
    const { buffer, offset, outerStrides = [], batchStride, rowStride, columnStride } = each;
    const elements = new Elements(dtype, memory[buffer]!);
    const strides = [...outerStrides, batchStride, rowStride, columnStride];
    return {
      elements,
      at: (...index: readonly number[]) =>
        index.reduce((sum, value, axis) => sum + value * strides[axis]!, offset),
    };
  };
  const [a, b, c] = [operand(step.a), operand(step.b), operand(step.c)];
  for (const index of indices([...(step.outer ?? []), step.batch, m, n])) {
    const [batch, [i, j]] = [index.slice(0, -2), index.slice(-2) as [number, number]];
    const terms = Array.from({ length: k }, (_, l) =>
      reduceValues(
        'prod',
        [a.elements.get(a.at(...batch, i, l)), b.elements.get(b.at(...batch, l, j))],
        dtype,
      ),
    );
    c.elements.set(c.at(...batch, i, j), reduceValues('sum', terms, dtype));
  }
}
