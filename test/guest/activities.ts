/**
 * The work of the threads of `threads.ts`, one round of it at a time: each checks its own values, and
 * is begun again until its thread is terminated in the middle of it.
 */
import { join } from 'node:path';
import { compile, compute, iterate, type Lazy, lazy, loadNpy, npy, saveNpy } from '../../src/index.js';
import type { Activity } from './activity-names.js';

export interface Place {
  readonly device: string;
  /** A folder of this thread's own. */
  readonly folder: string;
  /** Different for each round of each thread. */
  readonly seed: number;
  /** Of arrays; 1 for the simulator. */
  readonly scale: number;
}

type Round = (place: Place) => Promise<void>;

function check(found: unknown, wanted: number): void {
  if (found !== wanted) throw new Error(`expected ${wanted}: ${String(found)}`);
}

const filled = (count: number, value: number): Lazy => lazy(new Float32Array(count).fill(value));

const double = compile((x: Lazy) => x.mul(2).sum());

/** A chain of ops that is hardly ever the same: its kernels have to be compiled. */
function unseen(x: Lazy, seed: number): Lazy {
  let y = x;
  for (let bits = seed + 2; bits > 1; bits >>= 1) y = bits % 2 === 1 ? y.abs().sqrt() : y.square().sin();
  return y;
}

export const ACTIVITIES = {
  compute: async ({ device, scale }) => {
    const x = filled(4000 * scale, 0.5);
    const [sum, all] = await compute([x.add(1).sum(), x.mul(4)], { device });
    check(sum.item(), 6000 * scale);
    check(all.at(17), 2);
  },
  compile: async ({ device, seed }) => {
    await unseen(filled(100, 0.5), seed).compute({ device });
    check((await double(filled(8, seed % 1000))).item(), 16 * (seed % 1000));
  },
  iterate: async ({ device, scale }) => {
    const state = iterate(200 * scale, new Float32Array(500), (x: Lazy) => x.add(1));
    check((await state.compute({ device })).at(3), 200 * scale);
  },
  persist: async ({ device, scale }) => {
    const kept = await filled(1000 * scale, 1)
      .add(1)
      .persist({ device });
    const given = await kept.mul(3).persist({ device });
    check((await given.sum().compute()).item(), 6000 * scale);
    // The other is left to the collector, or to the end of the thread.
    kept.dispose();
  },
  sweep: async ({ device, scale }) => {
    const x = filled(64_000 * scale, 1).reshape([-1, 32]);
    check(
      (
        await x
          .sub(x.mean(0))
          .add(2)
          .compute({ device, memory: 80_000 * scale })
      ).at(5, 5),
      2,
    );
  },
  read: async ({ device, folder, scale }) => {
    const path = join(folder, 'read.npy');
    await saveNpy(path, filled(32_000 * scale, 2).reshape([-1, 32]), { device: 'cpu' });
    const means = (await loadNpy(path)).mean(1);
    check((await means.compute({ device, memory: 60_000 * scale })).at(9), 2);
  },
  write: async ({ device, folder, scale }) => {
    const to = npy(join(folder, 'written.npy'));
    const saved = await filled(32_000 * scale, 2)
      .mul(2)
      .compute({ device, to, memory: 120_000 * scale });
    check((await saved.slice(7).compute({ device })).item(), 4);
  },
} satisfies Record<Activity, Round>;
