/**
 * A buffer whose bytes are in shards on several devices, as `persist({ devices })` leaves large arrays.
 * Called by `sharded-run.ts`.
 */
import type { DeviceBuffer, Shard } from '../../graph/expr.js';

export class ShardedBuffer implements DeviceBuffer {
  /** The devices of the shards, in the order of their bytes. */
  readonly device: string;
  readonly shards: readonly Shard[];
  readonly byteLength: number;

  private constructor(shards: readonly Shard[], byteLength: number) {
    this.shards = [...shards].sort((a, b) => a.first - b.first);
    this.device = this.shards.map(({ buffer }) => buffer.device).join(',');
    this.byteLength = byteLength;
  }

  /** The buffer of some shards, which have all of its bytes; the shard itself, where it is one of all. */
  static over(shards: readonly Shard[], byteLength: number): DeviceBuffer {
    const whole = shards.find(({ buffer }) => buffer.byteLength === byteLength);
    if (whole === undefined) return new ShardedBuffer(shards, byteLength);
    for (const { buffer } of shards) if (buffer !== whole.buffer) buffer.dispose();
    return whole.buffer;
  }

  get disposed(): boolean {
    return this.shards.some(({ buffer }) => buffer.disposed);
  }

  share(): DeviceBuffer {
    const shards = this.shards.map(({ buffer, first }) => ({ buffer: buffer.share(), first }));
    return new ShardedBuffer(shards, this.byteLength);
  }

  dispose(): void {
    for (const { buffer } of this.shards) buffer.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
