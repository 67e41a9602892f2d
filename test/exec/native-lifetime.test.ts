/**
 * The runtime where an environment ends while work is under way: processes that exit, workers that are
 * terminated. Each case is a process of its own, which must end by itself, with the right code, soon.
 */
import { describe, expect, it } from 'vitest';
import { ADDON, type Ending, endingOf as endingOfScript } from '../support/ending.js';

/** About two minutes of matrix products, unless something stops them. */
const PRELUDE = `
  const weft = require(${JSON.stringify(ADDON)});
  const n = 512, bytes = 4 * n * n;
  const matrix = (buffer) => ({ buffer, offset: 0, batchStride: 0, rowStride: n, columnStride: 1 });
  const step = { kind: 'matmul', dtype: 11, m: n, n, k: n, batch: 1, a: matrix(0), b: matrix(0), c: matrix(1) };
  const spec = (steps) => ({ device: 'cpu', arenaByteLength: 0, images: [],
    buffers: [{ role: 'input', byteLength: bytes, offset: -1 }, { role: 'output', byteLength: bytes, offset: -1 }],
    steps: Array(steps).fill(step) });
  const program = (steps) => {
    const made = spec(steps);
    const draft = weft.beginProgram(made);
    weft.addBuffers(draft, made, made.buffers.length);
    weft.addSteps(draft, made, steps);
    return weft.endProgram(draft, made);
  };
  const long = () => weft.run(program(40_000), [new Float32Array(n * n)], [false], undefined);
  const short = (keep) => weft.run(program(1), [new Float32Array(n * n)], [keep], undefined);
`;

const endingOf = (body: string): Promise<Ending> => endingOfScript(PRELUDE + body);

describe('a process', () => {
  it('stays alive for a run, and ends after it', async () => {
    expect(await endingOf(`short(false).then(() => console.log('done'));`)).toEqual({
      code: 0,
      signal: null,
      output: 'done\n',
    });
  });

  it('ends while results are still on the device', async () => {
    const { code } = await endingOf(`short(true).then((result) => { globalThis.kept = result; });`);
    expect(code).toBe(0);
  });

  it('exits in the middle of a run with its code', async () => {
    expect(await endingOf(`long(); setTimeout(() => process.exit(7), 100);`)).toMatchObject({
      code: 7,
      signal: null,
    });
  });

  it('exits in the middle of a run that was started in the same turn', async () => {
    expect(await endingOf(`long(); process.exit(3);`)).toMatchObject({ code: 3, signal: null });
  });

  it('ends by an exception in the middle of a run', async () => {
    const ending = await endingOf(`long(); setTimeout(() => { throw new Error('mine'); }, 100);`);
    expect(ending).toMatchObject({ code: 1, signal: null });
    expect(ending.output).toContain('mine');
  });
});

const WORKER = (body: string): string => `
  const { Worker } = require('node:worker_threads');
  const start = () => new Worker(${JSON.stringify(PRELUDE)} + ${JSON.stringify(body)}, { eval: true });
`;

describe('a worker', () => {
  it('is terminated in the middle of its runs', async () => {
    const ending =
      await endingOf(`${WORKER(`long(); long(); require('node:worker_threads').parentPort.postMessage(0);`)}
      const worker = start();
      worker.once('message', () => setTimeout(async () => {
        await worker.terminate();
        await short(false);
        console.log('main goes on');
      }, 50));`);
    expect(ending).toEqual({ code: 0, signal: null, output: 'main goes on\n' });
  });

  it('exits in the middle of its runs', async () => {
    const ending = await endingOf(`${WORKER(`long(); setTimeout(() => process.exit(4), 50);`)}
      start().on('exit', (code) => console.log('worker', code));`);
    expect(ending).toEqual({ code: 0, signal: null, output: 'worker 4\n' });
  });

  it('is terminated again and again while its runs settle', async () => {
    const busy = `(async () => { for (;;) await Promise.all([0, 1, 2, 3].map((i) => short(i % 2 === 0))); })();`;
    const ending = await endingOf(`${WORKER(busy)}
      (async () => {
        for (let i = 0; i < 25; i++) {
          const worker = start();
          await new Promise((done) => setTimeout(done, 60 + 2 * i));
          await worker.terminate();
        }
        console.log('main goes on');
      })();`);
    expect(ending).toEqual({ code: 0, signal: null, output: 'main goes on\n' });
  });

  it('is one of many that come and go', async () => {
    const ending = await endingOf(`${WORKER(`short(false).then(() => short(true));`)}
      (async () => {
        for (let i = 0; i < 10; i++) {
          const codes = await Promise.all([0, 1].map(() => new Promise((done) => start().on('exit', done))));
          if (codes.some((code) => code !== 0)) console.log('failed', codes);
        }
      })();`);
    expect(ending).toEqual({ code: 0, signal: null, output: '' });
  });
});
