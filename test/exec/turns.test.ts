/**
 * Planning, short runs and the event loop: graphs asked for together are planned in several turns; results
 * that are there at once do not keep it from turning; ends are looked for for a moment.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CompletionPoller, handedOver, turnToPlan } from '../../src/exec/native/turns.js';
import { compile, compute, type Lazy, LinalgError, lazy, linalg } from '../../src/index.js';

describe('results that are there at once', () => {
  it('let the event loop turn', async () => {
    const f = compile((x: Lazy) => x.add(1), { device: 'cpu' });
    await f(new Float32Array(4));
    expect(await turnsBeside(() => f(new Float32Array(4)))).toBeGreaterThan(2);
  });

  it('let the event loop turn where they are errors', async () => {
    const factor = compile((x: Lazy) => linalg.cholesky(x), { device: 'cpu' });
    const [regular, singular] = [
      [
        [4, 0],
        [0, 9],
      ],
      [
        [0, 0],
        [0, 0],
      ],
    ];
    await factor(regular);
    const turns = await turnsBeside(async () => {
      const error: unknown = await factor(singular).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(LinalgError);
    });
    expect(turns).toBeGreaterThan(2);
    expect((await factor(regular)).toArray()).toEqual([
      [2, 0],
      [0, 3],
    ]);
  });

  it('let the event loop turn where they are not of compiled functions', async () => {
    const x = lazy(new Float64Array(4));
    const add = (): Promise<unknown> => x.add(1).compute({ device: 'cpu' });
    await add();
    expect(await turnsBeside(add)).toBeGreaterThan(2);
  });

  it('name the line of what failed where they are errors', async () => {
    const factor = (): Promise<unknown> =>
      linalg
        .cholesky(lazy(new Float64Array(4)).reshape([2, 2]))
        .compute({ device: 'cpu' })
        .catch((thrown: unknown) => thrown);
    for (let k = 0; k < 2; k++) {
      const error = await factor();
      expect(error).toBeInstanceOf(LinalgError);
      expect((error as Error).message).toMatch(/made at .*turns\.test\.ts:\d+/);
    }
  });

  it('of a graph that is planned come through one promise', async () => {
    const x = lazy(new Float64Array(4));
    const lists = [() => x.add(1).compute({ device: 'cpu' }), () => compute([x.add(1)], { device: 'cpu' })];
    for (const run of lists) {
      await run();
      await setImmediate();
      let settled = false;
      run().then(() => {
        settled = true;
      });
      await undefined;
      await undefined;
      expect(settled).toBe(true);
    }
  });

  it('come in order', async () => {
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 200 }, (_, k) => handedOver(k).then((value) => order.push(value))),
    );
    expect(new Set(order).size).toBe(200);
    expect(order.slice(0, 50)).toEqual(order.slice(0, 50).toSorted((a, b) => a - b));
  });
});

/** Turns of the event loop in 20 milliseconds of calls one behind the other. */
async function turnsBeside(call: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = (): void => {
    turns++;
    if (turns < 1000) timer = setTimeout(count, 0);
  };
  let timer = setTimeout(count, 0);
  const start = performance.now();
  // Timers are due once a millisecond.
  for (let calls = 0; calls < 2000 || performance.now() < start + 20; calls++) await call();
  clearTimeout(timer);
  return turns;
}

/** Keeps the thread for so many milliseconds. */
function busy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Counts turns of the event loop until the work is done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  void work.finally(() => {
    isDone = true;
  });
  let turns = 0;
  for (; !isDone; turns++) await setImmediate();
  await work;
  return turns;
}

describe('planning', () => {
  it('begins at once in a turn that has done none', async () => {
    await setImmediate();
    expect(turnToPlan()).toBeUndefined();
    expect(turnToPlan()).toBeUndefined();
    busy(3);
    await expect(turnToPlan()).resolves.toBeUndefined();
  });

  it('that is asked for at once is done in order, in several turns', async () => {
    const order: number[] = [];
    const planned = async (k: number): Promise<void> => {
      const turn = turnToPlan();
      if (turn !== undefined) await turn;
      order.push(k);
      busy(1);
    };
    const wanted = Array.from({ length: 20 }, (_, k) => k);
    expect(await turnsDuring(Promise.all(wanted.map(planned)))).toBeGreaterThan(5);
    expect(order).toEqual(wanted);
  });

  it('that is under way goes before what has not begun', async () => {
    turnToPlan();
    busy(3);
    const order: string[] = [];
    const waiting = [turnToPlan(), turnToPlan(true), turnToPlan(), turnToPlan(true)];
    const names = ['begins', 'goes on', 'begins then', 'goes on then'];
    await Promise.all(waiting.map((turn, k) => turn?.then(() => order.push(names[k]!))));
    expect(order).toEqual(['goes on', 'goes on then', 'begins', 'begins then']);
  });

  it('of many functions and graphs lets the loop turn', async () => {
    const f = compile((x: Lazy) => x.mul(2).sub(x.mean()), { device: 'cpu' });
    const calls = Array.from({ length: 60 }, (_, k) => f(new Float32Array(5 + k).fill(k)));
    expect(await turnsDuring(Promise.all(calls))).toBeGreaterThan(2);
    for (const [k, call] of calls.entries()) expect((await call).at(0)).toBe(k);
    const graphs = Array.from({ length: 60 }, (_, k) =>
      lazy(new Float32Array(3 + k).fill(k))
        .exp()
        .max()
        .log()
        .compute({ device: 'cpu' }),
    );
    expect(await turnsDuring(Promise.all(graphs))).toBeGreaterThan(2);
    for (const [k, graph] of graphs.entries()) expect((await graph).item()).toBeCloseTo(k, 4);
  });

  it('of calls of one signature that wait is done once', async () => {
    let traced = 0;
    const f = compile(
      (x: Lazy) => {
        traced++;
        return x.add(1);
      },
      { device: 'cpu' },
    );
    turnToPlan();
    busy(3);
    const results = await Promise.all(Array.from({ length: 5 }, (_, k) => f([k])));
    expect(results.map((result) => result.at(0))).toEqual([1, 2, 3, 4, 5]);
    expect(traced).toBe(1);
  });

  it('that waits is left out where it is aborted', async () => {
    turnToPlan();
    busy(3);
    const abort = new AbortController();
    let isTold = false;
    const x = lazy([1, 2]);
    const options = { device: 'cpu', signal: abort.signal };
    const waiting = compute([x.add(1)], { ...options, onProgress: () => (isTold = true) });
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(isTold).toBe(false);
    expect((await x.add(1).compute({ device: 'cpu' })).at(1)).toBe(3);
  });
});

describe('a poller', () => {
  it('looks while something is under way, and says when it stops', async () => {
    const calls: boolean[] = [];
    let pending = 2;
    const poller = new CompletionPoller((looksAgain) => {
      calls.push(looksAgain);
      return looksAgain ? --pending : pending;
    });
    for (let i = 0; i < 1000 && pending > 0; i++) {
      poller.watch();
      await setImmediate();
      await setImmediate();
    }
    expect(pending).toBe(0);
    expect(calls.at(-1)).toBe(false);
    const count = calls.length;
    await setImmediate();
    expect(calls).toHaveLength(count);
  });

  it('lingers where the loop has nothing else to do', async () => {
    const calls: boolean[] = [];
    const poller = new CompletionPoller((_, lingers) => calls.push(lingers));
    const until = performance.now() + 20;
    while (performance.now() < until) {
      poller.watch();
      await setImmediate();
      busy(0.1);
    }
    expect(calls).not.toContain(true);
    while (!calls.includes(true) && performance.now() < until + 5000) {
      poller.watch();
      await sleep(1);
    }
    expect(calls).toContain(true);
  });

  it('gives up after a while, and begins again', async () => {
    const calls: boolean[] = [];
    const poller = new CompletionPoller((looksAgain) => calls.push(looksAgain));
    poller.watch();
    const end = performance.now() + 20;
    while (performance.now() < end) await setImmediate();
    const count = calls.length;
    expect(calls.at(-1)).toBe(false);
    await setImmediate();
    expect(calls).toHaveLength(count);
    poller.watch();
    await setImmediate();
    await setImmediate();
    expect(calls.length).toBeGreaterThan(count);
  });

  it('looks again when a run usually ends', async () => {
    const begin = performance.now();
    const looks = [begin];
    const poller = new CompletionPoller(() => looks.push(performance.now()));
    poller.watch(150);
    while (looks.at(-1)! < begin + 130 && performance.now() < begin + 2000) await sleep(1);
    expect(looks.at(-1)).toBeGreaterThan(begin + 130);
    const pauses = looks.slice(1).map((time, k) => time - looks[k]!);
    expect(Math.max(...pauses)).toBeGreaterThan(60);
  });
});
