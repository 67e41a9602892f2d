/**
 * Jobs from file to file in tiles, as people write them: whatever call fails while they run, and whenever
 * they are aborted, they end with the right error or are right all the same, and leave nothing behind: no
 * memory, no handle, no file under any name.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { DeviceError, DeviceLostError, MemoryError } from '../../src/host/errors.js';
import { type Lazy, lazy, npy, saveNpy } from '../../src/index.js';
import { temporaryFolder } from '../support/files.js';
import { footprint } from './programs.js';
import { describeSimulator, hold, setDevices, setFaults } from './simulator.js';

setDevices([{ memory: 2 ** 26 }]);
const OUT_OF_MEMORY = 2;
const UNKNOWN = 999;
/** They tell or give back: no status of theirs is a failure of the run. */
const CANNOT_FAIL = /^cu(Pointer|EventDestroy|MemFreeAsync|MemGetInfo)/;

const folder = temporaryFolder();
const [ROWS, COLUMNS] = [1500, 64];
const data = new Float32Array(ROWS * COLUMNS).map((_, k) => Math.sin(k));
const x = await saveNpy(join(folder.path, 'in.npy'), lazy(data, { shape: [ROWS, COLUMNS] }), {
  device: 'cpu',
});
const out = join(folder.path, 'out.npy');
const options = { device: 'cuda', memory: 100_000 };

const JOBS: readonly (readonly [string, (x: Lazy) => Lazy])[] = [
  ['a map', (a) => a.mul(2).sin()],
  // Two passes over the file.
  ['what is left of the mean of columns', (a) => a.sub(a.mean(0))],
];

afterEach(() => {
  setFaults([]);
});

async function outcomeOf(y: Lazy, signal?: AbortSignal): Promise<Buffer | Error> {
  try {
    await y.compute({ ...options, signal, to: npy(out) });
    const bytes = readFileSync(out);
    rmSync(out);
    return bytes;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

describe.each(JOBS)('%s from file to file in tiles', (_, job) => {
  const y = job(x);

  it('ends cleanly where a call fails, and is right the next time', async () => {
    expect(y.plan(options).sweeps.length).toBeGreaterThan(0);
    const wanted = await outcomeOf(y);
    setFaults([]);
    expect(await outcomeOf(y)).toEqual(wanted);
    const { counts } = describeSimulator();
    const left = await footprint();
    for (const [call, count] of Object.entries(counts)) {
      if (!call.startsWith('cu') || CANNOT_FAIL.test(call)) continue;
      // How often an event is asked depends on the clock.
      const times = call === 'cuEventQuery' ? [1] : [1, 2, Math.ceil(count / 2), count];
      for (const nth of new Set(times.filter((n) => n <= count))) {
        for (const status of [OUT_OF_MEMORY, UNKNOWN]) {
          const fault = { call, nth, status };
          setFaults([fault]);
          const outcome = await outcomeOf(y);
          setFaults([]);
          if (outcome instanceof Error) {
            const wantedError = status === OUT_OF_MEMORY ? MemoryError : DeviceError;
            expect({ fault, is: outcome instanceof wantedError, outcome }).toMatchObject({ is: true });
            expect(outcome).not.toBeInstanceOf(DeviceLostError);
          } else expect({ fault, same: outcome.equals(wanted as Buffer) }).toEqual({ fault, same: true });
          expect({ fault, files: readdirSync(folder.path) }).toEqual({ fault, files: ['in.npy'] });
          expect({ fault, left: await footprint() }).toEqual({ fault, left });
        }
      }
    }
    expect(await outcomeOf(y)).toEqual(wanted);
  });

  it('stops at every tile when it is aborted', async () => {
    const wanted = await outcomeOf(y);
    const left = await footprint();
    const { sweeps } = y.plan(options);
    const tiles = sweeps.reduce((sum, sweep) => sum + sweep.tiles, 0);
    const launches = [...new Set([1, 2, Math.ceil(tiles / 2), tiles])];
    for (const nth of launches) {
      const controller = new AbortController();
      const launch = hold('cuLaunchKernel', nth);
      const running = outcomeOf(y, controller.signal);
      await launch.reached();
      controller.abort(new Error(`enough at ${nth}`));
      launch.release();
      const outcome = await running;
      expect(String(outcome)).toBe(`Error: enough at ${nth}`);
      expect(readdirSync(folder.path)).toEqual(['in.npy']);
      expect(await footprint()).toEqual(left);
    }
    expect(await outcomeOf(y)).toEqual(wanted);
  });
});
