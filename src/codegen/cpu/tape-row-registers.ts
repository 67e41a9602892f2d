/**
 * Gives the values of a tape's rows, results of reductions among them, their registers by a linear scan over row sections
 * and walks. They are as many as live at one time: a job that does not fit keeps them for every tile while parts of the
 * reduced axes pass. Called by `tape-schedule.ts`.
 */

import { windowIndexOf } from '../../fusion/kernel/algebra.js';
import { reductionsOf } from '../../fusion/kernel/arithmetic.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { Levels } from '../../fusion/kernel/levels.js';
import { operandsOf, type TapeFusion } from './tape-fuse.js';
import { Registers } from './tape-registers.js';
import type { Sections } from './tape-sections.js';

export interface RowRegisters {
  /** Byte offset of each row-level value, -1 for others. */
  readonly offsets: readonly number[];
  readonly byteLength: number;
}

export function placeRows(
  kernel: Kernel,
  levels: Levels,
  fusion: TapeFusion,
  { rows, walks }: Sections,
  shapeOf: (i: number) => { key: string; bytes: number },
): RowRegisters {
  const lastUse = lastUses(kernel, fusion, { rows, walks });
  const registers = new Registers();
  const offsets = kernel.tape.map(() => -1);
  const live = new Set<number>();
  const place = (value: number): void => {
    const { key, bytes } = shapeOf(value);
    offsets[value] = registers.take(key, bytes);
    live.add(value);
  };
  const release = (value: number): void => {
    if (live.delete(value)) registers.give(shapeOf(value).key, offsets[value]!);
  };
  let time = 0;
  rows.forEach(({ values }, p) => {
    for (const value of values) {
      // Functions work lane by lane, so a result may lie where an argument of its shape ends.
      for (const arg of operandsOf(kernel, fusion, value)) if (lastUse.get(arg) === time) release(arg);
      place(value);
      if (!lastUse.has(value)) release(value);
      time++;
    }
    // Results come while the walk still reads others.
    for (const { position } of reductionsOf(kernel)) if (levels.phase[position] === p) place(position);
    time++;
    for (const value of [...live]) if ((lastUse.get(value) ?? 0) < time) release(value);
  });
  return { offsets, byteLength: registers.byteLength };
}

/** When a value is read last: each value of a row section has a time, then its stores and the walk after it one. */
function lastUses(
  kernel: Kernel,
  fusion: TapeFusion,
  { rows, walks }: Sections,
): ReadonlyMap<number, number> {
  const lastUse = new Map<number, number>();
  const window = windowIndexOf(kernel);
  let time = 0;
  const read = (value: number): void => {
    for (const arg of operandsOf(kernel, fusion, value)) lastUse.set(arg, time);
  };
  rows.forEach(({ values, stores }, p) => {
    for (const value of values) {
      read(value);
      time++;
    }
    const walk = walks[p];
    walk?.values.forEach(read);
    const stored = [...stores, ...(walk?.stores ?? [])];
    for (const s of stored) lastUse.set(kernel.stores[s]!.value, time);
    // Stores ask for it which elements to write.
    if (window !== undefined && stored.length > 0) lastUse.set(window, time);
    time++;
  });
  return lastUse;
}
