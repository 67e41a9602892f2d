/**
 * Loops of elements as device functions: their states are parameters, which each step assigns. A kernel calls one
 * where the instruction stands, and takes the states that it needs from the result.
 */
import { createHash } from 'node:crypto';
import { CUDA_TYPE } from '../../graph/cuda-expressions.js';
import { dtypeAt } from '../../graph/element-loop.js';
import type { ElementLoop, ElementStep } from '../../graph/loop-step.js';
import { opRow } from '../../graph/ops.js';
import { castExpression } from './casts.js';
import { cudaFunctionName } from './cuda-functions.js';
import { scalarLiteral } from './literals.js';
import { Writer } from './writer.js';

/** The function of a loop: its name follows from what it does, so that equal ones are one. */
export const loopName = (loop: ElementLoop): string =>
  `weft_loop_${createHash('sha256').update(loop.key).digest('hex').slice(0, 16)}`;

/** Definitions of the functions of some loops and of those in them, each once. */
export function loopFunctions(loops: Iterable<ElementLoop>): string {
  const made = new Map<string, string>();
  const add = (loop: ElementLoop): void => {
    for (const value of loop.values) if (value.kind === 'repeat') add(value.loop);
    const name = loopName(loop);
    if (!made.has(name)) made.set(name, define(loop, name));
  };
  for (const loop of loops) add(loop);
  return [...made.values()].join('');
}

function define(loop: ElementLoop, name: string): string {
  const out = new Writer();
  const { next } = loop;
  const states = next.map((_, k) => `${CUDA_TYPE[dtypeAt(loop, k)]} s${k};`);
  out.line(`struct ${name}_states { ${states.join(' ')} };`);
  const parameters = loop.arguments.map((dtype, k) => `${CUDA_TYPE[dtype]} v${k}`);
  out.block(`__device__ __forceinline__ ${name}_states ${name}(${parameters.join(', ')})`, () => {
    out.block('for (;;)', () => {
      printStepValues(out, loop, 0, loop.conditionLength);
      out.line(`if (!v${loop.condition}) break;`);
      printStepValues(out, loop, loop.conditionLength, loop.values.length);
      // All are read before one is assigned.
      next.forEach((at, k) => {
        if (at !== k) out.line(`const ${CUDA_TYPE[dtypeAt(loop, k)]} n${k} = v${at};`);
      });
      next.forEach((at, k) => {
        if (at !== k) out.line(`v${k} = n${k};`);
      });
    });
    out.line(`return {${next.map((_, k) => `v${k}`).join(', ')}};`);
  });
  return `${out.toString()}\n`;
}

/** Declares values of a step; arguments stand before them in `v0 …`. */
export function printStepValues(out: Writer, step: ElementStep, first: number, last: number): void {
  for (let k = first; k < last; k++)
    out.line(
      `const ${CUDA_TYPE[step.values[k]!.dtype]} v${step.arguments.length + k} = ${expression(step, k)};`,
    );
}

function expression(step: ElementStep, k: number): string {
  const value = step.values[k]!;
  const args = value.args.map((arg) => `v${arg}`);
  switch (value.kind) {
    case 'map':
      return opRow(value.op).cuda(args, dtypeAt(step, value.args.at(-1)!));
    case 'cast':
      return castExpression(args[0]!, dtypeAt(step, value.args[0]), value.dtype);
    case 'const':
      return scalarLiteral(value.dtype, value.value);
    case 'repeat':
      return `${loopName(value.loop)}(${args.join(', ')}).s${value.result}`;
    case 'function':
      return `${cudaFunctionName(value.function)}(${args.join(', ')}).s${value.result}`;
  }
}
