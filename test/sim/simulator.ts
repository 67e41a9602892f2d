/**
 * The control of the simulated CUDA (`native/sim`): its devices, schedules and faults, and what it saw. It
 * acts on the simulator of this process, which the addon uses once the environment names its libraries; see
 * `sim` in `vitest.config.ts`.
 */
import { createRequire } from 'node:module';
import { setTimeout } from 'node:timers/promises';
import { SIM_FOLDER } from './environment.js';

export interface DeviceSettings {
  /** Bytes; 1 GiB without it. */
  readonly memory?: number;
  /** 90 is 9.0. */
  readonly capability?: number;
  readonly multiprocessors?: number;
  readonly sharedMemoryPerBlock?: number;
  readonly name?: string;
  /** Ordinals of devices whose memory it cannot access. */
  readonly unreachable?: readonly number[];
}

/** When queued work is done: at once, as late as the rules allow, or now and then. */
export type Timing = 'eager' | 'late' | 'random';

export interface Schedule {
  readonly timing: Timing;
  readonly seed: number;
  /**
   * Nanoseconds by which the devices' clock goes on when a kernel looks at it; random timing: up to twice as
   * many. 100,000 without it.
   */
  readonly tick?: number;
}

/** The calls by which launches become a graph that runs, with other numbers each time. */
export const GRAPH_CALLS = [
  'cuGraphCreate',
  'cuGraphAddKernelNode',
  'cuGraphInstantiate_v2',
  'cuGraphExecKernelNodeSetParams',
  'cuGraphLaunch',
] as const;

/** See `native/sim/core/faults.h`. */
export interface Fault {
  /**
   * An entry point, or `run launch`, `run loop`, `run copy`, `run set`, `run product`: the execution of
   * queued work.
   */
  readonly call: string;
  /** From 1; 0: every one. */
  readonly nth: number;
  /** In the terms of the library; 0 or none: it is only slow. */
  readonly status?: number;
  /** Loses the context. */
  readonly sticky?: boolean;
  /** Or until other faults are set. */
  readonly delayMs?: number;
}

export interface Problem {
  readonly kind:
    | 'race'
    | 'out-of-bounds'
    | 'undefined-read'
    | 'shared-memory'
    | 'misuse'
    | 'guard'
    | 'internal'
    | 'more';
  readonly message: string;
}

export interface Description {
  readonly problems: readonly Problem[];
  readonly devices: readonly {
    /** Bytes handed out and not given back. */
    readonly inUse: number;
    /** The most of it since the last `takeProblems`. */
    readonly peak: number;
    /** Bytes that pools and libraries hold. */
    readonly held: number;
    readonly lost: boolean;
    /** Its objects that exist: streams, events, modules, pools, cublasHandles. */
    readonly live: Readonly<Record<string, number>>;
  }[];
  /**
   * Objects that exist, of all devices: streams, events, modules, pools, pinnedBytes, cublasHandles,
   * nvrtcPrograms.
   */
  readonly live: Readonly<Record<string, number>>;
  /** How often each call was made since the faults were set. */
  readonly counts: Readonly<Record<string, number>>;
  readonly faultsMet: number;
  /**
   * How often a device was to interrupt a processor when an event is reached, which `profile()` alone asks
   * for.
   */
  readonly interrupts: number;
}

const addon = createRequire(import.meta.url)(`${SIM_FOLDER}/weft-sim.node`) as {
  control(lines: string): void;
  describe(): string;
  announce(source: string, options: string): void;
};

type Setting = readonly [word: string, fields?: object];

/** The text of settings: `native/sim/core/settings.h`. */
export const settingsText = (settings: readonly Setting[]): string =>
  settings
    .map(([word, fields = {}]) =>
      [word, ...Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`)].join('\t'),
    )
    .join('\n');

const control = (...settings: readonly Setting[]): void => addon.control(settingsText(settings));

/** The objects that there are, and the problems found since the last `clear`. */
export const describeSimulator = (): Description => JSON.parse(addon.describe()) as Description;
/** Says that a source is about to be compiled: those that are announced at a time are compiled together. */
export const announce = (source: string, options: readonly string[]): void =>
  addon.announce(source, options.join('\n'));
/** Before anything of CUDA is used in this process. */
export const setDevices = (devices: readonly DeviceSettings[]): void =>
  control(...devices.map((device): Setting => ['device', device]));
export const setSchedule = (schedule: Schedule): void => control(['schedule', schedule]);
/** Replaces the plan, and counts calls anew. */
export const setFaults = (faults: readonly Fault[]): void =>
  control(['faults'], ...faults.map((fault): Setting => ['fault', fault]));
/** Longer than any test. */
const HELD_MS = 1_000_000;
/**
 * Holds a call of another thread until it is released, so that a test does something while it is under way, however busy
 * the machine is. To be set before the call is made, and in the place of other faults.
 */
export function hold(
  call: string,
  nth = 1,
): { readonly reached: () => Promise<void>; readonly release: () => void } {
  setFaults([{ call, nth, delayMs: HELD_MS }]);
  return {
    reached: async () => {
      while ((describeSimulator().counts[call] ?? 0) < nth) await setTimeout(1);
    },
    release: () => setFaults([]),
  };
}
/** Holds a stream back. Streams are numbered as they are made, a context's default stream being one. */
export const stall = (stream: number, milliseconds: number): void =>
  control(['stall', { stream, milliseconds }]);
/** Gives the problems there were and forgets them, and begins to watch the peak of memory anew. */
export function takeProblems(): readonly Problem[] {
  const { problems } = describeSimulator();
  control(['clear']);
  return problems;
}

export const show = ({ kind, message }: Problem): string => `${kind}: ${message}`;
