/**
 * GraphMatch: whether expressions have the canonical graph that others had, node by node, and which arrays and constants
 * they have in the places of theirs. It takes a tenth of the time in which their own graph and its fingerprint are made.
 * Called by `built-again.ts`.
 *
 * Expressions with the same nodes over the same nodes, whose arrays and constants are equal where those of the graph are,
 * have its fingerprint (`graph-building.ts`). An expression may be refused that has it too: one of two equal parts in the place
 * of one that is read twice.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import type { DType, Scalar } from '../../graph/dtype.js';
import type { DeviceSource, Expr, ExprOf, HostSource, View } from '../../graph/expr.js';
import type { GraphNode, GraphNodeOf } from '../../graph/graph.js';
import type { RuntimeScalar } from '../../graph/runtime-scalar.js';
import { sameScalar } from '../../graph/scalar.js';
import { sameShape } from '../../graph/shape.js';
import { CPU } from '../targets/device.js';

/** More nodes take longer to be compared than is won. */
const MOST_NODES = 32;

/** An array that a matched graph reads, on the host or stored on the CPU: so many elements from `start` on. */
export interface MatchedArray {
  readonly type: 'host' | 'device';
  readonly elementCount: number;
  readonly dtype: DType;
  /** Of the expressions that were matched last. */
  source: HostSource | DeviceSource | undefined;
  start: number;
}

/** A constant, with its value in the expressions that were matched last. */
interface MatchedScalar extends Pick<RuntimeScalar, 'dtype'> {
  value: Scalar;
  isFound: boolean;
}

export class GraphMatch {
  readonly arrays: readonly MatchedArray[];
  readonly scalars: readonly MatchedScalar[];
  readonly #nodes: readonly (GraphNode | undefined)[];
  readonly #outputs: readonly number[];
  /** Which functions the user asked for by name, by node: failures of theirs are errors. */
  readonly #asked: (string | undefined)[] = [];
  /** The expression in the place of each computed node. */
  readonly #found: (Expr | undefined)[];
  #isFirst = true;

  /** Undefined: such graphs are not compared, as of loops, files and indices. */
  static of(canonical: Canonical, exprs: readonly Expr[]): GraphMatch | undefined {
    const { graph, sources, checks, stretched } = canonical;
    const isKnown =
      checks.length + stretched.length === 0 &&
      graph.nodes.length <= MOST_NODES &&
      sources.every(({ source: { type }, elementCount }) => isHeld(type) && elementCount > 0);
    const match = isKnown ? new GraphMatch(canonical, exprs.length) : undefined;
    return match?.matches(exprs) === true ? match : undefined;
  }

  private constructor({ graph, sources, scalars }: Canonical, count: number) {
    this.#nodes = graph.nodes;
    this.#outputs = graph.outputs.slice(0, count);
    this.#found = new Array<Expr | undefined>(graph.nodes.length).fill(undefined);
    this.arrays = sources.map(({ source: { type }, elementCount, dtype }) => ({
      type: type as 'host' | 'device',
      elementCount,
      dtype,
      source: undefined,
      start: 0,
    }));
    this.scalars = scalars.map(({ value, dtype }) => ({ value, dtype, isFound: false }));
  }

  /** Whether there are as many expressions as results, and the first is like that of the graph. */
  begins(exprs: readonly Expr[]): boolean {
    const [first] = exprs;
    const node = this.#nodes[this.#outputs[0] ?? -1];
    if (exprs.length !== this.#outputs.length || first === undefined || node === undefined) return false;
    return first.kind === node.kind && first.dtype === node.dtype && sameShape(first.shape, node.shape);
  }

  /** Whether expressions have the graph. `forget` is to be called when what was found is not needed any more. */
  matches(exprs: readonly Expr[]): boolean {
    const outputs = this.#outputs;
    for (let k = 0; k < outputs.length; k++) if (!this.#isLike(outputs[k]!, exprs[k]!)) return false;
    this.#isFirst = false;
    return true;
  }

  /** Drops what was found, which would keep the user's arrays. */
  forget(): void {
    this.#found.fill(undefined);
    for (let k = 0; k < this.arrays.length; k++) this.arrays[k]!.source = undefined;
    for (let k = 0; k < this.scalars.length; k++) this.scalars[k]!.isFound = false;
  }

  #isLike(id: number, expr: Expr): boolean {
    const node = this.#nodes[id]!;
    if (expr.kind !== node.kind || expr.dtype !== node.dtype || !sameShape(expr.shape, node.shape))
      return false;
    if (node.kind === 'source') return this.#isLikeSource(node, expr as ExprOf<'source'>);
    if (node.kind === 'const') return this.#isLikeConstant(node, expr as ExprOf<'const'>);
    const found = this.#found[id];
    if (found !== undefined) return found === expr;
    this.#found[id] = expr;
    if (!hasSameData(node, expr) || !this.#isAskedAlike(id, expr)) return false;
    const { inputs } = node;
    if (inputs.length !== expr.inputs.length) return false;
    for (let k = 0; k < inputs.length; k++) if (!this.#isLike(inputs[k]!, expr.inputs[k]!)) return false;
    return true;
  }

  #isAskedAlike(id: number, expr: Expr): boolean {
    if (expr.kind !== 'call') return true;
    if (this.#isFirst) this.#asked[id] = expr.asked;
    return this.#asked[id] === expr.asked;
  }

  #isLikeSource({ input, offset, strides }: GraphNodeOf<'source'>, { source }: ExprOf<'source'>): boolean {
    const array = this.arrays[input]!;
    if (source.type !== array.type) return false;
    let start = 0;
    if (source.type === 'host') {
      if (!sameShape(source.strides, strides)) return false;
      start = source.offset - offset;
    } else if (source.type === 'device') {
      const { device, shards, disposed } = source.buffer;
      if (device !== CPU.name || shards !== undefined || disposed) return false;
    } else return false;
    if (array.source !== undefined) return isSameMemory(array.source, source) && array.start === start;
    const { arrays } = this;
    for (let k = 0; k < arrays.length; k++) {
      const other = arrays[k]!;
      const isSame =
        other.source !== undefined &&
        isSameMemory(other.source, source) &&
        other.start === start &&
        other.elementCount === array.elementCount &&
        other.dtype === array.dtype;
      if (isSame) return false;
    }
    array.source = source;
    array.start = start;
    return true;
  }

  #isLikeConstant({ value }: GraphNodeOf<'const'>, expr: ExprOf<'const'>): boolean {
    const { scalars } = this;
    const scalar = scalars[(value as RuntimeScalar).position]!;
    if (scalar.isFound) return sameScalar(scalar.value, expr.value);
    for (let k = 0; k < scalars.length; k++) {
      const other = scalars[k]!;
      if (other.isFound && other.dtype === scalar.dtype && sameScalar(other.value, expr.value)) return false;
    }
    scalar.isFound = true;
    scalar.value = expr.value;
    return true;
  }
}

const isHeld = (type: string): boolean => type === 'host' || type === 'device';

/** Whether arrays lie in one memory, as `graph-sources.ts` asks. */
const isSameMemory = (a: HostSource | DeviceSource, b: HostSource | DeviceSource): boolean =>
  a.type === 'host' ? b.type === 'host' && a.data === b.data : b.type === 'device' && a.buffer === b.buffer;

/** Whether a computed node says the same as an expression of its kind. Of kinds that are not compared none does. */
function hasSameData(node: GraphNode, expr: Expr): boolean {
  switch (node.kind) {
    case 'cast':
      return true;
    case 'map':
      return expr.kind === 'map' && expr.op === node.op;
    case 'reduce':
      return (
        expr.kind === 'reduce' &&
        expr.reduction === node.reduction &&
        sameShape(expr.axes, node.axes) &&
        expr.monoid === node.monoid &&
        expr.unrolled === node.unrolled &&
        expr.together === node.together &&
        expr.batch === node.batch
      );
    case 'view':
      return expr.kind === 'view' && isSameView(expr.view, node.view);
    case 'contract':
      return expr.kind === 'contract' && isSameContraction(expr, node);
    case 'call':
      return (
        expr.kind === 'call' &&
        expr.routine === node.routine &&
        expr.result === node.result &&
        sameShape(expr.parameters, node.parameters) &&
        expr.kernel === undefined &&
        node.kernel === undefined
      );
    default:
      return false;
  }
}

type Contraction = Pick<
  ExprOf<'contract'>,
  'labels' | 'output' | 'precision' | 'memoryLimit' | 'library' | 'epilogue' | 'conjugated'
>;

const isSameContraction = (a: Contraction, b: Contraction): boolean =>
  a.labels.length === b.labels.length &&
  a.labels.every((labels, k) => sameShape(labels, b.labels[k]!)) &&
  sameShape(a.output, b.output) &&
  a.precision === b.precision &&
  a.memoryLimit === b.memoryLimit &&
  a.library === b.library &&
  a.epilogue === b.epilogue &&
  a.conjugated === b.conjugated;

function isSameView(a: View, b: View): boolean {
  switch (a.type) {
    case 'reshape':
    case 'broadcast':
      return a.type === b.type;
    case 'permute':
      return b.type === 'permute' && sameShape(a.order, b.order);
    case 'slice':
      return b.type === 'slice' && sameShape(a.starts, b.starts) && sameShape(a.steps, b.steps);
    case 'pad':
      return b.type === 'pad' && a.fold === b.fold && sameShape(a.before, b.before);
  }
}
