/**
 * Devices by name: which exist, and which one a compute runs on.
 *
 * A device named by the user is used or refused, never replaced. With no name, arrays that stay on a device decide, then
 * the setting `WEFT_DEVICE`, then the first usable GPU, then the CPU; `explain()` says which and why.
 */
import { config } from '../config.js';
import { ArgumentError, DeviceError, expected } from '../errors.js';
import { cudaInfo } from './native.js';

export interface ChosenDevice {
  /** `cpu` or `cuda:N`. */
  readonly name: string;
  /** Why this one. */
  readonly reason: string;
}

const PATTERN = /^(cpu|cuda)(?::(\d{1,3}))?$/;

/** The full name of a device: `cuda` is `cuda:0`. Throws `DeviceError` for what is no device's name. */
export function deviceName(text: unknown): string {
  if (typeof text !== 'string') throw new ArgumentError(expected('compute', 'a device name', String(text)));
  const match = PATTERN.exec(text);
  if (match === null || (match[1] === 'cpu' && match[2] !== undefined)) {
    throw new DeviceError(expected('compute', "a device named 'cpu', 'cuda' or 'cuda:N'", `'${text}'`));
  }
  return match[1] === 'cpu' ? 'cpu' : `cuda:${Number(match[2] ?? 0)}`;
}

/** Why a GPU cannot be used; `undefined`: it can. */
export function cudaProblem(ordinal: number): string | undefined {
  const info = cudaInfo();
  if (info.driver === null) return 'no NVIDIA driver was found';
  const device = info.devices[ordinal];
  if (device === undefined) return `the machine has ${info.devices.length} usable GPUs`;
  if (device.error !== undefined) return device.error;
  if (info.nvrtc === null) return 'NVRTC, the CUDA run-time compiler, was not found';
  return undefined;
}

/** Checks that a device named by the user can be used; throws `DeviceError` saying why not. */
function usable(name: string): string {
  if (name === 'cpu') return name;
  const problem = cudaProblem(Number(name.slice('cuda:'.length)));
  if (problem === undefined) return name;
  throw new DeviceError(
    `[compute] device '${name}' cannot be used: ${problem} (run "npx weft doctor" for what is missing)`,
  );
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
      throw new DeviceError(expected('compute', `device arrays on '${name}'`, `an array on '${held}'`));
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
