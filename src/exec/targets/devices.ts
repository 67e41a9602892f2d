/**
 * Which devices a compute runs on, of those that exist.
 *
 * A device named by the user is used or refused, never replaced. With no name, arrays that stay on a device
 * decide, then the setting `WEFT_DEVICE`, then the first usable GPU, then the CPU; `explain()` says which and
 * why.
 */

import { formatValue } from '../../graph/format.js';
import { config } from '../../host/config.js';
import { ArgumentError, DeviceError, expected } from '../../host/errors.js';
import { cudaInfo, lostDevices } from '../native/native.js';
import { probed } from './cuda-device.js';
import { CPU, type Device, deviceFrom, deviceNamed, gpu } from './device.js';
import { targetOf } from './table.js';

export interface ChosenDevice {
  readonly device: Device;
  /** Why this one. */
  readonly reason: string;
}

/** The devices of a compute. */
export interface ChosenDevices {
  readonly devices: readonly Device[];
  readonly reason: string;
  /** Whether the work is sharded among them; if not, there is one, which has all that is stored. */
  readonly isSharded: boolean;
}

/** Several devices: all usable GPUs, so many of them, or these. */
export type DevicesOption = 'all' | number | readonly string[];

/**
 * Loads the libraries of the devices that a compute may choose from, off this thread; `undefined`: the device
 * that is named has none. `hasProducts`: whether those of products are wanted.
 */
export const probeFor = (device: unknown, hasProducts = false): Promise<void> | undefined =>
  device === undefined ? probed(hasProducts) : targetOf(deviceFrom('compute', device)).probe?.(hasProducts);

/** As `probeFor`, for an option `devices`. */
export async function probeForAll(devices: DevicesOption): Promise<void> {
  await (Array.isArray(devices) ? Promise.all(devices.map((device) => probeFor(device))) : probed(false));
}

/** Why a device cannot be used; `undefined`: it can. */
export const problemOf = (device: Device): string | undefined => targetOf(device).problemOf(device);

/** Checks that a device named by the user can be used; throws `DeviceError` saying why not. */
function usable(device: Device, op = 'compute'): Device {
  const problem = problemOf(device);
  if (problem === undefined) return device;
  throw new DeviceError(
    `[${op}] device '${device.name}' cannot be used: ${problem} (run "npx weft doctor" for what is missing)`,
  );
}

/** The device that the user names and that can be used; throws a `DeviceError` for another. */
export const usableDevice = (op: string, text: unknown): Device => usable(deviceFrom(op, text), op);

const inOrder = (a: Device, b: Device): number => a.number - b.number;

/** The GPUs that the driver lists, in order, and of those that cannot be used, why; of lost ones as well. */
function listedGpus(): {
  readonly device: Device;
  readonly problem: string | undefined;
  readonly isLost: boolean;
}[] {
  if (cudaInfo().driver === null) return [];
  const lost = new Map(lostDevices().map(({ device, status }) => [device, status]));
  return cudaInfo().devices.map((_, k) => {
    const device = gpu(k);
    const status = lost.get(device.name);
    const loss = status === undefined ? undefined : `it was lost (${status}), until a new process begins`;
    return { device, problem: problemOf(device) ?? loss, isLost: status !== undefined };
  });
}

const usableGpus = (): Device[] =>
  listedGpus().flatMap(({ device, problem }) => (problem === undefined ? [device] : []));

/** Those that cannot be used, as the end of a sentence. */
const withoutText = (): string =>
  listedGpus()
    .flatMap(({ device, problem }) => (problem === undefined ? [] : [`; not ${device.name}: ${problem}`]))
    .join('');

/** The devices that a `devices` option stands for. */
export function devicesFrom(option: unknown): Device[] {
  const wanted = "'all', a number of devices or a list of their names";
  if (option === 'all') {
    const gpus = usableGpus();
    if (gpus.length > 0) return gpus;
    // Where all are lost, work is refused with what happened, and does not go to the CPU unasked.
    const lost = listedGpus().flatMap(({ device, isLost }) => (isLost ? [device] : []));
    return lost.length > 0 ? lost : [CPU];
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
  const devices = option.map((name) => usableDevice('compute', name));
  if (new Set(devices).size < devices.length)
    throw new ArgumentError(expected('compute', 'each device once', namesOf(devices)));
  if (devices.length > 1 && devices.includes(CPU))
    throw new DeviceError(expected('compute', 'the CPU alone, or GPUs', namesOf(devices)));
  return devices;
}

const namesOf = (devices: readonly Device[]): string => devices.map(({ name }) => name).join(', ');

/** GPUs of one kind have kernels with the same schedules, and so the same bits. */
function checkAlike(devices: readonly Device[]): void {
  const keyOf = (device: Device): string => targetOf(device).alikeKeyOf(device);
  const [first] = devices;
  const other = devices.find((device) => keyOf(device) !== keyOf(first!));
  if (other === undefined) return;
  throw new DeviceError(
    expected(
      'compute',
      'GPUs of one kind',
      `'${first!.name}' and '${other.name}'`,
      'name those that are alike',
    ),
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
  if (named === undefined) {
    const host = onHost(device, holders);
    if (host !== undefined) return host;
    if (holders.length === 0 && (device !== undefined || config().devices === undefined))
      return alone(chooseDevice(device, NOWHERE));
  }
  const all = [...new Set(holders.flat())].map(deviceNamed);
  const isOpen = device === undefined && !all.includes(CPU);
  const devices = named ?? (isOpen ? config().devices : undefined);
  const isSharded = holders.some((some) => some.length > 1);
  if (devices === undefined && !isSharded) {
    return alone(chooseDevice(device, new Set(all)));
  }
  if (devices === undefined && device !== undefined) {
    const one = usableDevice('compute', device);
    if (all.includes(one)) return sharded([one], 'named by the caller');
    throw new DeviceError(expected('compute', `device arrays on '${one.name}'`, `arrays on ${namesOf(all)}`));
  }
  if (devices === undefined) {
    const holding = all.map((one) => usable(one)).sort(inOrder);
    return sharded(holding, 'inputs are stored there');
  }
  const chosen = devicesFrom(devices);
  const namedBy =
    named === undefined
      ? 'named by WEFT_DEVICES'
      : named === 'all'
        ? 'all usable GPUs'
        : 'named by the caller';
  const reason = namedBy + (typeof devices === 'object' ? '' : withoutText());
  const [first] = chosen as [Device];
  if (chosen.length > 1) {
    if (all.includes(CPU))
      throw new DeviceError(expected('compute', 'device arrays on GPUs', "an array on 'cpu'"));
    return sharded(chosen, reason);
  }
  if (!first.isHost && !all.includes(CPU) && all.some((one) => one !== first)) return sharded(chosen, reason);
  const one = chooseDevice(first.name, new Set(all));
  const why = one.device.isHost && devices === 'all' ? 'no usable GPU' : reason;
  return { devices: [one.device], reason: why, isSharded: false };
}

const alone = ({ device, reason }: ChosenDevice): ChosenDevices => ({
  devices: [device],
  reason,
  isSharded: false,
});

/** The devices that hold the arrays of a graph that has none on a device. */
const NOWHERE: ReadonlySet<Device> = new Set();

const NAMED_HOST: ChosenDevices = { devices: [CPU], reason: 'named by the caller', isSharded: false };
const HOST_OF_INPUTS: ChosenDevices = {
  devices: [CPU],
  reason: 'an input is stored there',
  isSharded: false,
};

/** The CPU where it is named, or has arrays, and no other device has any, without lists of them; undefined: it is another case. */
function onHost(device: unknown, holders: readonly (readonly string[])[]): ChosenDevices | undefined {
  for (const some of holders) if (some.length !== 1 || some[0] !== CPU.name) return undefined;
  if (device === CPU.name) return NAMED_HOST;
  return device === undefined && holders.length > 0 ? HOST_OF_INPUTS : undefined;
}

function sharded(devices: readonly Device[], reason: string): ChosenDevices {
  checkAlike(devices);
  return { devices, reason, isSharded: true };
}

/** Chooses the device of a compute from the user's choice and the devices its stored inputs are on. */
export function chooseDevice(wanted: string | undefined, holders: ReadonlySet<Device>): ChosenDevice {
  const [held, other] = holders;
  if (other !== undefined) {
    throw new DeviceError(expected('compute', 'all device arrays on one device', namesOf([...holders])));
  }
  if (wanted !== undefined) {
    const device = usableDevice('compute', wanted);
    const { name } = device;
    if (held !== undefined && held !== device) {
      const hint = `persist({ device: '${name}' }) of the array itself copies it there`;
      throw new DeviceError(
        expected('compute', `device arrays on '${name}'`, `an array on '${held.name}'`, hint),
      );
    }
    return { device, reason: 'named by the caller' };
  }
  if (held !== undefined) return { device: held, reason: 'an input is stored there' };
  const setting = config().device;
  if (setting !== undefined)
    return { device: usableDevice('compute', setting), reason: 'named by WEFT_DEVICE' };
  const problem = problemOf(gpu(0));
  return problem === undefined
    ? { device: gpu(0), reason: 'the first usable GPU' }
    : { device: CPU, reason: `no usable GPU: ${problem}` };
}
