/**
 * Functions of the lanes of a warp in a kernel's function, by CUDA's names: shuffles, votes, matches and reductions among the
 * lanes of a mask.
 */
import { type DType, isComplex, isHalf, isInteger } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { cast, isExpr } from '../graph/infer.js';
import type { KernelNumber, WarpFunction } from '../graph/kernel-program.js';
import { binary } from './arithmetic.js';
import { isNumber, type KernelValue } from './kernel-values.js';
import type { KernelWriter } from './kernel-writer.js';
import { truth } from './operands.js';
import type { Node, Source } from './source.js';
import { type StateType, typeOf } from './state-types.js';
import type { Operand } from './value.js';

/** Lanes of a warp, on every GPU so far. */
export const WARP_SIZE = 32;
const ALL_LANES = 0xffffffff;

/** Functions by their names, with their parameters. */
const FUNCTIONS: Readonly<Record<string, readonly [name: WarpFunction, ...parameters: string[]]>> = {
  shflSync: ['shfl', 'mask', 'value', 'lane', 'width?'],
  shflUpSync: ['shflUp', 'mask', 'value', 'delta', 'width?'],
  shflDownSync: ['shflDown', 'mask', 'value', 'delta', 'width?'],
  shflXorSync: ['shflXor', 'mask', 'value', 'laneMask', 'width?'],
  ballotSync: ['ballot', 'mask', 'condition'],
  anySync: ['any', 'mask', 'condition'],
  allSync: ['all', 'mask', 'condition'],
  matchAnySync: ['matchAny', 'mask', 'value'],
  matchAllSync: ['matchAll', 'mask', 'value'],
  reduceAddSync: ['reduceAdd', 'mask', 'value'],
  reduceMinSync: ['reduceMin', 'mask', 'value'],
  reduceMaxSync: ['reduceMax', 'mask', 'value'],
  reduceAndSync: ['reduceAnd', 'mask', 'value'],
  reduceOrSync: ['reduceOr', 'mask', 'value'],
  reduceXorSync: ['reduceXor', 'mask', 'value'],
  activemask: ['activemask'],
  syncwarp: ['sync', 'mask?'],
};

export const WARP_NAMES: readonly string[] = Object.keys(FUNCTIONS);
export const isWarpFunction = (name: string): boolean => Object.hasOwn(FUNCTIONS, name);

const UINT32: StateType = { dtype: 'uint32', weak: false };
const INT32: StateType = { dtype: 'int32', weak: false };
const BOOL: StateType = { dtype: 'bool', weak: false };

/** The number of a thread within its warp. */
export function laneOf(number: (number: KernelNumber) => Operand): Operand {
  const along = (of: 'threadIdx' | 'blockDim', axis: 0 | 1 | 2): Operand => number({ of, axis });
  const rows = binary('+', binary('*', along('threadIdx', 2), along('blockDim', 1)), along('threadIdx', 1));
  const thread = binary('+', binary('*', rows, along('blockDim', 0)), along('threadIdx', 0));
  return binary('&', thread, WARP_SIZE - 1);
}

/** A call of one of the functions. */
export function callOfWarp(
  source: Source,
  writer: KernelWriter,
  node: Node,
  called: string,
  args: readonly KernelValue[],
): Operand {
  const [name, ...parameters] = FUNCTIONS[called]!;
  const least = parameters.filter((each) => !each.endsWith('?')).length;
  if (args.length < least || args.length > parameters.length || !args.every(isNumber))
    return source.refuse(node, `${called}(${parameters.join(', ').replaceAll('?', '')}) of numbers`);
  return source.located(node, () => new WarpCall(source, writer, node, called, name).made(args as Operand[]));
}

class WarpCall {
  constructor(
    readonly source: Source,
    readonly writer: KernelWriter,
    readonly node: Node,
    readonly called: string,
    readonly name: WarpFunction,
  ) {}

  made([mask = ALL_LANES, value = 0, lane, width]: readonly Operand[]): Operand {
    switch (this.name) {
      case 'sync':
        this.#given(BOOL, { mask: this.#mask(mask) });
        return 0;
      case 'activemask':
        return this.#given(UINT32, {});
      case 'ballot':
      case 'any':
      case 'all': {
        const from = this.writer.register(truth(value), BOOL);
        return this.#given(this.name === 'ballot' ? UINT32 : BOOL, { mask: this.#mask(mask), from });
      }
      case 'matchAny':
      case 'matchAll':
        return this.#given(UINT32, { mask: this.#mask(mask), from: this.#from(value) });
      case 'shfl':
      case 'shflUp':
      case 'shflDown':
      case 'shflXor':
        return this.#shuffled(mask, value, lane!, width);
      default:
        return this.#reduced(mask, value);
    }
  }

  #shuffled(mask: Operand, value: Operand, lane: Operand, width: Operand = WARP_SIZE): Operand {
    if (isExpr(width) || ![1, 2, 4, 8, 16, WARP_SIZE].includes(Number(width)))
      this.source.refuse(this.node, 'a width that is known, a power of two up to 32', String(width));
    const own = typeOf(value);
    const type = this.#exchanged(own);
    const made = this.#given(type, {
      mask: this.#mask(mask),
      from: this.writer.register(value, type),
      lane: this.writer.register(lane, INT32),
      width: Number(width),
    });
    return type === own ? made : cast(made, own.dtype);
  }

  /** Of integers of 32 bits, as CUDA has it; shorter ones become int32. */
  #reduced(mask: Operand, value: Operand): Operand {
    const type = this.#exchanged(typeOf(value));
    const from = this.writer.register(value, type);
    const dtype = this.writer.registers[from]!;
    if (dtype !== 'int32' && dtype !== 'uint32')
      this.source.refuse(
        this.node,
        `a value of int32 or uint32 for ${this.called}`,
        dtype,
        'shuffles combine others',
      );
    return this.#given(type, { mask: this.#mask(mask), from });
  }

  #from(value: Operand): number {
    return this.writer.register(value, this.#exchanged(typeOf(value)));
  }

  /** Refused where it is written, if it is known: on a GPU lanes with a wrong mask may wait for ever. */
  #mask(mask: Operand): number {
    if (isExpr(mask)) {
      if (!isInteger(mask.dtype)) this.source.refuse(this.node, 'a mask of integers', mask.dtype);
    } else if (!Number.isInteger(Number(mask)) || Number(mask) < 1 || Number(mask) > ALL_LANES) {
      const wanted = 'a mask with bits of lanes, 1 to 0xffffffff';
      this.source.refuse(this.node, wanted, String(mask), '0xffffffff is all lanes');
    }
    return this.writer.register(mask, UINT32);
  }

  /** The type that lanes exchange a value in: of 32 or 64 bits. */
  #exchanged(type: StateType): StateType {
    const { dtype } = type;
    if (isComplex(dtype))
      return this.source.refuse(this.node, `a real value for ${this.called}`, dtype, 'its parts one by one');
    if (isHalf(dtype)) return { dtype: 'float32', weak: false };
    return dtype === 'bool' || SHORT.includes(dtype) ? INT32 : type;
  }

  #given(type: StateType, operands: { mask?: number; from?: number; lane?: number; width?: number }): Expr {
    return this.writer.given(type, (to) => ({
      kind: 'warp',
      name: this.name,
      to,
      ...operands,
      ...this.source.placeOf(this.node),
    }));
  }
}

const SHORT: readonly DType[] = ['int8', 'uint8', 'int16', 'uint16'];
