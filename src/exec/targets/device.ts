/**
 * Device: where work runs, made once from the name that a user gives. Its name is how it is printed; nobody
 * reads a number or a kind out of that again.
 */
import { formatValue } from '../../graph/format.js';
import { ArgumentError, DeviceError, expected } from '../../host/errors.js';

/** The kinds of devices: `table.ts` has the target of each. */
export type TargetKind = 'cpu' | 'cuda';

export interface Device {
  /** As users write it: `cpu`, `cuda:0`. */
  readonly name: string;
  /** Its place: its number among those of its kind. Devices of other machines would have a host here as well. */
  readonly kind: TargetKind;
  readonly number: number;
  /** Whether its memory is that of this process: arrays are used where they lie. */
  readonly isHost: boolean;
  /** Of a GPU that is on no machine, for which kernels are compiled ahead: NVRTC's name of it, `sm_90`. */
  readonly architecture?: string;
}

/** By name: a device is one object, so that devices can be compared as they are. */
const devices = new Map<string, Device>();

export const CPU: Device = { name: 'cpu', kind: 'cpu', number: 0, isHost: true };
devices.set(CPU.name, CPU);

/** The GPU of a number, by the driver's count. */
export function gpu(number: number): Device {
  const name = `cuda:${number}`;
  let device = devices.get(name);
  if (device === undefined) {
    device = { name, kind: 'cuda', number, isHost: false };
    devices.set(name, device);
  }
  return device;
}

/** A GPU of an architecture, to plan for and not to run on. */
export const gpuOf = (architecture: string): Device => ({
  name: architecture,
  kind: 'cuda',
  number: 0,
  isHost: false,
  architecture,
});

const PATTERN = /^(?:(cpu)|cuda(?::(\d{1,3}))?)$/;

/** The device that a user names: `cuda` is `cuda:0`. Throws `DeviceError` for what is no device's name. */
export function deviceFrom(op: string, text: unknown): Device {
  if (typeof text !== 'string') throw new ArgumentError(expected(op, 'a device name', formatValue(text)));
  const known = devices.get(text);
  if (known !== undefined) return known;
  const match = PATTERN.exec(text);
  if (match === null)
    throw new DeviceError(expected(op, "a device named 'cpu', 'cuda' or 'cuda:N'", formatValue(text)));
  return match[1] === undefined ? gpu(Number(match[2] ?? 0)) : CPU;
}

/** The device of a name that is printed somewhere: of arrays, programs and timelines. */
export const deviceNamed = (name: string): Device => devices.get(name) ?? deviceFrom('compute', name);
