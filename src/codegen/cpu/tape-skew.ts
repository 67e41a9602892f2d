/**
 * How far the steps of a loop may follow one another through the tiles of its body on the CPU: a step needs
 * of the one before only what lies near. Called by `program-cpu.ts`; `native/cpu/tape-skew.cpp` runs the
 * steps.
 */
import { loadsOf } from '../../fusion/kernel/algebra.js';
import { type Affine, type Kernel, product, sameNumbers } from '../../fusion/kernel/kernel.js';
import { planTape } from './tape.js';
import type { Blocking, Loop } from './tape-blocking.js';

/**
 * Tiles that lie at most between one that reads a state and those that store what it reads. Undefined: the
 * body of the loop does not make every state, as a whole and in order, from elements at constant distances.
 */
export function skewOf(source: Kernel): number | undefined {
  const { carried } = source;
  if (carried === undefined || source.reduced.length > 0 || source.parallel.includes(0)) return undefined;
  const { kernel, blocking, loops } = planTape(source);
  const { parallel, stores } = kernel;
  const dense = parallel.map((_, k) => product(parallel.slice(k + 1)));
  const isDense = (affine: Affine): boolean => sameNumbers(affine.strides, dense);
  const isWhole = carried.every(({ output }) =>
    stores.some(({ access }) => access.buffer === output && access.offset === 0 && isDense(access)),
  );
  if (!isWhole || stores.length !== carried.length) return undefined;
  const states = new Set(carried.map(({ input }) => input));
  let reach = 0;
  for (const { access } of loadsOf(kernel)) {
    if (!states.has(access.buffer)) continue;
    if (!isDense(access) || access.index !== undefined) return undefined;
    const folds = access.bounds.flatMap(({ fold }) => fold?.mode ?? []);
    // From the other end.
    if (folds.includes('wrap')) return undefined;
    for (const shift of shiftsOf(access.offset, dense, parallel))
      for (const way of folds.length === 0 ? [shift] : bothWays(shift))
        reach = Math.max(reach, tilesBetween(way, loops.tiles, blocking));
  }
  return reach;
}

/** The ways along the axes between two elements that lie so far apart in memory. */
function shiftsOf(distance: number, strides: readonly number[], sizes: readonly number[]): number[][] {
  if (strides.length === 0) return distance === 0 ? [[]] : [];
  const [stride, ...inner] = strides as [number, ...number[]];
  const steps = new Set([Math.floor(distance / stride), Math.ceil(distance / stride)]);
  return [...steps]
    .filter((step) => Math.abs(step) < sizes[0]!)
    .flatMap((step) =>
      shiftsOf(distance - step * stride, inner, sizes.slice(1)).map((shift) => [step, ...shift]),
    );
}

/** A way along the axes, and those that go along some of them in the other direction, as at an edge that folds back. */
const bothWays = (shift: readonly number[]): readonly (readonly number[])[] =>
  shift.reduce<readonly (readonly number[])[]>(
    (ways, step) =>
      ways.flatMap((way) =>
        step === 0
          ? [[...way, 0]]
          : [
              [...way, step],
              [...way, -step],
            ],
      ),
    [[]],
  );

/** The most tiles between two elements with such a way between them. */
function tilesBetween(shift: readonly number[], tiles: readonly Loop[], blocking: Blocking): number {
  let [low, high, radix] = [0, 0, 1];
  for (const loop of [...tiles].reverse()) {
    const steps = shift[loop.axis]! / lengthOf(loop, blocking);
    // The last two steps of lanes and rows at once may both be short.
    const more = loop.role === 'shared' ? Math.sign(steps) : 0;
    low += radix * (Math.floor(steps) + Math.min(0, more));
    high += radix * (Math.ceil(steps) + Math.max(0, more));
    radix *= loop.count;
  }
  return Math.max(-low, high);
}

/** Elements of an axis in one step of a loop. */
function lengthOf({ role }: Loop, { take, rows }: Blocking): number {
  switch (role) {
    case 'unit':
      return 1;
    case 'lanes':
      return take;
    case 'rows':
      return rows;
    case 'shared':
      return take * rows;
  }
}
