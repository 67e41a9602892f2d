/**
 * A line in the terminal that tells how far a compute is: `compute({ onProgress: progressLine() })`.
 */
import type { OnProgress } from '../exec/run/progress.js';
import { formatBytes } from '../graph/format.js';

const WIDTH = 24;

/**
 * A function for `onProgress` that keeps one line of a stream up to date, `process.stderr` if none is given,
 * and ends it when the compute is complete. Where the stream is no terminal, it writes the last line only.
 *
 * @example
 * await lazy([1, 2]).sum().compute({ onProgress: progressLine() })
 * //=> [########################] 100 %  reduce_sum
 * //=> 3.0
 */
export function progressLine(stream: NodeJS.WriteStream = process.stderr): OnProgress {
  return ({ tiles, totalTiles, bytes, bytesPerSecond, secondsLeft, steps }) => {
    const isDone = tiles === totalTiles;
    if (!stream.isTTY && !isDone) return;
    const share = tiles / totalTiles;
    const filled = Math.round(share * WIDTH);
    const bar = `${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}`;
    const rate = bytes > 0 ? `, ${formatBytes(bytes)} at ${formatBytes(bytesPerSecond)}/s` : '';
    const left = isDone || !Number.isFinite(secondsLeft) ? '' : `, ${secondsLeft.toFixed(1)} s left`;
    const line = `[${bar}] ${(100 * share).toFixed(0)} %${rate}${left}  ${steps.join(' ')}`;
    const room = stream.columns ?? line.length;
    stream.write(`${stream.isTTY ? '\r\u001b[K' : ''}${line.slice(0, room)}${isDone ? '\n' : ''}`);
  };
}
