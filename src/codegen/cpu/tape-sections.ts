/**
 * Gives every value and store of a kernel to a row section or a walk of its CPU tape, each where what it
 * takes is known. Called by `tape-schedule.ts`.
 */

import { isConstant, isReduction } from '../../fusion/kernel/arithmetic.js';
import type { Kernel, Store } from '../../fusion/kernel/kernel.js';
import { inWalks, knownBefore, type Levels } from '../../fusion/kernel/levels.js';
import { InternalError } from '../../host/errors.js';
import { operandsOf, type TapeFusion } from './tape-fuse.js';

/** Values and stores of each section, before registers. */
export interface Sections {
  readonly rows: { readonly values: number[]; readonly stores: number[] }[];
  readonly walks: { readonly values: number[]; readonly stores: number[] }[];
}

export function sectionsOf(
  kernel: Kernel,
  levels: Levels,
  fusion: TapeFusion,
  keepsBlock: boolean,
): Sections {
  const { tape, stores } = kernel;
  const isMap = kernel.reduced.length === 0;
  const inBlock = inWalks(kernel, levels);
  const known = (i: number): number => knownBefore(kernel, levels.phase, i);
  const first = kernel.parallel.length;
  const onReduced = (store: Store): boolean => store.access.strides.some((s, k) => k >= first && s !== 0);

  let phases = levels.phases;
  for (const store of stores) if (onReduced(store)) phases = Math.max(phases, known(store.value) + 1);
  const empty = () => ({ values: [] as number[], stores: [] as number[] });
  const rows = Array.from({ length: phases + 1 }, empty);
  const walks = Array.from({ length: phases }, empty);

  stores.forEach((store, s) => {
    const section = isMap || onReduced(store) ? walks : rows;
    if (section === rows && inBlock(store.value)) {
      throw new InternalError(`[tape] kernel ${kernel.name} stores element value %${store.value} once a row`);
    }
    section[isMap ? 0 : known(store.value)]!.stores.push(s);
  });
  tape.forEach((instruction, i) => {
    if (isConstant(instruction) || isReduction(instruction) || inBlock(i) || fusion.absorbed[i]) return;
    rows[known(i)]!.values.push(i);
  });
  const done = tape.map(() => false);
  for (const [p, walk] of walks.entries()) {
    const wanted = tape.map((instruction, i) => isReduction(instruction) && levels.phase[i] === p);
    for (const s of walk.stores) wanted[stores[s]!.value] ||= inBlock(stores[s]!.value);
    for (let i = tape.length - 1; i >= 0; i--) {
      if (!wanted[i] || done[i]) continue;
      for (const arg of operandsOf(kernel, fusion, i)) wanted[arg] ||= inBlock(arg);
    }
    tape.forEach((_, i) => {
      if (!wanted[i] || done[i]) return;
      walk.values.push(i);
      if (keepsBlock) done[i] = true;
    });
  }
  return { rows, walks };
}
