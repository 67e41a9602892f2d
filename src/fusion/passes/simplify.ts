/**
 * Simplify: rewrites that are exact, so values do not change.
 *
 *     x * 1, x / 1, x + (-0), x - 0, --x, pow(x, 1)   →   x             pow(x, 2) → square(x)
 *     cast(cast(x: float32, float64), float32)         →   x            cast(const) → const
 *     reshape(reshape(x)), permute(permute(x)) …       →   one view     view that changes nothing → x
 *     any node of size 0                               →   an empty constant
 *     gather from 0 … n - 1                            →   its indices, in range
 *     reduction over axes of size 0                    →   its identity; over axes of size 1 → reshape(x), of a sum x + 0
 *
 * Not x * 0 (NaN), not x + 0 (-0 + 0 is 0).
 */
import { type DType, isComplex, isFloat, isInteger, type Scalar } from '../../graph/dtype.js';
import type { View } from '../../graph/expr.js';
import type { GraphNode, GraphNodeOf, MutableGraph } from '../../graph/graph.js';
import { reductionRow } from '../../graph/reductions.js';
import type { ScalarTest } from '../../graph/runtime-scalar.js';
import { sameShape } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { constantOf, isConstant, isConstantThat } from './constant-of.js';
import { indexValues } from './index-values.js';
import { type Editor, type Rule, rewrite } from './rewrite.js';

export function* simplify(graph: MutableGraph): Slices<void> {
  yield* rewrite(graph, {
    source: [dropEmpty],
    iota: [dropEmpty],
    const: [dropEmpty],
    map: [dropEmpty, identities, foldConstants],
    cast: [dropEmpty, castOfConstant, castOfCast],
    reduce: [dropEmpty, trivialReduce],
    view: [dropEmpty, viewOfView],
    join: [dropEmpty],
    contract: [dropEmpty],
    gather: [dropEmpty, indexValues],
    loop: [dropEmpty],
  });
}

const zeroOf = (dtype: DType): Scalar => {
  if (dtype === 'bool') return false;
  if (dtype === 'int64' || dtype === 'uint64') return 0n;
  return isComplex(dtype) ? { re: 0, im: 0 } : 0;
};

const dropEmpty: Rule = ({ shape, dtype }, editor) => {
  for (let k = 0; k < shape.length; k++)
    if (shape[k] === 0) return editor.constant(zeroOf(dtype), dtype, shape);
  return undefined;
};

/** Small integers are the same in every dtype but bool and those without a sign. */
const isSmallInteger: ScalarTest = (value) =>
  typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 127 && !Object.is(value, -0);

const castOfConstant: Rule = (node, editor) => {
  if (node.kind !== 'cast') return undefined;
  const [id] = node.inputs as readonly [number];
  const input = editor.node(id);
  if (isComplex(input.dtype) || isComplex(node.dtype) || node.dtype === 'bool' || input.dtype === 'bool')
    return undefined;
  if (!isConstantThat(id, editor, isSmallInteger)) return undefined;
  const value = constantOf(id, editor) as number;
  if (value < 0 && node.dtype.startsWith('uint')) return undefined;
  return editor.constant(node.dtype.endsWith('int64') ? BigInt(value) : value, node.dtype, node.shape);
};

/** Whether every value of `from` is a value of `to`. */
function holdsExactly(from: DType, to: DType): boolean {
  if (from === to || from === 'bool') return true;
  const order: readonly (readonly DType[])[] = [
    ['float16', 'float32', 'float64'],
    ['bfloat16', 'float32', 'float64'],
    ['int8', 'int16', 'int32', 'int64'],
    ['uint8', 'uint16', 'uint32', 'uint64'],
    ['uint8', 'int16', 'int32', 'float64'],
    ['int8', 'int16', 'float32', 'float64'],
    ['uint16', 'int32', 'float64'],
    ['uint32', 'int64'],
    ['uint32', 'float64'],
    ['complex64', 'complex128'],
  ];
  return order.some((chain) => chain.includes(from) && chain.indexOf(to) > chain.indexOf(from));
}

const castOfCast: Rule = (node, editor) => {
  if (node.kind !== 'cast') return undefined;
  const input = editor.node(node.inputs[0]!);
  if (input.dtype === node.dtype) return node.inputs[0];
  if (input.kind !== 'cast') return undefined;
  const source = editor.node(input.inputs[0]!);
  if (!holdsExactly(source.dtype, input.dtype)) return undefined;
  // Integers wrap around, floats saturate: an integer out of range must go through the float.
  const wraps = isInteger(source.dtype) && isInteger(node.dtype);
  if (wraps && isFloat(input.dtype) && !holdsExactly(source.dtype, node.dtype)) return undefined;
  return source.dtype === node.dtype
    ? input.inputs[0]
    : editor.add({ kind: 'cast', dtype: node.dtype, shape: node.shape, inputs: [input.inputs[0]!] });
};

/** An argument whose constant leaves the other as it is. */
interface Neutral {
  readonly position: 0 | 1;
  readonly leaves: ScalarTest;
}

const addsNothing: ScalarTest = (v, d) => isNegativeZero(v) || (isInteger(d) && isZero(v));
const subtractsNothing: ScalarTest = (v, d) => !isComplex(d) && isZero(v) && !isNegativeZero(v);
const multipliesByOne: ScalarTest = (v, d) => d !== 'bool' && isOne(v);
const isRealOne: ScalarTest = (v, d) => !isComplex(d) && isOne(v);
const isTwo: ScalarTest = (v) => v === 2;

/** Identities of one constant argument, by op. */
const NEUTRAL: Readonly<Record<string, readonly Neutral[]>> = {
  multiply: [
    { position: 0, leaves: multipliesByOne },
    { position: 1, leaves: multipliesByOne },
  ],
  divide: [{ position: 1, leaves: isRealOne }],
  pow: [{ position: 1, leaves: isRealOne }],
  add: [
    { position: 0, leaves: addsNothing },
    { position: 1, leaves: addsNothing },
  ],
  subtract: [{ position: 1, leaves: subtractsNothing }],
};
const isOne = (v: Scalar): boolean => v === 1 || v === 1n;
const isZero = (v: Scalar): boolean => v === 0 || v === 0n;
const isNegativeZero = (v: Scalar): boolean => Object.is(v, -0);

const NO_IDENTITIES: readonly Neutral[] = [];
const ROUNDING: ReadonlySet<string> = new Set(['round', 'floor', 'ceil', 'trunc']);

const identities: Rule = (node, editor) => {
  if (node.kind !== 'map') return undefined;
  const [first] = node.inputs;
  const x = editor.node(first!);
  if (node.op === 'positive') return first;
  if ((node.op === 'conj' || node.op === 'real') && !isComplex(x.dtype)) return first;
  if (node.op === 'abs' && (x.dtype === 'bool' || x.dtype.startsWith('uint'))) return first;
  if (node.op === 'negative' && x.kind === 'map' && x.op === 'negative') return x.inputs[0];
  if (ROUNDING.has(node.op) && (isInteger(x.dtype) || x.dtype === 'bool')) return first;
  const neutrals = NEUTRAL[node.op] ?? NO_IDENTITIES;
  for (let k = 0; k < neutrals.length; k++) {
    const { position, leaves } = neutrals[k]!;
    if (isConstantThat(node.inputs[position]!, editor, leaves))
      return editor.broadcast(node.inputs[1 - position]!, node.shape);
  }
  if (node.op === 'pow' && isFloat(node.dtype) && isConstantThat(node.inputs[1]!, editor, isTwo)) {
    const base = editor.broadcast(first!, node.shape);
    return editor.add({ kind: 'map', op: 'square', dtype: node.dtype, shape: node.shape, inputs: [base] });
  }
  return undefined;
};

/** Arithmetic of constants in float32 and float64, rounded as the device would. */
const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  negative: (a) => -a,
  sqrt: (a) => Math.sqrt(a),
};

function areConstants(ids: readonly number[], editor: Editor): boolean {
  for (let k = 0; k < ids.length; k++) if (!isConstant(ids[k]!, editor)) return false;
  return true;
}

const foldConstants: Rule = (node, editor) => {
  if (node.kind !== 'map' || (node.dtype !== 'float32' && node.dtype !== 'float64')) return undefined;
  const operation = ARITHMETIC[node.op];
  if (operation === undefined || !areConstants(node.inputs, editor)) return undefined;
  const a = constantOf(node.inputs[0]!, editor);
  if (typeof a !== 'number') return undefined;
  const b = node.inputs.length === 1 ? a : constantOf(node.inputs[1]!, editor);
  if (typeof b !== 'number') return undefined;
  // A float64 operation on float32 values, rounded once, is the float32 operation (for these five).
  const result = operation(a, b);
  return editor.constant(node.dtype === 'float32' ? Math.fround(result) : result, node.dtype, node.shape);
};

/** Two views in a row as one, where one kind of view says both. */
function compose(outer: View, inner: View): View | undefined {
  if (outer.type === 'reshape' && inner.type === 'reshape') return outer;
  if (outer.type === 'broadcast' && inner.type === 'broadcast') return outer;
  if (outer.type === 'permute' && inner.type === 'permute') {
    return { type: 'permute', order: outer.order.map((k) => inner.order[k]!) };
  }
  if (outer.type === 'slice' && inner.type === 'slice') {
    return {
      type: 'slice',
      starts: outer.starts.map((start, k) => inner.starts[k]! + start * inner.steps[k]!),
      steps: outer.steps.map((step, k) => step * inner.steps[k]!),
    };
  }
  return undefined;
}

function changesNothing(view: View, node: GraphNode, input: GraphNode): boolean {
  if (!sameShape(node.shape, input.shape)) return false;
  switch (view.type) {
    case 'reshape':
    case 'broadcast':
      return true;
    case 'pad':
      return view.before.every((n) => n === 0);
    case 'permute':
      return view.order.every((axis, k) => axis === k);
    case 'slice':
      return view.steps.every((step, k) => step === 1 || input.shape[k] === 1);
  }
}

/** Views in a row as one, and none for one that changes nothing. */
export const viewOfView: Rule = (node, editor) => {
  if (node.kind !== 'view') return undefined;
  const input = editor.node(node.inputs[0]!);
  if (changesNothing(node.view, node, input)) return input.id;
  if (input.kind !== 'view') return undefined;
  const view = compose(node.view, input.view);
  return view === undefined ? undefined : editor.view(input.inputs[0]!, view, node.shape);
};

const trivialReduce: Rule = (node, editor) => {
  if (node.kind !== 'reduce') return undefined;
  const input = editor.node(node.inputs[0]!);
  const count = node.axes.reduce((n, axis) => n * input.shape[axis]!, 1);
  if (count === 0) {
    const { identity } = reductionRow(node.reduction);
    if (identity === undefined) return undefined; // refused when the user wrote it
    const is64 = node.dtype === 'int64' || node.dtype === 'uint64';
    const value = typeof identity === 'number' && is64 ? BigInt(identity) : identity;
    return editor.constant(
      isComplex(node.dtype) ? { re: identity as number, im: 0 } : value,
      node.dtype,
      node.shape,
    );
  }
  return count === 1 ? reduceOne(node, node.inputs[node.monoid?.part ?? 0]!, editor) : undefined;
};

/** A reduction of one element, which has no axis to walk. Sums begin with 0, so that one of -0 is 0. */
function reduceOne(node: GraphNodeOf<'reduce'>, x: number, editor: Editor): number {
  switch (node.reduction) {
    case 'argmin':
    case 'argmax':
      return editor.constant(0n, node.dtype, node.shape);
    case 'squaredDeviations': {
      // |x - x|², which is 0 but for infinities and NaN.
      const { dtype, shape } = editor.node(x);
      const difference = editor.add({ kind: 'map', op: 'subtract', dtype, shape, inputs: [x, x] });
      const magnitude = editor.add({
        kind: 'map',
        op: 'abs',
        dtype: node.dtype,
        shape,
        inputs: [difference],
      });
      return editor.reshape(magnitude, node.shape);
    }
    case 'sumexp': {
      // exp(x - x), which is 1 but for infinities and NaN.
      const { dtype, shape } = editor.node(x);
      const zero = editor.add({ kind: 'map', op: 'subtract', dtype, shape, inputs: [x, x] });
      const one = editor.add({ kind: 'map', op: 'exp', dtype, shape, inputs: [zero] });
      return editor.reshape(one, node.shape);
    }
    case 'sum': {
      const { dtype, shape } = editor.node(x);
      if (!isFloat(dtype) && !isComplex(dtype)) return editor.reshape(x, node.shape);
      const zero = editor.constant(zeroOf(dtype), dtype, shape);
      const sum = editor.add({ kind: 'map', op: 'add', dtype, shape, inputs: [x, zero] });
      return editor.reshape(sum, node.shape);
    }
    default:
      return editor.reshape(x, node.shape);
  }
}
