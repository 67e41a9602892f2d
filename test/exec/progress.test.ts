import { describe, expect, it } from 'vitest';
import { compute, type Lazy, lazy, type Progress, progressLine } from '../../src/index.js';

const job = (): Lazy => {
  const x = lazy(new Float32Array(2 ** 22).fill(0.5)).reshape([2 ** 16, 64]);
  const w = lazy(new Float32Array(64 * 64).fill(0.01)).reshape([64, 64]);
  return x.matmul(w).tanh().matmul(w).tanh().sum(1);
};

describe('onProgress', () => {
  it('reports the end once, with all tiles and bytes', async () => {
    const reports: Progress[] = [];
    const result = await job().compute({
      device: 'cpu',
      memory: '6MiB',
      onProgress: (progress) => reports.push(progress),
    });
    expect(result.shape).toEqual([2 ** 16]);
    const { totalTiles } = reports.at(-1)!;
    expect(totalTiles).toBeGreaterThan(4);
    expect(reports.filter(({ tiles }) => tiles === totalTiles)).toHaveLength(1);
    expect(reports.map(({ tiles }) => tiles)).toEqual(
      reports.map(({ tiles }) => tiles).sort((a, b) => a - b),
    );
    expect(reports.at(-1)!.steps).toContain('matmul');
  });

  it('reports a compute that fits as a whole as one tile', async () => {
    const reports: Progress[] = [];
    await compute([lazy([1, 2]).add(1)], { device: 'cpu', onProgress: (progress) => reports.push(progress) });
    expect(reports.map(({ tiles, totalTiles }) => [tiles, totalTiles])).toEqual([[1, 1]]);
  });

  it('stops the compute by throwing', async () => {
    const stop = Object.freeze(new Error('enough'));
    const stopped = job().compute({
      device: 'cpu',
      onProgress: () => {
        throw stop;
      },
    });
    await expect(stopped).rejects.toBe(stop);
    expect(stop.message).toBe('enough');
  });

  it('writes a line for a terminal, and one for a file', () => {
    const written: string[] = [];
    const stream = (isTTY: boolean): NodeJS.WriteStream =>
      ({ isTTY, columns: 200, write: (text: string) => written.push(text) }) as unknown as NodeJS.WriteStream;
    const at = (tiles: number): Progress => ({
      tiles,
      totalTiles: 4,
      bytes: tiles * 2 ** 20,
      totalBytes: 2 ** 22,
      bytesPerSecond: 2 ** 20,
      secondsLeft: 4 - tiles,
      steps: ['map_exp'],
    });
    for (const isTTY of [true, false]) for (const tiles of [1, 4]) progressLine(stream(isTTY))(at(tiles));
    expect(written).toEqual([
      '\r\u001b[K[######..................] 25 %, 1.00 MiB at 1.00 MiB/s, 3.0 s left  map_exp',
      '\r\u001b[K[########################] 100 %, 4.00 MiB at 1.00 MiB/s  map_exp\n',
      '[########################] 100 %, 4.00 MiB at 1.00 MiB/s  map_exp\n',
    ]);
  });
});
