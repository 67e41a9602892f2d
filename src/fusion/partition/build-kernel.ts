/**
 * Builds the kernel of one root: a node whose value is stored. Starting at the root it pulls in, through
 * views, every node that is not itself stored, and writes them as one tape (`emit-kernel.ts`); stored nodes and sources
 * become loads.
 *
 *     %3 = sum over [1] (multiply %1 (permute %2))   →   parallel [i] reduced [j]; load %1[i,j]; load %2[j,i]; …
 *
 * A node read through two different index maps is computed twice (`partition.ts` decides when that is right).
 */
import type { Shape } from '../../graph/expr.js';
import { type Graph, nodeOf } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { sameNumbers } from '../kernel/kernel.js';
import { DistinctList, mixAll } from '../passes/hash.js';
import {
  type EmittedKernel,
  type GraphValues,
  isInParts,
  isReduction,
  isTogether,
  KernelEmitter,
} from './emit-kernel.js';
import { NeedsSplit } from './index-map.js';
import { KernelDomain } from './kernel-domain.js';
import { Loadables, MustStore } from './loadable.js';
import { OwnReadings } from './own-reading.js';
import { RecurringKernels } from './recurring-kernels.js';

/** The axes of kernels, and their domain, which is made when asked for. */
interface Axes {
  readonly shape: Shape;
  readonly reduced: readonly number[];
  domain: KernelDomain | undefined;
}

const hashOfAxes = ({ shape, reduced }: Axes): number =>
  mixAll(mixAll(shape.length, shape), reduced) & 0x3fffffff;

const sameAxes = (a: Axes, b: Axes): boolean =>
  sameNumbers(a.shape, b.shape) && sameNumbers(a.reduced, b.reduced);

const NO_AXES: readonly number[] = [];
const NOTHING: ReadonlySet<number> = new Set();

/** Builds the kernels of one graph; parts that several of them need are made once. */
export class KernelBuilder {
  readonly #values: GraphValues;
  readonly #domains = new DistinctList(hashOfAxes, sameAxes);
  readonly #readings: OwnReadings;
  #started = 0;
  /** Kernels of nodes that are alike, which need not be built again. */
  readonly recurring: RecurringKernels;
  /** Whether a reduction computes what is stored for it. */
  hasOwnReadings = false;

  /** `stored`: nodes that have a buffer of their own; may grow between kernels. */
  constructor(graph: Graph, stored: ReadonlySet<number>, inParts: ReadonlySet<number>) {
    const { length } = graph.nodes;
    const loadables = new Loadables(length);
    const [starts, kernels] = [new Int32Array(length), new Int32Array(length)];
    this.#values = { graph, stored, inParts, loadables, starts, kernels };
    this.#readings = new OwnReadings(graph, stored);
    this.recurring = new RecurringKernels(graph, stored, inParts, loadables);
  }

  /** The kernel that computes `root`. Throws `MustStore`. */
  *build(root: number): Slices<EmittedKernel> {
    const { graph, inParts } = this.#values;
    const node = nodeOf(graph, root);
    const { shape } = isReduction(node) || isInParts(node, inParts) ? nodeOf(graph, node.inputs[0]!) : node;
    const axes = isReduction(node) ? node.axes : NO_AXES;
    let domain = this.#domainOf(
      isTogether(node) ? shape.map((size, axis) => (axes.includes(axis) ? size : 1)) : shape,
      axes,
    );
    let computed = isReduction(node) ? this.#readings.of(node) : NOTHING;
    this.hasOwnReadings ||= computed.size > 0;
    for (;;) {
      const emitter = new KernelEmitter(this.#values, node, domain, ++this.#started, computed);
      try {
        for (;;) {
          const emitted = emitter.step();
          if (emitted !== undefined) return emitted;
          yield;
        }
      } catch (error) {
        // A value that is in memory alone, too, since its views are no index maps.
        if (error instanceof MustStore && computed.has(error.node)) {
          const { node: stored } = error;
          computed = new Set([...computed].filter((id) => id !== stored));
        } else if (error instanceof NeedsSplit) {
          domain = domain.split(error);
        } else {
          throw error;
        }
      }
    }
  }

  #domainOf(shape: Shape, reduced: readonly number[]): KernelDomain {
    const axes = this.#domains.all[this.#domains.add({ shape, reduced, domain: undefined })]!;
    axes.domain ??= KernelDomain.of(shape, reduced);
    return axes.domain;
  }
}
