/**
 * Devices by name: which exist, and which one a compute runs on.
 *
 * A device named by the user is used or refused, never replaced. With no name, arrays that stay on a device
 * decide, then the setting `WEFT_DEVICE`, then the first usable GPU, then the CPU; `explain()` says which and
 * why.
 */

import { formatValue } from '../../graph/format.js';
import { config } from '../../host/config.js';
import { ArgumentError, DeviceError, expected } from '../../host/errors.js';
import { cudaInfo, lostDevices } from './native.js';
import { stallOf } from './stalls.js';

export interface ChosenDevice {
  /** `cpu` or `cuda:N`. */
  readonly name: string;
  /** Why this one. */
  readonly reason: string;
}

/** The devices of a compute. */
export interface ChosenDevices {
  readonly names: readonly string[];
  readonly reason: string;
  /** Whether the work is sharded among them; if not, there is one, which has all that is stored. */
  readonly isSharded: boolean;
}

/** Several devices: all usable GPUs, so many of them, or these. */
export type DevicesOption = 'all' | number | readonly string[];

const PATTERN = /^(cpu|cuda)(?::(\d{1,3}))?$/;

/** The full name of a device: `cuda` is `cuda:0`. Throws `DeviceError` for what is no device's name. */
export const deviceName = (text: unknown): string => nameFrom('compute', text);

function nameFrom(op: string, text: unknown): string {
  if (typeof text !== 'string') throw new ArgumentError(expected(op, 'a device name', formatValue(text)));
  const match = PATTERN.exec(text);
  if (match === null || (match[1] === 'cpu' && match[2] !== undefined)) {
    throw new DeviceError(expected(op, "a device named 'cpu', 'cuda' or 'cuda:N'", formatValue(text)));
  }
  return match[1] === 'cpu' ? 'cpu' : `cuda:${Number(match[2] ?? 0)}`;
}

/** Why a GPU cannot be used; `undefined`: it can. */
export function cudaProblem(ordinal: number): string | undefined {
  const info = cudaInfo();
  const { driver, nvrtc } = config().cuda;
  const asked = (tried: readonly string[], name: string | undefined): string =>
    name === undefined ? '' : `: ${tried.join('; ')}`;
  if (info.driver === null) return `no NVIDIA driver was found${asked(info.tried.driver, driver)}`;
  const device = info.devices[ordinal];
  if (device === undefined) return `the machine has ${info.devices.length} usable GPUs`;
  if (device.error !== undefined) return device.error;
  const stalled = stallOf(`cuda:${ordinal}`);
  if (stalled !== undefined) return stalled;
  if (info.nvrtc === null)
    return `NVRTC, the CUDA run-time compiler, was not found${asked(info.tried.nvrtc, nvrtc)}`;
  return undefined;
}

/** Checks that a device named by the user can be used; throws `DeviceError` saying why not. */
const usable = (name: string): string => usableFor('compute', name);

function usableFor(op: string, name: string): string {
  if (name === 'cpu') return name;
  const problem = cudaProblem(Number(name.slice('cuda:'.length)));
  if (problem === undefined) return name;
  throw new DeviceError(
    `[${op}] device '${name}' cannot be used: ${problem} (run "npx weft doctor" for what is missing)`,
  );
}

/** The full name of a device that the user names and that can be used; throws a `DeviceError` for another. */
export const usableDevice = (op: string, text: unknown): string => usableFor(op, nameFrom(op, text));

const ordinalOf = (name: string): number => Number(name.slice('cuda:'.length));

/** The GPUs that the driver lists, in order, and of those that cannot be used, why; of lost ones as well. */
function listedGpus(): {
  readonly name: string;
  readonly problem: string | undefined;
  readonly isLost: boolean;
}[] {
  if (cudaInfo().driver === null) return [];
  const lost = new Map(lostDevices().map(({ device, status }) => [device, status]));
  return cudaInfo().devices.map((_, k) => {
    const name = `cuda:${k}`;
    const status = lost.get(name);
    const loss = status === undefined ? undefined : `it was lost (${status}), until a new process begins`;
    return { name, problem: cudaProblem(k) ?? loss, isLost: status !== undefined };
  });
}

const usableGpus = (): string[] =>
  listedGpus().flatMap(({ name, problem }) => (problem === undefined ? [name] : []));

/** Those that cannot be used, as the end of a sentence. */
const withoutText = (): string =>
  listedGpus()
    .flatMap(({ name, problem }) => (problem === undefined ? [] : [`; not ${name}: ${problem}`]))
    .join('');

/** The names that a `devices` option stands for. */
export function deviceNames(option: unknown): string[] {
  const wanted = "'all', a number of devices or a list of their names";
  if (option === 'all') {
    const gpus = usableGpus();
    if (gpus.length > 0) return gpus;
    // Where all are lost, work is refused with what happened, and does not go to the CPU unasked.
    const lost = listedGpus().flatMap(({ name, isLost }) => (isLost ? [name] : []));
    return lost.length > 0 ? lost : ['cpu'];
  }
  if (typeof option === 'number') {
    const gpus = usableGpus();
    if (!Number.isInteger(option) || option < 1)
      throw new ArgumentError(expected('compute', `devices as ${wanted}`, formatValue(option)));
    if (option <= gpus.length) return gpus.slice(0, option);
    throw new DeviceError(
      expected('compute', `${option} usable GPUs`, `there are ${gpus.length}${withoutText()}`),
    );
  }
  if (!Array.isArray(option) || option.length === 0)
    throw new ArgumentError(expected('compute', `devices as ${wanted}`, formatValue(option)));
  const names = option.map((name) => usable(deviceName(name)));
  if (new Set(names).size < names.length)
    throw new ArgumentError(expected('compute', 'each device once', names.join(', ')));
  if (names.length > 1 && names.includes('cpu'))
    throw new DeviceError(expected('compute', 'the CPU alone, or GPUs', names.join(', ')));
  return names;
}

/** GPUs of one kind have kernels with the same schedules, and so the same bits. */
function checkAlike(names: readonly string[]): void {
  const kindOf = (name: string): string => {
    const { computeCapability, sharedMemoryPerBlockOptin } = cudaInfo().devices[ordinalOf(name)]!;
    return `${computeCapability.join('.')} ${sharedMemoryPerBlockOptin}`;
  };
  const other = names.find((name) => kindOf(name) !== kindOf(names[0]!));
  if (other === undefined) return;
  throw new DeviceError(
    expected('compute', 'GPUs of one kind', `'${names[0]}' and '${other}'`, 'name those that are alike'),
  );
}

/**
 * Chooses the devices of a compute from what the user named and from where stored inputs are: `holders` has
 * the devices of each. One array may be on several; several arrays on different devices meet only where
 * devices are named.
 */
export function chooseDevices(
  {
    device,
    devices: named,
  }: { readonly device?: string | undefined; readonly devices?: DevicesOption | undefined },
  holders: readonly (readonly string[])[],
): ChosenDevices {
  if (device !== undefined && named !== undefined)
    throw new ArgumentError(expected('compute', 'device or devices', 'both'));
  const all = [...new Set(holders.flat())];
  const isOpen = device === undefined && !all.includes('cpu');
  const devices = named ?? (isOpen ? config().devices : undefined);
  const isSharded = holders.some((some) => some.length > 1);
  if (devices === undefined && !isSharded) {
    const { name, reason } = chooseDevice(device, new Set(all));
    return { names: [name], reason, isSharded: false };
  }
  if (devices === undefined && device !== undefined) {
    const name = usable(deviceName(device));
    if (all.includes(name)) return sharded([name], 'named by the caller');
    throw new DeviceError(expected('compute', `device arrays on '${name}'`, `arrays on ${all.join(', ')}`));
  }
  if (devices === undefined) {
    const names = all.map(usable).sort((a, b) => ordinalOf(a) - ordinalOf(b));
    return sharded(names, 'inputs are stored there');
  }
  const names = deviceNames(devices);
  const namedBy =
    named === undefined
      ? 'named by WEFT_DEVICES'
      : named === 'all'
        ? 'all usable GPUs'
        : 'named by the caller';
  const reason = namedBy + (typeof devices === 'object' ? '' : withoutText());
  if (names.length > 1) {
    if (all.includes('cpu'))
      throw new DeviceError(expected('compute', 'device arrays on GPUs', "an array on 'cpu'"));
    return sharded(names, reason);
  }
  if (names[0] !== 'cpu' && !all.includes('cpu') && all.some((name) => name !== names[0]))
    return sharded(names, reason);
  const one = chooseDevice(names[0], new Set(all));
  const why = one.name === 'cpu' && devices === 'all' ? 'no usable GPU' : reason;
  return { names: [one.name], reason: why, isSharded: false };
}

function sharded(names: readonly string[], reason: string): ChosenDevices {
  checkAlike(names);
  return { names, reason, isSharded: true };
}

/** Chooses the device of a compute from the user's choice and the devices its stored inputs are on. */
export function chooseDevice(wanted: string | undefined, holders: ReadonlySet<string>): ChosenDevice {
  const [held, other] = holders;
  if (other !== undefined) {
    throw new DeviceError(expected('compute', 'all device arrays on one device', [...holders].join(', ')));
  }
  if (wanted !== undefined) {
    const name = usable(deviceName(wanted));
    if (held !== undefined && held !== name) {
      const hint = `persist({ device: '${name}' }) of the array itself copies it there`;
      throw new DeviceError(expected('compute', `device arrays on '${name}'`, `an array on '${held}'`, hint));
    }
    return { name, reason: 'named by the caller' };
  }
  if (held !== undefined) return { name: held, reason: 'an input is stored there' };
  const setting = config().device;
  if (setting !== undefined) return { name: usable(deviceName(setting)), reason: 'named by WEFT_DEVICE' };
  const problem = cudaProblem(0);
  return problem === undefined
    ? { name: 'cuda:0', reason: 'the first usable GPU' }
    : { name: 'cpu', reason: `no usable GPU: ${problem}` };
}
