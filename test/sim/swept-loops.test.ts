/**
 * Loops that do not fit on a simulated GPU: how their bodies are swept, where states wait, results in files,
 * an end half way. That their bits are those of the whole is in `test/conformance/loop-budgets.test.ts`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { memory } from '../../src/exec/native/native.js';
import { compute, iterate, type Lazy, lazy, loadNpy, MemoryError, npy, plan } from '../../src/index.js';
import { setDevices, show, takeProblems } from './simulator.js';

setDevices([{}]);

const device = 'cuda';
const folder = mkdtempSync(join(tmpdir(), 'weft-loops-'));
afterAll(() => rmSync(folder, { recursive: true }));

const [rows, columns] = [2048, 32];
const stateBytes = rows * columns * 4;
const field = (): Lazy =>
  lazy(
    Float32Array.from({ length: rows * columns }, (_, k) => (k * 31) % 101),
    { shape: [rows, columns] },
  );
const down = (x: Lazy): Lazy => x.add(x.pad(1).slice([null, -2], [1, -1])).mul(0.5);
const options = { device, memory: '128KiB' };

describe('a loop that does not fit', () => {
  it('takes a tile of maps through all steps, and copies it once each way', () => {
    const summary = plan([iterate(1000, field(), (x) => x.mul(0.5).add(1))], options);
    expect(summary.sweeps).toHaveLength(1);
    // Nothing waits: the same pinned memory as for a map.
    expect(summary.hostPeakBytes).toBe(plan([field().mul(0.5).add(1)], options).hostPeakBytes);
  });

  it('does several steps of a stencil in a pass over states that wait on the host', () => {
    const summary = plan([iterate(64, field(), down)], options);
    expect(summary.sweeps).toHaveLength(1);
    const [, passes] = /loop (\d+) times/.exec(String(summary))!;
    expect(Number(passes)).toBeLessThanOrEqual(8);
    const once = plan([down(field())], options);
    expect(summary.hostPeakBytes - once.hostPeakBytes).toBeGreaterThanOrEqual(stateBytes);
    // Copies get by with 4 MiB of pinned memory, but the states wait beside it.
    const hostMemory = 2 ** 22 + stateBytes / 2;
    plan([down(field())], { ...options, hostMemory });
    expect(() => plan([iterate(64, field(), down)], { ...options, hostMemory })).toThrow(MemoryError);
  });

  it('leaves its last states and those that it kept in files', async () => {
    const make = (): Lazy[] => [iterate(12, field(), down), iterate(12, field(), down, { every: 4 })];
    const wanted = await compute(make(), { device });
    const paths = wanted.map((_, k) => join(folder, `${k}.npy`));
    await compute(make(), { ...options, to: paths.map((path) => npy(path)) });
    for (const [k, path] of paths.entries()) {
      const x = await loadNpy(path);
      expect((await x.compute({ device: 'cpu' })).data).toEqual(wanted[k]!.data);
    }
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('ends within a tile when it is cancelled, and lets go of everything', async () => {
    const cancel = new AbortController();
    const reports: number[] = [];
    const onProgress = ({ tiles }: { readonly tiles: number }): void => {
      if (reports.push(tiles) === 2) cancel.abort();
    };
    const running = iterate(1e6, field(), down).compute({ ...options, signal: cancel.signal, onProgress });
    await expect(running).rejects.toThrow(/abort/i);
    expect(reports[1]!).toBeGreaterThan(reports[0]!);
    expect(memory().find((each) => each.device === 'cuda:0')!.inUse).toBe(0);
  });
});
