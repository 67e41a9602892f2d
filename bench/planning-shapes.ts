/**
 * Graphs of about a given number of nodes in the shapes that users' programs give them: what planning is
 * measured on. Called by `planning.ts`.
 */
import { concat, type Lazy, lazy, stack } from '../src/index.js';

/** A graph with about `count` nodes; new arrays and nodes at each call. */
export type GraphShape = (count: number) => Lazy[];

const zeros = new Float32Array(1024);
const line = new Float32Array(1 << 20);

/**
 * An array of its own, over memory that all rows share: what is measured is not the engine's making of
 * memory.
 */
const row = (): Lazy => lazy(zeros.subarray());

/** `count` dependent additions. */
export function chain(count: number): Lazy[] {
  const step = lazy(new Float32Array(1024).fill(1));
  let sum = row();
  for (let k = 0; k < count; k++) sum = sum.add(step);
  return [sum];
}

/** The sum of `count / 2` arrays, pair by pair. */
function sumTree(count: number): Lazy[] {
  let level = Array.from({ length: count / 2 }, () => row());
  while (level.length > 1) {
    const next: Lazy[] = [];
    for (let k = 0; k + 1 < level.length; k += 2) next.push(level[k]!.add(level[k + 1]!));
    if (level.length % 2 === 1) next.push(level.at(-1)!);
    level = next;
  }
  return level;
}

/** Elementwise work, transposes, row normalizations and column sums. */
function mixed(count: number): Lazy[] {
  const shape = [256, 256];
  const y = lazy(new Float32Array(256 * 256), { shape });
  let x = lazy(new Float32Array(256 * 256), { shape });
  const results: Lazy[] = [];
  for (let nodes = 0; nodes < count; ) {
    x = x.mul(1.01).add(y).sin().sub(y.T).abs().sqrt();
    x = x.sub(x.max(1, { keepdims: true })).exp();
    nodes += 10;
    if (nodes % 50 === 0) {
      results.push(x.sum(0));
      nodes++;
    }
  }
  return [x, ...results];
}

/** `count / 4` results that have nothing in common. */
const apart = (count: number): Lazy[] => Array.from({ length: count / 4 }, (_, k) => row().mul(k).add(1));

/** `count / 4` sums of one array. */
function reductions(count: number): Lazy[] {
  const x = lazy(new Float32Array(1 << 20));
  return Array.from({ length: count / 4 }, (_, k) => x.sub(k).abs().sum());
}

/** `count / 5` arrays side by side. */
const parts = (count: number): Lazy[] => [concat(Array.from({ length: count / 5 }, () => row()))];

/** A weighted sum of `count / 4` shifted slices of one array. */
function stencil(count: number): Lazy[] {
  const width = count / 4;
  const x = lazy(new Float32Array(4096 + width));
  let sum = x.slice([0, 4096]);
  for (let k = 1; k < width; k++) sum = sum.add(x.slice([k, 4096 + k]).mul(1 / k));
  return [sum];
}

/** `count / 14` steps of a smoothing stencil, each over what the last one made. */
function smoothing(count: number): Lazy[] {
  const n = 1024;
  let x = lazy(new Float32Array(n * n), { shape: [n, n] });
  for (let k = 0; k < count / 14; k++) {
    const inside = x
      .slice([0, -2])
      .add(x.slice([2, null]))
      .mul(0.25)
      .add(x.slice([1, -1]).mul(0.5));
    x = concat([x.slice([0, 1]), inside, x.slice([-1, null])]);
  }
  return [x];
}

/** Layers of a network: a product, a bias, an activation and a row normalization each, about 13 nodes. */
function layers(count: number): Lazy[] {
  const weights = lazy(new Float32Array(64 * 64), { shape: [64, 64] });
  let x = lazy(new Float32Array(128 * 64), { shape: [128, 64] });
  for (let k = 0; k < count / 13; k++) {
    x = x
      .matmul(weights)
      .add(lazy(new Float32Array(64)))
      .tanh();
    x = x.sub(x.mean(1, { keepdims: true })).div(x.std(1, { keepdims: true }));
  }
  return [x];
}

/** `count / 4` computed values side by side. */
function stacks(count: number): Lazy[] {
  const x = row();
  return [stack(Array.from({ length: count / 4 }, (_, k) => x.mul(k).add(k).exp()))];
}

/** `count / 2` maps of one array, which merge into kernels of as many buffers as one may have. */
function siblings(count: number): Lazy[] {
  const x = row();
  return Array.from({ length: count / 2 }, (_, k) => x.add(k));
}

/** `count / 70` scans of the elements that are taken of the last one; planned within a part of what they hold. */
function windows(count: number): Lazy[] {
  const places = lazy(new Int32Array(line.length));
  let x = lazy(line.subarray());
  for (let k = 1; k <= count / 70; k++) x = x.mul(k).cumulativeSum().take(places);
  return [x.exp()];
}

/** Shapes that are planned within such a part of what they hold as a whole. */
export const PARTS_OF_MEMORY: Readonly<Record<string, number>> = { windows: 16 };

export const SHAPES: Readonly<Record<string, GraphShape>> = {
  chain,
  sumTree,
  mixed,
  apart,
  reductions,
  parts,
  stencil,
  smoothing,
  layers,
  stacks,
  siblings,
  windows,
};
