/**
 * A process that is copied by fork(2), as native code of others may do: the copy has none of its threads.
 * Whatever is asked of Weft there rejects or throws at once, and says why; the process itself goes on. (V8
 * keeps its code from copies, so that they crash before that where the native code does nothing about it; see
 * `native/sim/fork.cpp`.)
 */
import { describe, expect, it } from 'vitest';
import { SIM_ENVIRONMENT, SIM_FOLDER } from '../sim/environment.js';
import { endingOf, LIBRARY } from '../support/ending.js';

const script = (device: string): string => `
  import { once } from 'node:events';
  import { writeSync } from 'node:fs';
  import { createRequire } from 'node:module';
  import { setImmediate } from 'node:timers/promises';
  import { compile, compute, iterate, lazy, persist } from ${JSON.stringify(LIBRARY)};
  const { fork, leave } = createRequire('/')(${JSON.stringify(`${SIM_FOLDER}/weft-sim.node`)});
  const device = '${device}';
  const x = lazy(new Float32Array(1000).fill(1));
  const small = compile((x) => x.add(1), { device });
  const large = () => lazy(new Float32Array(2e6).fill(1)).add(1).sum().compute({ device });
  await small(x);
  const kept = await x.add(1).persist({ device });
  await setImmediate(); // a turn with time to plan in: it is under way at once
  const running = large();
  running.catch(() => undefined); // the copy has it, too
  if (fork() === 0) {
    const tries = {
      small: () => small(x),
      large,
      kept: () => kept.sum().compute(),
      signal: () => x.mul(2).compute({ device, signal: new AbortController().signal }),
      persist: () => x.mul(2).persist({ device }),
      dispose: async () => kept.dispose(),
    };
    for (const [name, run] of Object.entries(tries)) {
      try {
        await run();
        writeSync(1, name + ': no error\\n');
      } catch (error) {
        writeSync(1, name + ': ' + error.name + ', ' + /was forked from/.test(error.message) + '\\n');
      }
    }
    leave(0);
  }
  console.log((await running).item(), (await large()).item());
  console.log((await kept.sum().compute()).item());
`;

describe('a fork', () => {
  it.each([
    ['the CPU', 'cpu'],
    ['CUDA', 'cuda'],
  ])('of a process that computes on %s is refused, and the process goes on', async (_, device) => {
    const { code, signal, output } = await endingOf(script(device), {
      module: true,
      env: SIM_ENVIRONMENT,
      // Copies have none of V8's threads either.
      flags: ['--single-threaded'],
    });
    const lines = output.trim().split('\n').sort();
    expect({ code, signal, lines }).toEqual({
      code: 0,
      signal: null,
      lines: [
        ...['4000000 4000000', '2000'],
        ...['small', 'large', 'kept', 'signal', 'persist', 'dispose'].map(
          (name) => `${name}: DeviceError, true`,
        ),
      ].sort(),
    });
  });
});
