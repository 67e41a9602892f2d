/** A device of several with its budget and its part of the work, and pieces of values in its memory. */
import { totalBytesOf } from '../run/budgets.js';
import { deviceNamed } from '../targets/device.js';

/** Bytes [first, last) of a buffer in the memory of a device, by its name. */
export interface Piece {
  readonly device: string;
  readonly first: number;
  readonly last: number;
}

export interface ShardDevice {
  readonly name: string;
  /** The most bytes that the compute may hold there. */
  readonly budget: number;
  /** Its part of the work, relative to the others'. */
  readonly weight: number;
}

/** A device with its budget, which is its part of the work as far as it has so much memory. */
export const shardDevice = (name: string, budget: number): ShardDevice => ({
  name,
  budget,
  weight: Math.min(budget, totalBytesOf(deviceNamed(name))),
});
