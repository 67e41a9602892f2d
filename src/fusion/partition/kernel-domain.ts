/**
 * KernelDomain: the box that a kernel walks, made of its root's axes: parallel ones in order, then reduced
 * ones. An axis is split into pieces where a reshape asks for it.
 *
 *     (8, 6) reduced over [0]        →   parallel [6] reduced [8]
 *     the same, axis 0 split at 4    →   parallel [6] reduced [2, 4]
 *
 * Called by `build-kernel.ts`.
 */
import type { Shape } from '../../graph/expr.js';
import { denseStrides } from '../../graph/graph.js';
import type { Affine } from '../kernel/kernel.js';
import { type IndexMap, indexMap, type NeedsSplit } from './index-map.js';

export class KernelDomain {
  /** All axes, parallel ones first. */
  readonly sizes: readonly number[];
  readonly parallel: readonly number[];
  readonly reduced: readonly number[];
  /** C order over the parallel axes, which is C order of the root's shape. */
  readonly outputStrides: readonly number[];
  /** Where each axis of the root lies in the box. */
  readonly start: IndexMap;
  readonly #pieces: readonly (readonly number[])[];
  readonly #reduced: ReadonlySet<number>;
  readonly #axes: readonly { readonly axis: number; readonly piece: number }[];

  /**
   * `pieces[k]`: the sizes into which axis k is split, outermost first; `reduced`: the axes that are reduced.
   */
  constructor(pieces: readonly (readonly number[])[], reduced: ReadonlySet<number>) {
    const all = pieces.flatMap((sizes, axis) => sizes.map((_, piece) => ({ axis, piece })));
    const axes =
      reduced.size === 0
        ? all
        : [...all.filter((a) => !reduced.has(a.axis)), ...all.filter((a) => reduced.has(a.axis))];
    this.#pieces = pieces;
    this.#reduced = reduced;
    this.#axes = axes;
    this.sizes = axes.map(({ axis, piece }) => pieces[axis]![piece]!);
    const parallelCount = axes.filter(({ axis }) => !reduced.has(axis)).length;
    this.parallel = this.sizes.slice(0, parallelCount);
    this.reduced = this.sizes.slice(parallelCount);
    const dense = denseStrides(this.parallel);
    this.outputStrides = this.sizes.map((_, k) => dense[k] ?? 0);
    const coordinates = pieces.map((sizes, axis): Affine => {
      const weights = denseStrides(sizes);
      return { offset: 0, strides: axes.map((a) => (a.axis === axis ? weights[a.piece]! : 0)) };
    });
    this.start = indexMap(coordinates, []);
  }

  static of(shape: Shape, reduced: readonly number[]): KernelDomain {
    return new KernelDomain(
      shape.map((n) => (n === 1 ? [] : [n])),
      new Set(reduced),
    );
  }

  split({ axis: position, inner }: NeedsSplit): KernelDomain {
    const { axis, piece } = this.#axes[position]!;
    const pieces = this.#pieces.map((sizes, k) =>
      k === axis ? sizes.flatMap((n, p) => (p === piece ? [n / inner, inner] : [n])) : sizes,
    );
    return new KernelDomain(pieces, this.#reduced);
  }
}
