/**
 * Encodes the program of a user's kernel as numbers for the CPU (`native/cpu/user-kernel-parse.cpp`). Casts that the CPU
 * does in steps get registers between them.
 */
import { type DType, dtypeCode } from '../../graph/dtype.js';
import {
  ATOMICS,
  type KernelInstruction,
  type KernelNumber,
  type KernelProgram,
  WARP_FUNCTIONS,
} from '../../graph/kernel-program.js';
import { scalarBytes } from '../../graph/scalar-bytes.js';
import { castHops } from './tape-domain.js';

const KINDS = [
  'map',
  'cast',
  'const',
  'number',
  'copy',
  'read',
  'write',
  'atomic',
  'bound',
  'sync',
  'warp',
  'if',
  'loop',
  'scope',
  'leave',
] as const;
const NUMBERS = ['threadIdx', 'blockIdx', 'blockDim', 'gridDim', 'size', 'scalar'] as const;

/** The bytes of a value in four numbers of 32 bits. */
export function valueWords(dtype: DType, value: Parameters<typeof scalarBytes>[1]): number[] {
  const bytes = new Uint8Array(16);
  bytes.set(scalarBytes(dtype, value));
  return [...new Uint32Array(bytes.buffer)];
}

/** Text by its length and its characters. */
const textWords = (text: string): number[] => [text.length, ...[...text].map((c) => c.charCodeAt(0))];

export function encodeProgram(program: KernelProgram): number[] {
  const encoder = new Encoder(program);
  const body = encoder.list(program.body);
  const { arrays, scopes } = program;
  return [
    encoder.registers.length,
    ...encoder.registers.map(dtypeCode),
    arrays.length,
    ...arrays.flatMap((memory) =>
      memory.kind === 'shared'
        ? [2, memory.size, dtypeCode(memory.dtype)]
        : [memory.kind === 'input' ? 0 : 1, memory.at, dtypeCode(memory.dtype)],
    ),
    scopes,
    ...body,
  ];
}

class Encoder {
  /** Dtypes of the registers, those of the program and some between casts. */
  readonly registers: DType[];

  constructor({ registers }: KernelProgram) {
    this.registers = [...registers];
  }

  /** The number of instructions, then each. */
  list(instructions: readonly KernelInstruction[]): number[] {
    let count = 0;
    const words = instructions.flatMap((instruction) => {
      const own = this.#encoded(instruction);
      count += own.length;
      return own.flat();
    });
    return [count, ...words];
  }

  #encoded(instruction: KernelInstruction): number[][] {
    const kind = KINDS.indexOf(instruction.kind);
    switch (instruction.kind) {
      case 'map': {
        const { op, to, args } = instruction;
        return [[kind, to, ...textWords(op), args.length, ...args]];
      }
      case 'cast':
        return this.#casts(instruction.from, instruction.to);
      case 'const':
        return [[kind, instruction.to, ...valueWords(this.registers[instruction.to]!, instruction.value)]];
      case 'number':
        return [[kind, instruction.to, ...numberWords(instruction.number)]];
      case 'copy':
        return [[kind, instruction.to, instruction.from]];
      case 'read':
        return [[kind, instruction.to, instruction.array, instruction.index, ...placeWords(instruction)]];
      case 'write':
        return [[kind, instruction.array, instruction.index, instruction.from, ...placeWords(instruction)]];
      case 'atomic': {
        const { name, to, array, index, from, compare = -1 } = instruction;
        return [
          [kind, ATOMICS.indexOf(name), to, array, index, from, compare + 1, ...placeWords(instruction)],
        ];
      }
      case 'bound':
        return [[kind, instruction.index, instruction.size, ...placeWords(instruction)]];
      case 'sync':
        return [[kind, ...placeWords(instruction)]];
      case 'warp': {
        const { name, to, mask = -1, from = -1, lane = -1, width = 32 } = instruction;
        const operands = [mask, from, lane].map((register) => register + 1);
        return [[kind, WARP_FUNCTIONS.indexOf(name), to, ...operands, width, ...placeWords(instruction)]];
      }
      case 'if': {
        const { condition, yes, no } = instruction;
        return [[kind, condition, ...this.list(yes), ...this.list(no)]];
      }
      case 'loop': {
        const { test, condition, body, update, next, end } = instruction;
        return [[kind, condition, next, end, ...[test, body, update].flatMap((list) => this.list(list))]];
      }
      case 'scope':
        return [[kind, instruction.id, ...this.list(instruction.body)]];
      case 'leave':
        return [[kind, instruction.id]];
    }
  }

  #casts(from: number, to: number): number[][] {
    const hops = castHops(this.registers[from]!, this.registers[to]!);
    if (hops.length === 0) return [[KINDS.indexOf('copy'), to, from]];
    let at = from;
    return hops.map((dtype, k) => {
      const next = k === hops.length - 1 ? to : this.registers.push(dtype) - 1;
      const words = [KINDS.indexOf('cast'), next, at];
      at = next;
      return words;
    });
  }
}

const placeWords = ({ line, column }: { readonly line: number; readonly column: number }): number[] => [
  line,
  column,
];

function numberWords(number: KernelNumber): number[] {
  const kind = NUMBERS.indexOf(number.of);
  if (number.of === 'scalar') return [kind, number.at, 0];
  return number.of === 'size' ? [kind, number.array, number.axis + 1] : [kind, number.axis, 0];
}
