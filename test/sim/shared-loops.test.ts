/**
 * Loops whose rounds several simulated devices share: states stay in shares, halos come from neighbours, and the
 * bits are those of one device, whatever the number of devices, their budgets and how small shares are.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type ComputeOptions,
  compute,
  DeviceError,
  DeviceLostError,
  iterate,
  type Lazy,
  lazy,
  MemoryError,
  type PhaseSummary,
  plan,
  whileLoop,
} from '../../src/index.js';
import { describeSimulator, setDevices, setFaults, setSchedule, show, takeProblems } from './simulator.js';

vi.mock('../../src/exec/targets/cuda-model.js', async (original) =>
  (await import('./rounds-for-nothing.js')).withRoundsForNothing(original),
);

setDevices(Array.from({ length: 8 }, (_, k) => ({ unreachable: k === 1 ? [0] : [] })));

const field = (shape: readonly number[], factor = 7919): Lazy => {
  const count = shape.reduce((a, b) => a * b, 1);
  const data = Float32Array.from({ length: count }, (_, k) => ((k * factor) % 1009) / 1009);
  return lazy(data, { shape });
};

/** The sum of the four neighbours of each element, zeros around. */
function around(x: Lazy): Lazy {
  const wide = x.pad(1);
  const part = (k: number): [number, number | null] => [k, k === 2 ? null : k - 2];
  const at = (down: number, along: number): Lazy => wide.slice(part(down), part(along));
  return at(0, 1).add(at(2, 1)).add(at(1, 0)).add(at(1, 2));
}

/** Of a torus. */
function lifeStep(cells: Lazy): Lazy {
  const rows = cells.add(cells.roll(1, 0)).add(cells.roll(-1, 0));
  const neighbours = rows.add(rows.roll(1, 1)).add(rows.roll(-1, 1)).sub(cells);
  return neighbours
    .equal(3)
    .logicalOr(neighbours.equal(2).logicalAnd(cells.equal(1)))
    .astype('uint8');
}

type Job = () => readonly Lazy[];
const plate = (): Lazy => field([256, 64]);
/** With a row that is computed before the loop, which all rounds need. */
const untilSmall = (limit: number): Lazy => {
  const row = field([64], 31).sin().cumulativeMax();
  return whileLoop(
    (x) => x.max().greater(limit),
    (x) => around(x).mul(0.2).mul(row),
    field([512, 64]),
  );
};

const JOBS: Readonly<Record<string, Job>> = {
  'diffusion, several steps in a round': () => [
    iterate(20, plate(), (x) => x.add(around(x).sub(x.mul(4)).mul(0.1))),
  ],
  'Jacobi with a right side and a row': () => {
    const [side, row] = [plate().mul(0.1), field([64], 31)];
    return [iterate(7, plate(), (x) => around(x).add(side).mul(0.25).add(row))];
  },
  'the Game of Life': () => [iterate(4, field([256, 64]).greater(0.5).astype('uint8'), lifeStep)],
  'two fields, with the number of the step': () =>
    iterate(4, [plate(), field([256, 64], 31)], ([u, v], i) => [
      around(u!).mul(0.2).add(v!.mul(0.1)),
      v!.sub(u!.mul(0.1)).add(i.astype('float32')),
    ]),
  'a line in a ring, of three axes': () => [
    iterate(3, field([64, 8, 32]), (x) => x.add(x.roll(1, 0)).add(x.roll(2, 1)).mul(0.3)),
  ],
  'what is computed before and read after': () => {
    const x = plate().sin();
    const y = iterate(6, x, (s) => around(s).mul(0.2));
    return [y.mul(x), y.sum(1)];
  },
  'columns that are centered in every step': () => [
    iterate(4, field([4096, 8]), (x) => x.sub(x.mean(0)).mul(0.9)),
  ],
  'a product in every step': () => {
    const a = field([128, 128]);
    return [
      iterate(4, field([128], 31), (v) => {
        const w = a.matmul(v);
        return w.div(w.norm());
      }),
    ];
  },
  'a stencil that is kept, and its end': () => {
    const kept = iterate(12, plate(), (x) => around(x).mul(0.2), { every: 4 });
    return [kept, kept.slice(-1).sum(0)];
  },
  'until it is small': () => [untilSmall(0.1)],
  'until it is small, at once': () => [untilSmall(10)],
};

const bytesOf = async (job: Job, options: ComputeOptions): Promise<Buffer[]> =>
  (await compute(job(), options)).map(({ data }) =>
    Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  );
/** The phases of a job that are rounds of a loop and shared. */
const roundsOf = (job: Job, options: ComputeOptions): PhaseSummary[] =>
  plan(job(), options).phases.filter(({ rounds, kind }) => rounds !== undefined && kind === 'sharded');

describe('a loop whose rounds devices share', () => {
  it.each(Object.entries(JOBS))('has the bits of one device: %s', async (_, job) => {
    const wanted = await bytesOf(job, { device: 'cuda:0' });
    for (const devices of [2, 3, 4, 8]) {
      setSchedule({ timing: devices % 2 === 0 ? 'random' : 'late', seed: devices });
      expect(roundsOf(job, { devices }).length, `${devices}`).toBeGreaterThan(0);
      expect(await bytesOf(job, { devices }), `${devices}`).toEqual(wanted);
    }
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('copies halos alone between devices, once for several steps', () => {
    const rows = 4096;
    const steps =
      (n: number): Job =>
      () => [iterate(n, field([rows, 64]), around)];
    const [lead, steady, last] = roundsOf(steps(40), { devices: 4 });
    expect([lead!.rounds, last!.rounds]).toEqual([1, 1]);
    const rounds = steady!.rounds! + 2;
    expect(rounds).toBeLessThan(40);
    // Of each of three borders both neighbours read as many rows as a round has steps.
    const halos = 3 * 2 * (40 / rounds) * 64 * 4;
    expect(lead!.exchangedBytes).toBe(0);
    expect(steady!.exchangedBytes).toBe(halos);
    expect(last!.exchangedBytes).toBe(halos);
    const [map] = roundsOf(
      () => [iterate(3, field([rows, 64]), (x) => x.sub(x.mean(1, { keepdims: true })))],
      {
        devices: 4,
      },
    ).slice(1);
    expect(map!.exchangedBytes).toBe(0);
  });
});

describe('shares that are small', () => {
  const UNEVEN: Readonly<Record<string, Job>> = {
    'fewer rows than devices': () => [iterate(3, field([3, 8192]), around)],
    'halos of more than a share': () => [
      iterate(3, field([1024, 16]), (x) => x.add(x.roll(400, 0)).mul(0.5)),
    ],
    'all of the others': () => [iterate(3, field([96, 96]), (x) => x.transpose().add(x).mul(0.5))],
    'neighbours that are far apart for the size': () => [iterate(4, field([96, 64]), around)],
    'rows that no number of devices divides': () => [iterate(5, field([331, 37]), around)],
  };
  it.each(Object.entries(UNEVEN))('give the bits of one device: %s', async (_, job) => {
    const wanted = await bytesOf(job, { device: 'cuda:0' });
    for (const devices of [2, 3, 8]) expect(await bytesOf(job, { devices })).toEqual(wanted);
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('of no elements, and loops of no and of one step, end', async () => {
    for (const n of [0, 1, 2]) {
      const job: Job = () => [iterate(n, field([0, 64]), around), iterate(n, plate(), around)];
      expect(await bytesOf(job, { devices: 3 })).toEqual(await bytesOf(job, { device: 'cuda:0' }));
    }
  });
});

describe('a loop within budgets', () => {
  const large = (): Lazy => field([512, 320]);
  const WITHIN: Readonly<Record<string, Job>> = {
    'a stencil': () => [iterate(8, large(), (x) => around(x).mul(0.2))],
    'until it is small': () => [
      whileLoop(
        (x) => x.max().greater(0.3),
        (x) => around(x).mul(0.2),
        large(),
        { max: 3 },
      ),
    ],
  };
  it.each(Object.entries(WITHIN))('is shared in tiles, on devices and in host memory: %s', async (_, job) => {
    const wanted = await bytesOf(job, { device: 'cuda:0' });
    for (const [devices, memory] of [
      [2, 700],
      [3, 300],
      [2, 150],
    ] as const) {
      const options = { devices, memory: memory * 1024 };
      expect(roundsOf(job, options).length).toBeGreaterThan(0);
      expect(plan(job(), options).peakBytes).toBeLessThanOrEqual(options.memory);
      expect(await bytesOf(job, options)).toEqual(wanted);
    }
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('is not refused where one device does it', () => {
    const job: Job = () => [iterate(6, field([2048, 32]), (x) => x.sub(x.mean(0)).add(around(x)))];
    for (const memory of [2 ** 19, 2 ** 17, 2 ** 16, 2 ** 15]) {
      const within = (options: ComputeOptions): boolean => {
        try {
          return plan(job(), { ...options, memory }).peakBytes <= memory;
        } catch (error) {
          if (error instanceof MemoryError) return false;
          throw error;
        }
      };
      if (within({ device: 'cuda:0' })) for (const devices of [2, 3]) expect(within({ devices })).toBe(true);
    }
  });
});

describe('a call that fails in a round', () => {
  afterEach(() => setFaults([]));

  it.each(['a stencil', 'until it is small'])(
    'ends the compute, and leaves nothing behind: %s',
    async (name) => {
      const job: Job = () => (name === 'a stencil' ? [iterate(12, plate(), around)] : [untilSmall(0.1)]);
      const wanted = await bytesOf(job, { devices: 3 });
      setFaults([]);
      await bytesOf(job, { devices: 3 });
      const { counts } = describeSimulator();
      let failures = 0;
      for (const call of [
        'cuLaunchKernel',
        'cuMemcpyPeerAsync',
        'cuMemAllocFromPoolAsync',
        'cuEventRecord',
      ]) {
        const count = counts[call] ?? 0;
        for (const nth of [2, Math.ceil(count / 2), count].filter((n) => n > 0 && n <= count)) {
          setFaults([{ call, nth, status: call.startsWith('cuMemAlloc') ? 2 : 1 }]);
          const outcome = await bytesOf(job, { devices: 3 }).catch((error: unknown) => error);
          if (outcome instanceof Error) {
            failures++;
            expect(
              [DeviceError, MemoryError].some((type) => outcome instanceof type),
              `${outcome}`,
            ).toBe(true);
            expect(outcome).not.toBeInstanceOf(DeviceLostError);
          } else expect(outcome).toEqual(wanted);
          setFaults([]);
          expect(await bytesOf(job, { devices: 3 })).toEqual(wanted);
        }
      }
      expect(failures).toBeGreaterThan(3);
      expect(takeProblems().map(show)).toEqual([]);
    },
  );
});
