/**
 * The depth of nodes, and what is done where graphs become deep: `fusion/passes/segment.ts` puts their lower
 * part aside. Called by the constructors of nodes (`infer.ts`).
 */
import type { Expr } from './expr.js';

/** Puts aside what is more than `levels` below nodes of which the next one has the depth `depth`. */
export type Segmentation = (tops: readonly Expr[], depth: number, levels: number) => void;

/** Levels of a graph that are never put aside; what is put aside has as many. */
const LEVELS = 16_384;

let segmentation: Segmentation | undefined;
let levels = LEVELS;

/** Says what is done with deep graphs. */
export function onDeepGraph(segment: Segmentation): void {
  segmentation = segment;
}

/** The depth of a node with these inputs: one more than the deepest of them. */
export function depthOf(inputs: readonly Expr[]): number {
  let depth = 0;
  for (let k = 0; k < inputs.length; k++) if (inputs[k]!.depth > depth) depth = inputs[k]!.depth;
  depth++;
  // On the way down from any node there is one of every depth: none of the multiples is missed.
  if (depth % levels === 0 && depth > levels) segmentation?.(inputs, depth, levels);
  return depth;
}

/**
 * Calls a function that builds graphs with another number of levels; infinitely many: nothing is put aside.
 */
export function withLevels<Result>(count: number, build: () => Result): Result {
  const before = levels;
  levels = count;
  try {
    return build();
  } finally {
    levels = before;
  }
}
