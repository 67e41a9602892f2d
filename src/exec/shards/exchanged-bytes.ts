/** Bytes of values that a run of a phase reads in other devices' memory. Called by `sharding.ts`. */
import { WINDOW, WINDOW_FIELDS } from '../../shared/layout.js';
import { type DeviceRun, type SweepWindows, sweepsOf } from '../plan/plan.js';
import type { Piece } from './shard-device.js';
import { pieceOn } from './shard-ranges.js';

/** `piecesOf`: where the bytes of an input are on devices; none: in host memory. */
export function exchangedBytes(
  { plan, inputs }: Pick<DeviceRun, 'plan' | 'inputs'>,
  device: string,
  piecesOf: (buffer: number) => readonly Piece[],
): number {
  const windows = plan.steps.flatMap(sweepsOf).flatMap((sweep) => sweep.windows);
  return inputs.reduce((sum, buffer) => {
    const pieces = piecesOf(buffer);
    if (pieces.length === 0) return sum;
    const own = pieceOn(pieces, device);
    const away = (first: number, last: number): number => last - first - overlap(own, first, last);
    const { byteLength, windowed } = plan.buffers[buffer]!;
    if (windowed !== true) return sum + away(0, byteLength);
    return sum + windows.filter((one) => one.buffer === buffer).reduce((n, one) => n + copied(one, away), 0);
  }, 0);
}

const overlap = (piece: Piece | undefined, first: number, last: number): number =>
  piece === undefined ? 0 : Math.max(0, Math.min(last, piece.last) - Math.max(first, piece.first));

/** The sum of `bytesOf` over all windows that are copied; those of values on devices are one row each. */
function copied({ windows, slots }: SweepWindows, bytesOf: (first: number, last: number) => number): number {
  let sum = 0;
  for (let at = 0; slots > 0 && at < windows.length; at += WINDOW_FIELDS) {
    if (windows[at + WINDOW.copies] !== 1) continue;
    const first = windows[at + WINDOW.first]!;
    sum += bytesOf(first, first + windows[at + WINDOW.width]!);
  }
  return sum;
}
