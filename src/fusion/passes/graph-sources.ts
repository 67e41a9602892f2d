/**
 * The arrays and constants that a graph reads, by their numbers: sources and constants of expressions become nodes that name
 * them. Called by `graph-building.ts`.
 */
import { type DType, dtypeCode, type Scalar } from '../../graph/dtype.js';
import type { ExprOf, StridedSource } from '../../graph/expr.js';
import { denseStrides, type GraphNodeData, sizeOfShape } from '../../graph/graph.js';
import { RuntimeScalar } from '../../graph/runtime-scalar.js';
import { sameScalar } from '../../graph/scalar.js';
import { ArgumentError, expected, InternalError } from '../../host/errors.js';
import { Numbered } from '../../shared/numbered.js';
import { rangeOf } from '../kernel/boxes.js';
import { DistinctList, mixScalar } from './hash.js';
import type { SourceArray } from './source-array.js';

/** A key that is the same object for sources with the same elements. */
function identityOf(source: StridedSource): object {
  switch (source.type) {
    case 'host':
      return source.data;
    case 'chunked':
      return source.chunks;
    case 'file':
      return source.region;
    case 'reader':
      return source.reader;
  }
}

/** The arguments of a loop's body, by their numbers: there are no arrays. */
export class ArgumentList {
  readonly list: SourceArray[] = [];

  nodeOf({ source, shape }: ExprOf<'source'>): GraphNodeData {
    if (source.type === 'iota') return { kind: 'iota' };
    if (source.type !== 'argument') throw new InternalError('an array in the body of a loop');
    return { kind: 'source', input: source.index, offset: 0, strides: denseStrides(shape) };
  }
}

/** Numbers the arrays; the same part of the same array is one. */
export class SourceList {
  readonly list: SourceArray[] = [];
  /** By memory the first array in it, and by memory and part all others. */
  readonly #first = new Numbered<object>();
  #others: Map<object, Map<string, number>> | undefined;

  /** A source as a node: which array, and where in it. */
  nodeOf(expr: ExprOf<'source'>): GraphNodeData {
    const { source } = expr;
    if (source.type === 'iota') return { kind: 'iota' };
    if (source.type === 'argument') {
      throw new ArgumentError(
        expected('iterate', 'a function that builds a graph', 'one that computes', 'nothing runs in it'),
      );
    }
    const size = sizeOfShape(expr.shape);
    if (source.type === 'device' || source.type === 'segment') {
      const array = { source, start: 0, elementCount: size, dtype: expr.dtype };
      return {
        kind: 'source',
        input: this.#add(array, source.type === 'device' ? source.buffer : source.segment),
        offset: 0,
        strides: denseStrides(expr.shape),
      };
    }
    const [first, last] = size === 0 ? [source.offset, source.offset - 1] : rangeOf(source, expr.shape);
    const array = { source, start: first, elementCount: last - first + 1, dtype: expr.dtype };
    const input = this.#add(array, identityOf(source));
    return { kind: 'source', input, offset: source.offset - first, strides: source.strides };
  }

  #add(array: SourceArray, identity: object): number {
    const first = this.#first.of(identity);
    if (first < 0) {
      this.#first.set(identity, this.list.length);
      return this.list.push(array) - 1;
    }
    if (isSamePart(this.list[first]!, array)) return first;
    this.#others ??= new Map();
    const parts = this.#others.get(identity) ?? new Map<string, number>();
    this.#others.set(identity, parts);
    const key = `${array.start} ${array.elementCount} ${array.dtype} ${segmentValueOf(array)}`;
    let input = parts.get(key);
    if (input === undefined) {
      input = this.list.push(array) - 1;
      parts.set(key, input);
    }
    return input;
  }
}

const segmentValueOf = ({ source }: SourceArray): number => (source.type === 'segment' ? source.value : 0);

const isSamePart = (a: SourceArray, b: SourceArray): boolean =>
  a.start === b.start &&
  a.elementCount === b.elementCount &&
  a.dtype === b.dtype &&
  segmentValueOf(a) === segmentValueOf(b);

const hashOfScalar = ({ value, dtype }: RuntimeScalar): number =>
  mixScalar(dtypeCode(dtype), value) & 0x3fffffff;
const isSameScalar = (a: RuntimeScalar, b: RuntimeScalar): boolean =>
  a.dtype === b.dtype && sameScalar(a.value, b.value);

/** Numbers the constants; those of one dtype and the same bits are one. */
export class ScalarList {
  readonly #distinct = new DistinctList<RuntimeScalar>(hashOfScalar, isSameScalar);

  get list(): readonly RuntimeScalar[] {
    return this.#distinct.all;
  }

  add(value: Scalar, dtype: DType): RuntimeScalar {
    const { all } = this.#distinct;
    return all[this.#distinct.add(new RuntimeScalar(all.length, dtype, value))]!;
  }
}
