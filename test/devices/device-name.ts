/** The name of a record's device. */
import { cudaInfo } from '../../src/exec/native/native.js';

/** `cuda: NVIDIA H200`, `cuda: simulated`, `cpu`. */
export function describeDevice(device: string, simulated: boolean): string {
  if (simulated) return `${device}: simulated`;
  if (!device.startsWith('cuda')) return device;
  const { devices } = cudaInfo();
  const found = devices.find((one) => one.device === device) ?? devices[0];
  return `${device}: ${found?.name ?? 'none'}`;
}
