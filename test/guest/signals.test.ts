/**
 * Ctrl-C and `kill` end a process whose kernels NVRTC has compiled, or is compiling, and reach the handlers
 * of a process that has some. With the real NVRTC, where it is found.
 */
import { describe, expect, it } from 'vitest';
import { endingOf, LEAVING, LIBRARY } from '../support/ending.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';

/**
 * A program that is sent its signal when it is ready. A kernel of 3,000 steps takes NVRTC far longer than a
 * test. `underWay` gives the end of a compilation that has long begun, which its processor time shows however
 * busy the machine is: in its first milliseconds the handlers are the compiler's.
 */
const scriptOf = (code: string): string => `
  import { setTimeout } from 'node:timers/promises';
  import { compileCuda } from ${JSON.stringify(LIBRARY.replace('weft/index.js', 'src/exec/native/native.js'))};
  const compile = (steps) => compileCuda(
    'extern "C" __global__ void k(float* x) { float y = x[0]; ' +
      'y = sinf(y); y = cosf(y + x[1]);'.repeat(steps) + ' x[0] = y; }',
    ['--gpu-architecture=sm_90']);
  setInterval(() => undefined, 1000);
  const underWay = async (steps) => {
    for (;; steps *= 2) {
      const { user } = process.cpuUsage();
      let isDone = false;
      const done = compile(steps).finally(() => { isDone = true; });
      while (!isDone && process.cpuUsage().user < user + 300_000) await setTimeout(5);
      if (!isDone) return { done };
    }
  };
  ${code}
  process.stdout.write(${JSON.stringify(LEAVING)});`;

describe.skipIf(withoutNvrtc)(`a signal${whyNoNvrtc}`, () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('%s ends a process that has compiled', async (signal) => {
    const script = scriptOf('await Promise.all([compile(1), compile(2)]);');
    expect(await endingOf(script, { module: true, signal })).toMatchObject({ code: null, signal });
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('%s ends a process that compiles', async (signal) => {
    const script = scriptOf('await underWay(3000);');
    expect(await endingOf(script, { module: true, signal })).toMatchObject({ code: null, signal });
  });

  it.each(['before', 'while'])('reaches a handler that came %s it compiled', async (when) => {
    const handler = `process.on('SIGINT', () => process.exit(5));`;
    const script = scriptOf(
      when === 'before'
        ? `${handler} await compile(1);`
        : `const { done } = await underWay(20); ${handler} await done;`,
    );
    expect(await endingOf(script, { module: true, signal: 'SIGINT' })).toMatchObject({ code: 5 });
  });
});
