/**
 * Random graphs on the simulated CUDA under random schedules and faults, for as long as is asked: `npm run
 * test:soak -- --minutes 10 --seed 7`. Each has to be right, or to fail with the right error, and to leave
 * nothing behind. Prints what was covered; a failure is shrunk and printed as the program that reproduces it.
 */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { CompileError, DeviceError, DeviceLostError, MemoryError } from '../../src/host/errors.js';
import { failureOf, reproduction } from '../support/random-check.js';
import { choices } from '../support/random-choices.js';
import { buildRandomProgram } from '../support/random-graph.js';
import { SIM_ENVIRONMENT } from './environment.js';
import {
  describeSimulator,
  type Fault,
  setDevices,
  setFaults,
  setSchedule,
  show,
  type Timing,
  takeProblems,
} from './simulator.js';

type ErrorClass = new (...args: never[]) => Error;

interface Kind {
  readonly call: string;
  readonly status: number;
  readonly lost?: boolean;
  readonly error: ErrorClass;
}

const KINDS: readonly Kind[] = [
  { call: 'cuMemAllocFromPoolAsync', status: 2, error: MemoryError },
  ...[
    'cuMemAllocFromPoolAsync',
    'cuMemcpyHtoDAsync_v2',
    'cuMemcpyDtoHAsync_v2',
    'cuMemsetD8Async',
    'cuLaunchKernel',
    'cuEventCreate',
    'cuEventRecord',
    'cuEventQuery',
    'cuModuleLoadData',
    'cuModuleGetFunction',
    'cuFuncSetAttribute',
  ].map((call) => ({ call, status: 999, error: DeviceError })),
  { call: 'cublasGemmEx', status: 13, error: DeviceError },
  { call: 'cublasGemmStridedBatchedEx', status: 14, error: DeviceError },
  { call: 'nvrtcCreateProgram', status: 2, error: CompileError },
  { call: 'nvrtcCompileProgram', status: 11, error: CompileError },
  ...['run launch', 'run copy', 'run set', 'run product', 'cuLaunchKernel', 'cuMemcpyDtoHAsync_v2'].map(
    (call) => ({ call, status: 700, lost: true, error: DeviceLostError }),
  ),
];

/** The first is never lost. */
const DEVICES = 200;

class Soak {
  readonly covered = new Map<string, number>();
  #fresh = 1;

  #count(what: string): void {
    this.covered.set(what, (this.covered.get(what) ?? 0) + 1);
  }

  /** Runs one program; throws with what is wrong. */
  async check(
    list: Parameters<typeof buildRandomProgram>[0],
    picks: readonly number[],
    timing: Timing,
    seed: number,
    planned: { readonly kind: Kind; readonly nth: number } | null,
  ): Promise<void> {
    const program = buildRandomProgram(list);
    const fault = planned?.kind.lost === true && this.#fresh === DEVICES ? null : planned;
    const ordinal = fault?.kind.lost === true ? this.#fresh++ : 0;
    setSchedule({ timing, seed });
    setFaults(fault === null ? [] : [faultOf(fault.kind, fault.nth)]);
    const outcome = await failureOf(`cuda:${ordinal}`, program, picks).catch((error: unknown) => error);
    const met = describeSimulator().faultsMet > 0;
    setFaults([]);
    this.#count('graphs');
    this.#count(`schedules, ${timing}`);
    if (met) this.#count(`faults, ${fault!.kind.call}${fault!.kind.lost ? ', device lost' : ''}`);
    const allowed = met && outcome instanceof Error && outcome instanceof fault!.kind.error;
    const wrong = [
      ...(outcome === undefined || allowed ? [] : [String(outcome)]),
      ...takeProblems().map(show),
      ...(leftOn(ordinal) ? ['device memory is left'] : []),
    ];
    if (wrong.length > 0)
      throw new Error(`${reproduction(`cuda:${ordinal}`, program, picks)}\n${wrong.join('\n')}`);
  }
}

const faultOf = ({ call, status, lost }: Kind, nth: number): Fault => ({
  call,
  nth,
  status,
  sticky: lost === true,
});

function leftOn(ordinal: number): boolean {
  const { inUse, lost } = describeSimulator().devices[ordinal]!;
  return !lost && inUse !== 0;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { minutes: { type: 'string', default: '1' }, seed: { type: 'string' } },
  });
  const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
  console.log(`seed ${seed}`);
  setDevices(Array.from({ length: DEVICES }, () => ({ memory: 2 ** 28 })));
  const soak = new Soak();
  const fault = fc.record({ kind: fc.constantFrom(...KINDS), nth: fc.integer({ min: 1, max: 12 }) });
  const property = fc.asyncProperty(
    choices,
    fc.array(fc.nat(999), { maxLength: 3 }),
    fc.constantFrom<Timing>('eager', 'late', 'random'),
    fc.nat(),
    fc.option(fault),
    (list, picks, timing, order, planned) => soak.check(list, picks, timing, order, planned),
  );
  const interruptAfterTimeLimit = Number(values.minutes) * 60_000;
  try {
    await fc.assert(property, {
      seed,
      numRuns: 2 ** 31 - 1,
      interruptAfterTimeLimit,
      markInterruptAsFailure: false,
    });
  } finally {
    for (const [what, count] of [...soak.covered].sort()) console.log(`${String(count).padStart(8)} ${what}`);
  }
}

Object.assign(process.env, SIM_ENVIRONMENT);
await main();
