/** Dtypes and devices by the numbers that DLPack has for them (`DLDataTypeCode`, `DLDeviceType`). */

import { CPU, type Device, gpu } from '../exec/targets/device.js';
import { DTYPE_INFO, type DType, kindOf } from '../graph/dtype.js';
import { DeviceError, DTypeError, expected } from '../host/errors.js';
import { DTYPES } from '../shared/layout.js';

const CODES = { int: 0, uint: 1, float: 2, complex: 5, bool: 6 } as const;
const BFLOAT = 4;

/** A dtype as DLPack writes it: the code of its kind, and the bits of an element. */
export const codeOf = (dtype: DType): { readonly code: number; readonly bits: number } => ({
  code: dtype === 'bfloat16' ? BFLOAT : CODES[kindOf(dtype)],
  bits: DTYPE_INFO[dtype].byteLength * 8,
});

const key = (code: number, bits: number): string => `${code}/${bits}`;
const BY_CODE = new Map(
  DTYPES.map((dtype) => {
    const { code, bits } = codeOf(dtype);
    return [key(code, bits), dtype];
  }),
);

/** The dtype of a tensor. Throws a DTypeError for one that Weft does not have. */
export function dtypeOfCode(op: string, code: number, bits: number, lanes: number): DType {
  const dtype = lanes === 1 ? BY_CODE.get(key(code, bits)) : undefined;
  if (dtype !== undefined) return dtype;
  throw new DTypeError(
    expected(op, 'a tensor of a dtype of Weft', `DLPack's type code ${code} of ${bits} bits, ${lanes} lanes`),
  );
}

/** `kDLCPU`, and memory of the host that CUDA knows. */
const HOST = [1, 3];
/** `kDLCUDA`, and managed memory. */
const GPU = [2, 13];

/** A device as DLPack writes it. */
export const deviceTypeOf = ({ isHost, number }: Device): { deviceType: number; deviceId: number } =>
  isHost ? { deviceType: HOST[0]!, deviceId: 0 } : { deviceType: GPU[0]!, deviceId: number };

/** The device that reads a tensor. Throws a DeviceError for one of another kind. */
export function deviceOfType(op: string, type: number, id: number): Device {
  if (HOST.includes(type)) return CPU;
  if (GPU.includes(type)) return gpu(id);
  throw new DeviceError(expected(op, 'a tensor on the CPU or a GPU of CUDA', `DLPack's device type ${type}`));
}
