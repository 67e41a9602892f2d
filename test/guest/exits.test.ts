/**
 * Processes and workers that end in the middle of work that nothing stops for half a minute: soon, with their
 * code, whatever is under way. On the CPU, and on the simulated CUDA, whose kernels and compiler take as long
 * as is asked.
 */
import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SIM_ENVIRONMENT, SIM_FOLDER } from '../sim/environment.js';
import { endingOf, LEAVING, LIBRARY, timedEndingOf } from '../support/ending.js';
import { temporaryFolder } from '../support/files.js';

const root = temporaryFolder();
/** Two seconds are promised; a busy machine may take more, and the work takes far longer. */
const SOON_MS = 5000;
const LONG_MS = 30_000;

/** `leave()` says that the process means to end, and does so with code 7. */
const PRELUDE = `
  import { writeSync } from 'node:fs';
  import { createRequire } from 'node:module';
  import { setTimeout } from 'node:timers/promises';
  import { parentPort, Worker } from 'node:worker_threads';
  import { arange, compile, fromReader, iterate, lazy, npy } from ${JSON.stringify(LIBRARY)};
  const say = () => writeSync(1, ${JSON.stringify(LEAVING)});
  const leave = () => { say(); process.exit(7); };
  const slow = (call) => createRequire('/')(${JSON.stringify(`${SIM_FOLDER}/weft-sim.node`)})
    .control('faults\\nfault\\tcall=' + call + '\\tnth=0\\tdelayMs=${LONG_MS}');
  const small = () => lazy(new Float32Array(1000).fill(1)).add(1).sum();
  const large = (n) => lazy(new Float32Array(n * n).fill(1)).reshape([n, n]);
`;
type Where = { readonly module: true; readonly env: Readonly<Record<string, string>> };
const cuda: Where = { module: true, env: SIM_ENVIRONMENT };
const cpu: Where = { module: true, env: {} };

/**
 * The activity under way, how it is begun, where, and after how many milliseconds it is in the middle of it.
 */
const WORK: readonly (readonly [string, string, Where])[] = [
  ['a kernel', `await small().compute(); slow('run launch'); small().compute();`, cuda],
  ['a copy', `await small().compute(); slow('run copy'); small().compute();`, cuda],
  ['a compilation', `await small().compute(); slow('nvrtcCompileProgram'); small().exp().compute();`, cuda],
  [
    'a sweep',
    `slow('run launch'); large(1000).exp().compute({ memory: '1MiB' });`,
    { module: true, env: { ...SIM_ENVIRONMENT, WEFT_POISON: '0' } },
  ],
  [
    'a function that does not answer',
    `fromReader(() => new Promise(() => {}), { dtype: 'int8', shape: [9] }).compute();`,
    cpu,
  ],
  [
    'large maps',
    `iterate(1e6, new Float64Array(1e6), (x) => x.sin().add(1)).compute({ device: 'cpu' });`,
    cpu,
  ],
  ['a large product', `large(6000).matmul(large(6000)).matmul(large(6000)).compute({ device: 'cpu' });`, cpu],
  [
    'a large product by own kernels',
    `large(6000).matmul(large(6000)).compute({ device: 'cpu' });`,
    { module: true, env: { WEFT_BLAS: 'none' } },
  ],
];

/** A worker in the middle of its work. */
const busyWorker = (begin: string): string => `
  const source = ${JSON.stringify(`${PRELUDE}${begin} parentPort.postMessage(0);`)};
  const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(source)));
  await new Promise((done) => worker.once('message', done));
  await setTimeout(300);
`;

describe.concurrent.each(WORK)('in the middle of %s', (_, begin, options) => {
  it('a process exits with its code', async () => {
    const ending = await timedEndingOf(`${PRELUDE}${begin} await setTimeout(300); leave();`, options);
    expect(ending).toMatchObject({ code: 7, signal: null, output: '' });
    expect(ending.milliseconds).toBeLessThan(SOON_MS);
  });

  it('a process exits whose worker is busy with it', async () => {
    const script = `${PRELUDE}${busyWorker(begin)} leave();`;
    const ending = await timedEndingOf(script, options);
    expect(ending).toMatchObject({ code: 7, signal: null, output: '' });
    expect(ending.milliseconds).toBeLessThan(SOON_MS);
  });
});

const KERNEL = `await small().compute(); slow('run launch'); small().compute();`;

describe.concurrent('a process', () => {
  it('ends by an exception in the middle of a kernel', async () => {
    const script = `${PRELUDE}${KERNEL} await setTimeout(300); say(); throw new Error('mine');`;
    const ending = await timedEndingOf(script, cuda);
    expect(ending).toMatchObject({ code: 1, signal: null });
    expect(ending.output).toContain('mine');
    expect(ending.milliseconds).toBeLessThan(SOON_MS);
  });

  it('ends by SIGINT in the middle of a kernel', async () => {
    const script = `${PRELUDE}${KERNEL} await setTimeout(300); say(); await setTimeout(1e6);`;
    const ending = await timedEndingOf(script, { ...cuda, signal: 'SIGINT' });
    expect(ending).toMatchObject({ code: null, signal: 'SIGINT', output: '' });
    expect(ending.milliseconds).toBeLessThan(SOON_MS);
  });

  it('leaves no file when it exits in the middle of writing one', async () => {
    const folder = mkdtempSync(join(root.path, 'f-'));
    const to = JSON.stringify(join(folder, 'x.npy'));
    const script = `${PRELUDE}
      arange(4e8, { dtype: 'float32' }).compute({ device: 'cpu', memory: '64MiB', to: npy(${to}) });
      await setTimeout(300);
      leave();`;
    const ending = await timedEndingOf(script, cpu);
    expect(ending).toMatchObject({ code: 7, signal: null, output: '' });
    expect(ending.milliseconds).toBeLessThan(SOON_MS);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['the CPU', cpu],
    ['CUDA', cuda],
  ])('is held by a compute on %s, and by nothing after it', async (_, options) => {
    const script = `${PRELUDE}
      const f = compile((x) => x.add(1).sum());
      globalThis.kept = await small().persist();
      f(new Float32Array(2e6)).then((sum) => { console.log(sum.item()); say(); });`;
    const ending = await timedEndingOf(script, options);
    expect(ending).toMatchObject({ code: 0, signal: null, output: '2000000\n' });
    expect(ending.milliseconds).toBeLessThan(SOON_MS);
  });
});

describe.concurrent('memory of others', () => {
  it('that is held at the end of a process and of a worker fails neither', async () => {
    const hold = `
      const { devicePointer, fromDLPack, fromDevicePointer, lazy, toDLPack } = await import(${JSON.stringify(LIBRARY)});
      const x = await lazy([1, 2]).persist({ device: 'cpu' });
      const y = fromDevicePointer(await devicePointer(x));
      globalThis.kept = [x, y, await fromDLPack(await toDLPack(new Float32Array(3))), await toDLPack(x)];`;
    const script = `
      import { Worker } from 'node:worker_threads';
      const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hold)})));
      worker.on('exit', (code) => console.log(code));
      await new Promise((done) => worker.on('exit', done));
      ${hold}`;
    expect(await endingOf(script, cpu)).toEqual({ code: 0, signal: null, output: '0\n' });
  });
});

describe.concurrent('a worker', () => {
  it.each([
    ['a kernel', KERNEL],
    ['a compilation', `await small().compute(); slow('nvrtcCompileProgram'); small().exp().compute();`],
  ])('is terminated at once in the middle of %s', async (_, begin) => {
    const script = `${PRELUDE}${busyWorker(begin)}
      const begin = performance.now();
      await worker.terminate();
      console.log(performance.now() - begin < ${SOON_MS});
      leave();`;
    expect(await endingOf(script, cuda)).toEqual({ code: 7, signal: null, output: 'true\n' });
  });

  it('computes in a process that does not load the library, again and again', async () => {
    const source = `
      const { lazy } = await import(${JSON.stringify(LIBRARY)});
      const x = lazy(new Float32Array(2e6).fill(1));
      const { parentPort } = await import('node:worker_threads');
      parentPort.postMessage((await x.add(1).sum().compute({ device: 'cpu' })).item());`;
    const script = `
      import { Worker } from 'node:worker_threads';
      for (let k = 0; k < 3; k++) {
        const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(source)})));
        worker.on('message', (sum) => console.log(sum));
        await new Promise((done) => worker.on('exit', done));
      }`;
    const ending = await endingOf(script, cpu);
    expect(ending).toEqual({ code: 0, signal: null, output: '4000000\n'.repeat(3) });
  });
});
