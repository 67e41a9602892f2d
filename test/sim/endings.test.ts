/**
 * Where a process or a worker ends while runs that settled once they were queued are under way: soon, with
 * its code.
 */
import { describe, expect, it } from 'vitest';
import { type Ending, endingOf as endingOfScript, LIBRARY } from '../support/ending.js';

/** `loop(n)`: n steps that nobody waits for. */
const PRELUDE = `
  import { isMainThread, parentPort, Worker } from 'node:worker_threads';
  import { compile, persist } from ${JSON.stringify(LIBRARY)};
  const f = compile((x, y) => x.mul(y).sub(x.mean()), { device: 'cuda' });
  async function loop(steps) {
    const [x] = await persist([new Float32Array(1000).fill(2)], { device: 'cuda' });
    for (let state = x, i = 0; i < steps; i++) state = await f.persist(state, x);
  }
`;

const endingOf = (body: string): Promise<Ending> => endingOfScript(PRELUDE + body, { module: true });

describe('a process with queued work', () => {
  it('ends by itself', async () => {
    expect(await endingOf(`await loop(40); console.log('done');`)).toMatchObject({
      code: 0,
      output: 'done\n',
    });
  });

  it('exits with its code', async () => {
    expect(await endingOf('await loop(40); process.exit(3);')).toMatchObject({ code: 3, output: '' });
  });

  it('outlives a worker that is terminated in the middle of its loop', async () => {
    const body = `
      const source = ${JSON.stringify(`${PRELUDE} await loop(10); parentPort.postMessage(1); await loop(1e6);`)};
      const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(source)));
      await new Promise((done) => worker.once('message', done));
      await worker.terminate();
      await loop(10);
      console.log('done');
    `;
    expect(await endingOf(body)).toMatchObject({ code: 0, output: 'done\n' });
  });
});
