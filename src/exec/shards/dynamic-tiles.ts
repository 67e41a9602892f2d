/**
 * Stages of a sharded job that stream from and to host memory: all devices know all tiles, and take them part
 * by part as they become free, so that one which is slower or busy does less. Called by `sharding.ts` and
 * `shard-phase.ts`.
 *
 * A device takes the parts of its own share first, in order, then those of its neighbours from their ends
 * backwards: mostly neighbouring tiles follow each other, and devices seldom come to the same part at once.
 */

import type { Task } from '../tiles/sweep-cuts.js';
import type { PhaseRules, TileOrder } from './shard-phase.js';

/** With fewer tiles for each device, shares are sharded. */
const LEAST_TILES = 8;
/** Of a device's share, about: what a device that is late may have left to do alone. */
const PARTS = 32;
/**
 * Bytes that a stage copies from and to the host, relative to those it leaves for later stages, which wait
 * there then.
 */
const LEAST_STREAMED = 8;

/** An order for each device, whose share is its weight, of a sum of 1; `undefined`: the tiles are too few. */
export function tileOrders(tiles: number, weights: readonly number[]): TileOrder[] | undefined {
  const devices = weights.length;
  if (tiles < LEAST_TILES * devices) return undefined;
  const size = Math.max(1, Math.floor(tiles / (PARTS * devices)));
  const count = Math.ceil(tiles / size);
  const starts = [0];
  let sum = 0;
  for (const weight of weights) {
    sum += weight;
    starts.push(Math.min(count, Math.round(count * sum)));
  }
  starts[devices] = count;
  return weights.map((_, device) => {
    const order = weights.flatMap((__, k) => {
      const owner = (device + k) % devices;
      const share = range(starts[owner]!, starts[owner + 1]!);
      return k === 0 ? share : share.reverse();
    });
    const tilesOf = (part: number): number[] => range(part * size, Math.min(tiles, (part + 1) * size));
    return {
      tiles: order.flatMap(tilesOf),
      parts: order.flatMap((part) => tilesOf(part).map(() => part)),
    };
  });
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, k) => from + k);

/** The inputs of the decision about a stage. */
export interface StreamRules
  extends Pick<PhaseRules, 'phaseRoleOf' | 'byteLengthOf' | 'isLarge' | 'piecesOf'> {
  readonly isOnHost: (buffer: number) => boolean;
  readonly isTemporary: (buffer: number) => boolean;
}

/**
 * The values that a stage leaves on devices and that have to wait on the host if its tiles are anyone's;
 * `undefined`: it does not stream, for what it reads or makes lies on devices.
 */
export function leftByStream(tasks: readonly Task[], rules: StreamRules): readonly number[] | undefined {
  const { phaseRoleOf, byteLengthOf, isLarge, piecesOf, isOnHost, isTemporary } = rules;
  if (tasks.some(({ step }) => step.kind === 'loop')) return undefined;
  const left: number[] = [];
  let streamed = 0;
  for (const b of new Set(tasks.flatMap(({ reads, writes }) => [...reads, ...writes]))) {
    const role = phaseRoleOf(b);
    if (role === 'inner' || (role === 'input' && !isLarge(b))) continue;
    if (role === 'input' ? piecesOf(b).length === 0 : isOnHost(b)) streamed += byteLengthOf(b);
    else if (role !== 'input' && isTemporary(b)) left.push(b);
    else return undefined;
  }
  const waiting = left.reduce((sum, b) => sum + byteLengthOf(b), 0);
  return LEAST_STREAMED * waiting <= streamed ? left : undefined;
}
