/**
 * The reference interpreter: evaluates an Expr graph node by node, slowly and obviously, over arrays of exact
 * values (float64 or bigint), rounding to the node's dtype after every op.
 *
 * It shares nothing with the optimizer or the backends but the node types. Property tests and the program
 * suite compare it with what `compute` gives; the NumPy fixtures check the interpreter itself.
 */
import { sumsByUnits } from '../../src/graph/binning.js';
import { type DType, isComplex, isFloat, isHalf, isInteger, type Scalar } from '../../src/graph/dtype.js';
import type { Expr, ExprOf, Shape } from '../../src/graph/expr.js';
import { argumentLike } from '../../src/graph/loops.js';
import { type OpName, opRow } from '../../src/graph/ops.js';
import { folded } from './folds.js';
import { elementAt, fromScalars, type HostArray, indices, offsetsOf, sizeOf, stridesOf } from './host.js';
import { COMPLEX_OPS } from './reference-complex.js';
import { BOOLEAN_OPS, INTEGER_OPS } from './reference-integer.js';
import { cudaOp, repeatOp } from './reference-loops.js';
import { RANDOM_OPS } from './reference-random.js';
import { REAL_OPS } from './reference-real.js';
import { reduceValues } from './reference-reduce.js';
import { routineValues } from './reference-routines.js';
import { castScalar, isComplexValue, roundingTo, zeroOf } from './scalar.js';

/** Elements in C order. */
type Values = readonly Scalar[];

/** The value of every expression, as host arrays. */
export function evaluateReference(outputs: readonly Expr[]): HostArray[] {
  const values = evaluateAll(outputs, []);
  return outputs.map((node, k) => fromScalars(node.dtype, node.shape, values[k]!));
}

/** `args`: what the arguments of a loop's body stand for. */
function evaluateAll(outputs: readonly Expr[], args: readonly Values[]): Values[] {
  const values = new Map<Expr, Values>();
  for (const node of topological(outputs)) {
    const inputs = node.inputs.map((input) => values.get(input)!);
    values.set(node, evaluateNode(node, inputs, args));
  }
  return outputs.map((node) => values.get(node)!);
}

/** Every node after its inputs, without recursion: chains may be long. */
function topological(outputs: readonly Expr[]): Expr[] {
  const order: Expr[] = [];
  const state = new Map<Expr, 'open' | 'done'>();
  const stack = [...outputs];
  for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
    if (state.has(node)) {
      stack.pop();
      if (state.get(node) === 'open') order.push(node);
      state.set(node, 'done');
    } else {
      state.set(node, 'open');
      for (const input of node.inputs) if (!state.has(input)) stack.push(input);
    }
  }
  return order;
}

function evaluateNode(node: Expr, inputs: readonly Values[], args: readonly Values[]): Values {
  switch (node.kind) {
    case 'source':
      return readSource(node, args);
    case 'const':
      return [castScalar(node.value, node.dtype)];
    case 'map':
      return mapValues(node, inputs);
    case 'repeat':
      return broadcastValues(node, inputs, repeatOp(node.loop, node.result, scalarOp));
    case 'function':
      return broadcastValues(node, inputs, cudaOp(node.function, node.result, scalarOp));
    case 'cast':
      return inputs[0]!.map((value) => castScalar(value, node.dtype));
    case 'reduce':
      return reduceNode(node, inputs[0]!);
    case 'view':
      return viewValues(node, inputs[0]!);
    case 'join':
      return joinedValues(node, inputs);
    case 'gather':
      return gatherValues(node, inputs);
    case 'contract':
      return contract(node, inputs);
    case 'call': {
      if (node.routine === 'binSums') return sumsOfBins(node, inputs);
      const given = node.inputs.map(({ dtype, shape }, i) => ({ dtype, shape, values: inputs[i]! }));
      const values = routineValues(node.routine, node.parameters, given)[node.result]!;
      return values.map((value) => castScalar(value, node.dtype));
    }
    case 'loop':
      return loopValues(node, inputs);
  }
}

function sumsOfBins({ inputs, parameters }: ExprOf<'call'>, values: readonly Values[]): Values {
  const given = inputs.map((input, k) => argumentLike(input, k));
  return evaluateAll([sumsByUnits(given, parameters)], values)[0]!;
}

function joinedValues({ axis, shape, inputs: parts }: ExprOf<'join'>, values: readonly Values[]): Values {
  // Elements of a part that follow one another, for each index of the axes before the joined one.
  const lengths = parts.map((part) => sizeOf(part.shape.slice(axis)));
  const blocks = Array.from({ length: sizeOf(shape.slice(0, axis)) }, (_, block) =>
    lengths.map((length, part) => values[part]!.slice(block * length, (block + 1) * length)),
  );
  return blocks.flat(2);
}

function gatherValues(
  { axis, mode, shape, inputs: [array, index] }: ExprOf<'gather'>,
  [x, at]: readonly Values[],
): Values {
  const size = array!.shape[axis]!;
  const rank = index!.shape.length;
  const pick = (chosen: number): number => {
    if (mode === 'wrap') return ((chosen % size) + size) % size;
    if (mode === 'inRange' && !(chosen >= 0 && chosen < size))
      throw new RangeError(`an index of ${chosen} in an axis of ${size}`);
    const counted = mode === 'raise' && chosen < 0 ? chosen + size : chosen;
    return Math.min(Math.max(counted, 0), size - 1);
  };
  const [strides, indexStrides] = [stridesOf(array!.shape), stridesOf(index!.shape)];
  return Array.from(indices(shape), (place) => {
    const chosen = Number(at![dot(place.slice(axis, axis + rank), indexStrides)]);
    return x![dot([...place.slice(0, axis), pick(chosen), ...place.slice(axis + rank)], strides)]!;
  });
}

function loopValues({ loop, result }: ExprOf<'loop'>, inputs: readonly Values[]): Values {
  const { steps, condition, every, next } = loop;
  let states = inputs.slice(0, next.length);
  const captured = inputs.slice(next.length);
  const kept: Scalar[] = [];
  for (let step = 1; step <= steps; step++) {
    if (condition !== undefined && states[condition]![0] !== true) break;
    states = evaluateAll(next, [...states, ...captured]);
    if (every !== undefined && step % every === 0) kept.push(...states[result]!);
  }
  return every === undefined ? states[result]! : kept;
}

function readSource(node: ExprOf<'source'>, args: readonly Values[]): Values {
  const { source } = node;
  switch (source.type) {
    case 'host':
      return offsetsOf(node.shape, source.strides, source.offset).map((offset) =>
        elementAt(node.dtype, source.data, offset),
      );
    case 'iota':
      return Array.from({ length: node.shape[0]! }, (_, i) => BigInt(i));
    case 'argument':
      return args[source.index]!;
    case 'device':
    case 'chunked':
    case 'file':
    case 'reader':
    case 'segment':
      throw new TypeError('the reference interpreter reads host arrays only');
  }
}

const dot = (index: readonly number[], strides: readonly number[]): number =>
  index.reduce((sum, i, k) => sum + i * strides[k]!, 0);

/**
 * Strides with which an array of `shape` is read as one of `target`: 0 along the axes it is broadcast over.
 */
function broadcastStrides(shape: Shape, target: Shape): number[] {
  const own = stridesOf(shape);
  const lead = target.length - shape.length;
  return target.map((_, k) => (k < lead || shape[k - lead] === 1 ? 0 : own[k - lead]!));
}

function mapValues(node: ExprOf<'map'>, inputs: readonly Values[]): Values {
  const dtypes = node.inputs.map((input) => input.dtype);
  return broadcastValues(node, inputs, scalarOp(node.op, dtypes, node.dtype));
}

/** A function of each element of inputs that broadcast. */
function broadcastValues(node: Expr, inputs: readonly Values[], op: (args: Values) => Scalar): Values {
  const count = sizeOf(node.shape);
  const spread = node.inputs.map((input, k) =>
    sizeOf(input.shape) === count
      ? inputs[k]!
      : offsetsOf(node.shape, broadcastStrides(input.shape, node.shape)).map((at) => inputs[k]![at]!),
  );
  const args: Scalar[] = [];
  return Array.from({ length: count }, (_, at) => {
    for (let k = 0; k < spread.length; k++) args[k] = spread[k]![at]!;
    return op(args);
  });
}

/** An op on exact values, rounded to its result's dtype. `dtypes` must be those of the row's signature. */
export function scalarOp(op: OpName, dtypes: readonly DType[], result: DType): (args: Values) => Scalar {
  const signature = opRow(op).dtype(dtypes);
  if (
    signature === undefined ||
    signature.args.some((d, i) => d !== dtypes[i]) ||
    signature.result !== result
  )
    throw new TypeError(`${op}(${dtypes}) does not give ${result}`);
  if (op === 'where') return ([condition, a, b]) => (condition ? a! : b!);
  const dtype = dtypes[0]!;
  const round = roundingTo(result);
  const finish = isFloat(result)
    ? (value: Scalar) => (typeof value === 'number' ? round(value) : castScalar(value, result))
    : result === 'bool'
      ? (value: Scalar) => (typeof value === 'boolean' ? value : castScalar(value, result))
      : (value: Scalar) => castScalar(value, result);
  // Halves are computed in float32; roundings in between are float32's too.
  const r = roundingTo(isHalf(dtype) ? 'float32' : dtype);
  const random = RANDOM_OPS[op];
  if (random !== undefined) return (args) => finish(random(args as readonly (number | bigint)[]));
  const table = isComplex(dtype)
    ? COMPLEX_OPS
    : isFloat(dtype)
      ? REAL_OPS
      : isInteger(dtype)
        ? INTEGER_OPS
        : BOOLEAN_OPS;
  if (table[op] === undefined) throw new TypeError(`the reference has no ${op} of ${dtype}`);
  if (isComplex(dtype)) {
    const complex = COMPLEX_OPS[op]!;
    return (args) => finish(complex(args.map(complexOf)));
  }
  if (isFloat(dtype)) {
    const real = REAL_OPS[op]!;
    return (args) => {
      const value = real(args.map(Number), r);
      return finish(typeof value === 'number' ? r(value) : value);
    };
  }
  if (isInteger(dtype)) {
    const integer = INTEGER_OPS[op]!;
    return (args) => finish(integer(args.map(bigintOf), dtype));
  }
  const boolean = BOOLEAN_OPS[op]!;
  return (args) => finish(boolean(args.map(Boolean)));
}

function complexOf(value: Scalar) {
  if (!isComplexValue(value)) throw new TypeError('expected a complex value');
  return value;
}
function bigintOf(value: Scalar): bigint {
  if (typeof value !== 'bigint') throw new TypeError('expected a bigint');
  return value;
}

function reduceNode(node: ExprOf<'reduce'>, values: Values): Values {
  const input = node.inputs[0]!;
  const strides = stridesOf(input.shape);
  const kept = input.shape.map((_, k) => k).filter((k) => !node.axes.includes(k));
  const along = (axes: readonly number[]): number[] =>
    offsetsOf(
      axes.map((k) => input.shape[k]!),
      axes.map((k) => strides[k]!),
    );
  const offsets = along(node.axes);
  return along(kept).map((start) => {
    const group = offsets.map((offset) => values[start + offset]!);
    return castScalar(reduceValues(node.reduction, group, input.dtype), node.dtype);
  });
}

function viewValues(node: ExprOf<'view'>, values: Values): Values {
  const { view } = node;
  const input = node.inputs[0]!;
  const strides = stridesOf(input.shape);
  const at = (own: readonly number[], start = 0): Values =>
    offsetsOf(node.shape, own, start).map((offset) => values[offset]!);
  switch (view.type) {
    case 'reshape':
      if (sizeOf(input.shape) !== sizeOf(node.shape)) throw new RangeError('reshape changes the size');
      return values;
    case 'permute':
      return at(view.order.map((axis) => strides[axis]!));
    case 'slice':
      return at(
        strides.map((stride, k) => stride * view.steps[k]!),
        dot(view.starts, strides),
      );
    case 'broadcast':
      return at(broadcastStrides(input.shape, node.shape));
    case 'pad':
      return Array.from(indices(node.shape), (index) => {
        const from = index.map((i, k) => folded(view.fold, i - view.before[k]!, input.shape[k]!));
        const isInside = from.every((i, k) => i >= 0 && i < input.shape[k]!);
        return isInside ? values[dot(from, strides)]! : zeroOf(node.dtype);
      });
  }
}

/** Σ of products over the labels missing from the output, by walking all labels. */
function contract(node: ExprOf<'contract'>, inputs: readonly Values[]): Values {
  const sizes = new Map<number, number>();
  node.labels.forEach((labels, i) => {
    for (const [k, label] of labels.entries()) sizes.set(label, node.inputs[i]!.shape[k]!);
  });
  const summed = [...sizes.keys()].filter((label) => !node.output.includes(label));
  const all = [...node.output, ...summed];
  const strides = node.labels.map((labels, i) => {
    const own = stridesOf(node.inputs[i]!.shape);
    return all.map((label) => labels.reduce((sum, l, k) => (l === label ? sum + own[k]! : sum), 0));
  });
  const offsetsAlong = (labels: readonly number[], from: number): number[][] =>
    strides.map((own) =>
      offsetsOf(
        labels.map((label) => sizes.get(label)!),
        own.slice(from),
      ),
    );
  const outer = offsetsAlong(node.output, 0);
  const inner = offsetsAlong(summed, node.output.length);
  return outer[0]!.map((_, o) => {
    const [product, sum] = node.dtype === 'bool' ? (['all', 'any'] as const) : (['prod', 'sum'] as const);
    const terms = inner[0]!.map((_, s) => {
      const factors = inputs.map((values, i) => values[outer[i]![o]! + inner[i]![s]!]!);
      return reduceValues(product, factors, node.dtype);
    });
    return castScalar(reduceValues(sum, terms, node.dtype), node.dtype);
  });
}
