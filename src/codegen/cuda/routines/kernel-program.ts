/**
 * Prints the program of a user's kernel as CUDA C: a variable for each register, statements in the order of the
 * instructions. A block is left by `goto` where the program says `leave`, so that all variables stand at the top.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import { type DType, isComplex, type Scalar } from '../../../graph/dtype.js';
import type {
  AtomicName,
  KernelInstruction,
  KernelNumber,
  KernelProgram,
} from '../../../graph/kernel-program.js';
import { opRow } from '../../../graph/ops.js';
import { scalarBytes } from '../../../graph/scalar-bytes.js';
import { castExpression, fromStorage, STORAGE_TYPE, toStorage } from '../casts.js';
import { preludeFor } from '../prelude/prelude.js';
import { Writer } from '../writer.js';

export const PROGRAM_NAME = 'user_kernel';

/** The sizes that a program asks for, which are arguments behind arrays and scalars, and before the whole grid's. */
export function sizesIn(program: KernelProgram): Extract<KernelNumber, { of: 'size' }>[] {
  const found: Extract<KernelNumber, { of: 'size' }>[] = [];
  for (const instruction of program.body)
    if (instruction.kind === 'number' && instruction.number.of === 'size') found.push(instruction.number);
  return found;
}

/** `cutAxis`: the axis of the grid along which parts begin at an argument. */
export function printProgram(program: KernelProgram, cutAxis: 'x' | 'y'): string {
  const printer = new ProgramPrinter(program, cutAxis);
  const text = printer.print();
  const helpers = [...printer.helpers].map((name) => HELPERS[name]!).join('');
  return `${preludeFor(text)}${helpers}${text}`;
}

/** Atomic operations that CUDA lacks for floats, by compare and swap. NaN wins, as in `Math.min`. */
const swapped = (name: string, type: string, word: string, to: string, from: string, wins: string): string =>
  `__device__ ${type} ${name}(${type}* at, ${type} value) {
  ${word}* const bits = (${word}*)at;
  ${word} before = *(volatile ${word}*)bits, seen;
  do {
    seen = before;
    const ${type} old = ${from}(seen);
    if (old != old || !(${wins} || value != value)) break;
    before = atomicCAS(bits, seen, ${to}(value));
  } while (before != seen);
  return ${from}(seen);
}
`;
/** `redux.sync` came with compute capability 8.0; before, each lane goes through the values of all that are there. */
const reduced = (name: string, combined: string): string => `template <class T>
__device__ T weft_reduce_${name}(unsigned int mask, T value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return (T)__reduce_${name}_sync(mask, ${BITWISE.includes(name) ? '(unsigned int)' : ''}value);
#else
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int behind = blockDim.x * blockDim.y * blockDim.z - thread / 32 * 32;
  unsigned int left = behind < 32 ? mask & ((1u << behind) - 1u) : mask;
  T a = __shfl_sync(mask, value, __ffs(left) - 1);
  while ((left &= left - 1u) != 0u) {
    const T b = __shfl_sync(mask, value, __ffs(left) - 1);
    a = ${combined};
  }
  return a;
#endif
}
`;
const BITWISE: readonly string[] = ['and', 'or', 'xor'];
const F32 = ['float', 'int', '__float_as_int', '__int_as_float'] as const;
const WORD = 'unsigned long long';
const HELPERS: Readonly<Record<string, string>> = {
  weft_match_all: `template <class T>
__device__ unsigned int weft_match_all(unsigned int mask, T value) {
  int same;
  return __match_all_sync(mask, value, &same);
}
`,
  weft_reduce_add: reduced('add', '(T)((unsigned int)a + (unsigned int)b)'),
  weft_reduce_min: reduced('min', 'b < a ? b : a'),
  weft_reduce_max: reduced('max', 'a < b ? b : a'),
  weft_reduce_and: reduced('and', 'a & b'),
  weft_reduce_or: reduced('or', 'a | b'),
  weft_reduce_xor: reduced('xor', 'a ^ b'),
  weft_double_bits: `__device__ ${WORD} weft_double_bits(double a) { return (${WORD})__double_as_longlong(a); }
__device__ double weft_bits_double(${WORD} a) { return __longlong_as_double((long long)a); }
`,
  weft_min_float32: swapped('weft_min_float32', ...F32, 'value < old'),
  weft_max_float32: swapped('weft_max_float32', ...F32, 'value > old'),
  weft_min_float64: swapped(
    'weft_min_float64',
    'double',
    WORD,
    'weft_double_bits',
    'weft_bits_double',
    'value < old',
  ),
  weft_max_float64: swapped(
    'weft_max_float64',
    'double',
    WORD,
    'weft_double_bits',
    'weft_bits_double',
    'value > old',
  ),
};

const CUDA_SHUFFLE = {
  shfl: '__shfl_sync',
  shflUp: '__shfl_up_sync',
  shflDown: '__shfl_down_sync',
  shflXor: '__shfl_xor_sync',
} as const;

const CUDA_ATOMIC: Readonly<Record<AtomicName, string>> = {
  add: 'atomicAdd',
  min: 'atomicMin',
  max: 'atomicMax',
  and: 'atomicAnd',
  or: 'atomicOr',
  xor: 'atomicXor',
  exchange: 'atomicExch',
  compare: 'atomicCAS',
};

const AXES = ['x', 'y', 'z'];

class ProgramPrinter {
  /** Names of the helpers that the text calls, in order. */
  readonly helpers = new Set<string>();
  readonly #program: KernelProgram;
  readonly #cutAxis: 'x' | 'y';
  readonly #out = new Writer();
  readonly #left: ReadonlySet<number>;

  constructor(program: KernelProgram, cutAxis: 'x' | 'y') {
    this.#program = program;
    this.#cutAxis = cutAxis;
    this.#left = leftIn(program.body);
  }

  print(): string {
    const { arrays, scalars, registers } = this.#program;
    const parameters = [
      'unsigned int first_block',
      ...arrays.flatMap(({ kind, dtype }, k) =>
        kind === 'shared'
          ? []
          : `${kind === 'input' ? 'const ' : ''}${STORAGE_TYPE[dtype]}*${kind === 'input' ? ' __restrict__' : ''} a${k}`,
      ),
      ...scalars.map((dtype, k) => `${STORAGE_TYPE[dtype]} n${k}`),
      ...sizesIn(this.#program).map((_, k) => `long long size${k}`),
      'unsigned int grid_x, unsigned int grid_y, unsigned int grid_z',
    ];
    this.#out.block(`extern "C" __global__ void ${PROGRAM_NAME}(${parameters.join(', ')})`, () => {
      for (const [k, memory] of arrays.entries())
        if (memory.kind === 'shared')
          this.#out.line(`__shared__ ${STORAGE_TYPE[memory.dtype]} a${k}[${memory.size}];`);
      for (const [k, dtype] of registers.entries()) this.#out.line(`${CUDA_TYPE[dtype]} v${k};`);
      this.#list(this.#program.body);
    });
    return this.#out.toString();
  }

  #list(list: readonly KernelInstruction[]): void {
    for (const instruction of list) this.#instruction(instruction);
  }

  #dtype(register: number): DType {
    return this.#program.registers[register]!;
  }

  #instruction(instruction: KernelInstruction): void {
    const out = this.#out;
    switch (instruction.kind) {
      case 'bound':
        return;
      case 'sync':
        out.line('__syncthreads();');
        return;
      case 'warp':
        out.line(
          instruction.name === 'sync'
            ? `__syncwarp(v${instruction.mask});`
            : `v${instruction.to} = ${this.#warp(instruction)};`,
        );
        return;
      case 'write': {
        const { array, index, from } = instruction;
        out.line(`a${array}[v${index}] = ${toStorage(this.#dtype(from), `v${from}`)};`);
        return;
      }
      case 'if':
        out.block(`if (v${instruction.condition})`, () => this.#list(instruction.yes));
        if (instruction.no.length > 0) out.block('else', () => this.#list(instruction.no));
        return;
      case 'loop': {
        const { test, condition, body, update, next, end } = instruction;
        out.block('for (;;)', () => {
          this.#list(test);
          out.line(`if (!v${condition}) break;`);
          this.#list(body);
          this.#label(next);
          this.#list(update);
        });
        this.#label(end);
        return;
      }
      case 'scope':
        out.block('', () => this.#list(instruction.body));
        this.#label(instruction.id);
        return;
      case 'leave':
        out.line(instruction.id === 0 ? 'return;' : `goto end_${instruction.id};`);
        return;
      default:
        out.line(`v${instruction.to} = ${this.#expression(instruction)};`);
        return;
    }
  }

  #label(id: number): void {
    if (this.#left.has(id)) this.#out.line(`end_${id}:;`);
  }

  #expression(instruction: Exclude<Extract<KernelInstruction, { to: number }>, { kind: 'warp' }>): string {
    const { to } = instruction;
    switch (instruction.kind) {
      case 'map': {
        const { op, args } = instruction;
        return opRow(op).cuda(
          args.map((arg) => `v${arg}`),
          this.#dtype(args.at(-1)!),
        );
      }
      case 'cast':
        return castExpression(`v${instruction.from}`, this.#dtype(instruction.from), this.#dtype(to));
      case 'const':
        return literal(this.#dtype(to), instruction.value);
      case 'copy':
        return `v${instruction.from}`;
      case 'number':
        return `(${CUDA_TYPE[this.#dtype(to)]})${this.#number(instruction.number)}`;
      case 'read':
        return fromStorage(this.#dtype(to), `a${instruction.array}[v${instruction.index}]`);
      case 'atomic':
        return this.#atomic(instruction);
    }
  }

  #number(number: KernelNumber): string {
    switch (number.of) {
      case 'blockIdx': {
        const axis = AXES[number.axis]!;
        return axis === this.#cutAxis ? `(blockIdx.${axis} + first_block)` : `blockIdx.${axis}`;
      }
      case 'gridDim':
        return `grid_${AXES[number.axis]}`;
      case 'scalar':
        return fromStorage(this.#program.scalars[number.at]!, `n${number.at}`);
      case 'size':
        return `size${sizesIn(this.#program).findIndex((each) => each.array === number.array && each.axis === number.axis)}`;
      default:
        return `${number.of}.${AXES[number.axis]}`;
    }
  }

  #warp({ name, mask, from, lane, width }: Extract<KernelInstruction, { kind: 'warp' }>): string {
    switch (name) {
      case 'shfl':
      case 'shflUp':
      case 'shflDown':
      case 'shflXor':
        return `${CUDA_SHUFFLE[name]}(v${mask}, v${from}, v${lane}, ${width})`;
      case 'matchAll':
        this.helpers.add('weft_match_all');
        return `weft_match_all(v${mask}, v${from})`;
      case 'activemask':
        return '__activemask()';
      case 'ballot':
      case 'any':
      case 'all':
        return `__${name}_sync(v${mask}, v${from})`;
      case 'matchAny':
        return `__match_any_sync(v${mask}, v${from})`;
      default: {
        const helper = `weft_reduce_${name.slice('reduce'.length).toLowerCase()}`;
        this.helpers.add(helper);
        return `${helper}(v${mask}, v${from})`;
      }
    }
  }

  #atomic({ name, array, index, from, compare }: Extract<KernelInstruction, { kind: 'atomic' }>): string {
    const dtype = this.#dtype(from);
    const at = `&a${array}[v${index}]`;
    if ((name === 'min' || name === 'max') && dtype.startsWith('float')) {
      if (dtype === 'float64') this.helpers.add('weft_double_bits');
      this.helpers.add(`weft_${name}_${dtype}`);
      return `weft_${name}_${dtype}(${at}, v${from})`;
    }
    const values = compare === undefined ? [from] : [compare, from];
    const call = (word: string, to: (value: string) => string): string =>
      `${CUDA_ATOMIC[name]}((${word}*)${at}, ${values.map((value) => to(`v${value}`)).join(', ')})`;
    if (dtype === 'int64' && name !== 'min' && name !== 'max')
      return `(long long)${call(WORD, (value) => `(${WORD})${value}`)}`;
    if (dtype === 'float64' && name === 'exchange') {
      this.helpers.add('weft_double_bits');
      return `weft_bits_double(${call(WORD, (value) => `weft_double_bits(${value})`)})`;
    }
    return call(CUDA_TYPE[dtype], (value) => value);
  }
}

/** The scopes that something in some instructions leaves. */
function leftIn(list: readonly KernelInstruction[]): Set<number> {
  const found = new Set<number>();
  const visit = (instructions: readonly KernelInstruction[]): void => {
    for (const each of instructions) {
      if (each.kind === 'leave') found.add(each.id);
      if (each.kind === 'scope') visit(each.body);
      if (each.kind === 'if') [each.yes, each.no].forEach(visit);
      if (each.kind === 'loop') [each.test, each.body, each.update].forEach(visit);
    }
  };
  visit(list);
  return found;
}

/** A constant: its bits, so that no value is written otherwise than it is. */
function literal(dtype: DType, value: Scalar): string {
  if (isComplex(dtype)) {
    const { re, im } = value as { re: number; im: number };
    const part = dtype === 'complex64' ? 'float32' : 'float64';
    return `${CUDA_TYPE[dtype]}{${literal(part, re)}, ${literal(part, im)}}`;
  }
  const bytes = scalarBytes(dtype, value);
  const bits = [...bytes].reverse().reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), '0x');
  switch (dtype) {
    case 'bool':
      return value ? 'true' : 'false';
    case 'float32':
      return `__int_as_float(${bits})`;
    case 'float64':
      return `__longlong_as_double(${bits}ll)`;
    case 'float16':
    case 'bfloat16':
      return castExpression(literal('float32', Number(value)), 'float32', dtype);
    default:
      return `(${CUDA_TYPE[dtype]})${bits}${bytes.length === 8 ? 'ull' : 'u'}`;
  }
}
