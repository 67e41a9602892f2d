/** Scalars as the bytes of their dtype, little endian: constants of tapes, arguments of kernels, numbers of a run. */
import { byteLengthOf, DTYPE_INFO, type DType, type Scalar } from './dtype.js';
import { toBfloat16Bits, toFloat16Bits } from './half.js';

/** The bytes of a value, which is one that the dtype holds. */
export function scalarBytes(dtype: DType, value: Scalar): Uint8Array {
  const bytes = new Uint8Array(byteLengthOf(dtype));
  writeScalar(new DataView(bytes.buffer), 0, dtype, value);
  return bytes;
}

/** Writes the bytes of a value that the dtype holds. */
export function writeScalar(view: DataView, at: number, dtype: DType, value: Scalar): void {
  const { component, byteLength } = DTYPE_INFO[dtype];
  if (component === dtype) {
    writeReal(view, at, dtype, value as Real);
  } else {
    const { re, im } = typeof value === 'object' ? value : { re: Number(value), im: 0 };
    writeReal(view, at, component, re);
    writeReal(view, at + byteLength / 2, component, im);
  }
}

type Real = Exclude<Scalar, object>;

function writeReal(view: DataView, at: number, dtype: DType, value: Real): void {
  switch (dtype) {
    case 'float64':
      view.setFloat64(at, Number(value), true);
      break;
    case 'float32':
      view.setFloat32(at, Number(value), true);
      break;
    case 'float16':
      view.setUint16(at, toFloat16Bits(Number(value)), true);
      break;
    case 'bfloat16':
      view.setUint16(at, toBfloat16Bits(Number(value)), true);
      break;
    case 'int64':
    case 'uint64':
      view.setBigUint64(at, BigInt.asUintN(64, BigInt(value)), true);
      break;
    case 'int32':
    case 'uint32':
      view.setUint32(at, Number(value), true);
      break;
    case 'int16':
    case 'uint16':
      view.setUint16(at, Number(value), true);
      break;
    case 'bool':
      view.setUint8(at, value ? 1 : 0);
      break;
    default:
      view.setUint8(at, Number(value));
  }
}
