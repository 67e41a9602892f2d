/**
 * The calls of the driver that a loop costs: graphs of its body's runs, several steps to a launch, one
 * condition read back for each step; and that it can be cancelled and watched.
 */
import { describe, expect, it } from 'vitest';
import { clearPrograms } from '../../src/exec/run/program.js';
import { DeviceError } from '../../src/host/errors.js';
import { compile, iterate, type Lazy, lazy, synchronize, whileLoop } from '../../src/index.js';
import { describeSimulator, GRAPH_CALLS, setFaults } from './simulator.js';

const device = 'cuda';
const OUT_OF_MEMORY = 2;
const UNKNOWN = 999;
const line = lazy(Int32Array.from({ length: 40 }, (_, i) => i));
const turn = (y: Lazy): Lazy => y.slice([null, null, -1]).add(1).remainder(1000);
const turned = (y: Lazy, i: Lazy): Lazy => turn(y).add(i.astype('int32'));

/** Calls of the driver that a second run of a program makes. */
async function callsOf(x: Lazy): Promise<Readonly<Record<string, number>>> {
  await x.compute({ device });
  setFaults([]);
  await x.compute({ device });
  return describeSimulator().counts;
}

describe('the calls of a loop', () => {
  it('are launches of graphs, where it is long and its body is launches', async () => {
    // The first run reads the start value; 32 runs to a graph.
    const calls = await callsOf(iterate(1 + 5 * 32 + 3, line, turn));
    expect([calls.cuGraphLaunch, calls.cuLaunchKernel]).toEqual([5, 4]);
    const two = await callsOf(iterate(1 + 5 * 16 + 3, line, turned));
    // One writes the number of the first step.
    expect([two.cuGraphLaunch, two.cuLaunchKernel]).toEqual([5, 1 + 4 * 2]);
  });

  it('are launches where it is short, or steps are kept often', async () => {
    const short = await callsOf(iterate(127, line, turn));
    expect([short.cuGraphLaunch ?? 0, short.cuLaunchKernel]).toEqual([0, 127]);
    const kept = await callsOf(iterate(400, line, turn, { every: 20 }));
    expect([kept.cuGraphLaunch ?? 0, kept.cuLaunchKernel, kept.cuMemcpyDtoDAsync_v2]).toEqual([0, 400, 20]);
  });

  it('are few where steps that have a number are, and in graphs where there are many', async () => {
    const plate = lazy(new Float32Array(6 * 9)).reshape([6, 9]);
    const below = (y: Lazy, i: Lazy): Lazy =>
      y
        .pad([
          [0, 1],
          [0, 0],
        ])
        .slice([1, null])
        .add(i.remainder(7).astype('float32'));
    // The first is that of the number of the first step.
    const few = await callsOf(iterate(100, plate, below));
    expect([few.cuGraphLaunch ?? 0, few.cuLaunchKernel]).toEqual([0, 1 + Math.ceil(100 / 8)]);
    const long = iterate(8 * 140, plate, below);
    const many = await callsOf(long);
    expect(many.cuGraphLaunch).toBe(4);
    const [found, wanted] = [await long.compute({ device }), await long.compute({ device: 'cpu' })];
    expect(found.data).toEqual(wanted.data);
  });

  it('are graphs of launches in a row, where other steps stand between them', async () => {
    const plate = lazy(Int32Array.from({ length: 35 }, (_, i) => i)).reshape([5, 7]);
    // Reductions along one axis and the other, each of the one before; then a loop with a condition, of at most one step.
    const step = (y: Lazy): Lazy => {
      let both = y;
      for (const size of [89, 97, 101])
        for (const axis of [0, 1]) both = both.add(both.max(axis, { keepdims: true })).remainder(size);
      return whileLoop(
        (z) => z.max().greater(95),
        (z) => z.floorDivide(2),
        both,
        { max: 1 },
      );
    };
    for (const from of [plate, plate.mul(3)]) {
      const x = iterate(40, from, step);
      expect((await x.compute({ device })).data).toEqual((await x.compute({ device: 'cpu' })).data);
    }
    const [one, two] = [await callsOf(iterate(40, plate, step)), await callsOf(iterate(80, plate, step))];
    // A step that begins with the first states has none.
    expect([one.cuGraphLaunch, two.cuGraphLaunch]).toEqual([39, 79]);
    expect(two.cuGraphInstantiate_v2 ?? 0).toBe(0);
  });

  it('are such graphs where the host reads a condition, too', async () => {
    const square = lazy(Float32Array.from({ length: 64 ** 2 }, (_, i) => i % 2)).reshape([64, 64]);
    const counted = (max: number): Lazy =>
      whileLoop(
        (y) => y.max().less(1e6),
        (y) => {
          let both = y.matmul(square);
          for (const size of [89, 97])
            for (const axis of [0, 1]) both = both.add(both.max(axis, { keepdims: true })).remainder(size);
          return both;
        },
        square,
        { max },
      );
    const [one, two] = [await callsOf(counted(20)), await callsOf(counted(40))];
    expect(two.cuGraphLaunch! - one.cuGraphLaunch!).toBe(20);
    const [found, wanted] = [
      await counted(20).compute({ device }),
      await counted(20).compute({ device: 'cpu' }),
    ];
    expect(found.data).toEqual(wanted.data);
  });

  it('read one condition where there is one step at most', async () => {
    const readsOf = async (limit: number, max: number): Promise<number> => {
      const branch = whileLoop(
        (y) => y.max().less(limit),
        (y) => y.add(1).sort(),
        line,
        { max },
      );
      return (await callsOf(branch)).cuMemcpyDtoHAsync_v2!;
    };
    const none = await readsOf(39, 1);
    expect([await readsOf(50, 1), await readsOf(50, 2)]).toEqual([none, none + 1]);
  });

  it('are few where steps are done in registers', async () => {
    const calls = await callsOf(iterate(1000, line, (y) => y.mul(3).add(1)));
    expect([calls.cuGraphLaunch ?? 0, calls.cuLaunchKernel]).toEqual([0, 2]);
  });
});

describe('a call for a graph of launches in a row that fails', () => {
  const plate = lazy(Int32Array.from({ length: 35 }, (_, i) => (i * 11) % 35)).reshape([5, 7]);
  /** The states of the outer loop, which the inner one's launches read, lie elsewhere in every step. */
  const nested = (x: Lazy, size: Lazy): Lazy =>
    iterate(6, x, (y) =>
      iterate(9, y, (z) => {
        let both = z;
        for (const axis of [0, 1, 0, 1])
          both = both
            .add(both.max(axis, { keepdims: true }))
            .add(y)
            .remainder(size);
        return both.sort(1);
      }),
    );

  it.each(GRAPH_CALLS.flatMap((call) => [OUT_OF_MEMORY, UNKNOWN].map((status) => [call, status] as const)))(
    '%s with status %d',
    async (call, status) => {
      const values = async (size: number, on: string): Promise<unknown> =>
        (await compile(nested, { device: on })(plate, lazy(Int32Array.of(size)))).data;
      const [wanted, other] = [await values(97, 'cpu'), await values(89, 'cpu')];
      for (const nth of [1, 2, 7]) {
        clearPrograms();
        setFaults([{ call, nth, status }]);
        const outcome = await values(97, device).catch((error: unknown) => error);
        const isMet = describeSimulator().faultsMet > 0;
        setFaults([]);
        if (nth < 7) expect(isMet).toBe(true);
        // Without memory for a graph, its launches are made one by one.
        if (isMet && status === UNKNOWN) expect(outcome).toBeInstanceOf(DeviceError);
        else expect(outcome).toEqual(wanted);
        expect(await values(89, device)).toEqual(other);
        expect(await values(97, device)).toEqual(wanted);
        await synchronize('cuda:0');
      }
    },
  );
});

describe('a long loop on a GPU', () => {
  it('ends soon after it is cancelled, and tells how many steps are done', async () => {
    const cancel = new AbortController();
    const reports: number[] = [];
    const onProgress = ({ tiles }: { readonly tiles: number }): void => {
      reports.push(tiles);
      if (reports.length === 2) cancel.abort();
    };
    const running = iterate(1e9, line, turned).compute({ device, signal: cancel.signal, onProgress });
    await expect(running).rejects.toThrow(/abort/i);
    expect(reports[1]!).toBeGreaterThan(reports[0]!);
    expect(reports[1]!).toBeLessThan(1e9);
  });
});
