/** Prints how the CPU runs a kernel: blocks, loops and sections of its tape, for golden files. */
import { planTape } from '../../src/codegen/cpu/tape.js';
import { type Loop, laneKindOf } from '../../src/codegen/cpu/tape-blocking.js';
import type { TapePlan } from '../../src/codegen/cpu/tape-plan.js';
import type { Section, TapeOp } from '../../src/codegen/cpu/tape-registers.js';
import { opOf, reductionOf } from '../../src/fusion/kernel/arithmetic.js';
import { argumentsOf, formOf, type Instruction, type Kernel } from '../../src/fusion/kernel/kernel.js';
import { printKernel } from '../../src/fusion/kernel/print.js';

const values = (ids: readonly number[]): string => ids.map((id) => `%${id}`).join(' ');
const or = (wanted: boolean, text: string): string => (wanted ? `, ${text}` : '');
const loop = ({ axis, count, role }: Loop): string => `axis ${axis} ${count} × ${role}`;
const loopList = (loops: readonly Loop[]): string => loops.map(loop).join(', ') || 'none';

/** The operation of an instruction: an op or a reduction of the tables, else its kind. */
export const nameOf = (i: Instruction): string => opOf(i) ?? reductionOf(i) ?? formOf(i).kind;

export function printTape(kernel: Kernel): string {
  const plan = planTape(kernel);
  const { blocking, loops, schedule, triangle } = plan;
  const { tiles, walks } = loops;
  const lines = [
    `blocks of ${blocking.rows} rows × ${blocking.width} lanes, ${laneKindOf(plan.kernel, blocking)}`,
    `tiles: ${loopList(tiles)}; walks: ${loopList(walks)}`,
    ...(triangle === undefined
      ? []
      : [`squares of ${triangle.side}² on and above the diagonal of axes ${triangle.axes.join(' and ')}`]),
    `registers: ${schedule.rowByteLength} bytes a row, ${schedule.blockByteLength} bytes a block; ` +
      `slots of ${schedule.slotBlocks} blocks${or(schedule.keepsBlock, 'the block is kept')}`,
  ];
  schedule.rowSections.forEach((section, k) => {
    const isAcross = schedule.across !== undefined && k === schedule.walks.length;
    lines.push(...printSection(`rows ${k}${or(isAcross, 'as lanes')}`, section, plan));
    if (k < schedule.walks.length) lines.push(...printSection(`walk ${k}`, schedule.walks[k]!, plan));
  });
  return `${printKernel(plan.kernel)}tape\n${lines.map((line) => `  ${line}`).join('\n')}\n`;
}

const printSection = (name: string, section: Section, plan: TapePlan): string[] => [
  `${name}:`,
  ...section.flatMap((op) => printOp(op, plan)).map((line) => `  ${line}`),
];

function printOp(op: TapeOp, plan: TapePlan): string[] {
  switch (op.kind) {
    case 'store':
      return [`store ${op.store}`];
    case 'chain':
      return printChain(op, plan);
    case 'value':
      return [printValue(op, plan)];
  }
}

function printValue(op: Extract<TapeOp, { kind: 'value' }>, { kernel, schedule }: TapePlan): string {
  const { value, offset, direct, prefetch, isKept, hasEdges } = op;
  const instruction = kernel.tape[value]!;
  const fused = schedule.fusion.functions.get(value);
  const name = fused?.name ?? nameOf(instruction);
  const from = values(fused?.args ?? argumentsOf(instruction));
  const place = offset < 0 ? 'row register' : `at ${offset}`;
  return (
    `%${value} = ${name}${from === '' ? '' : ` ${from}`}, ${place}${or(direct >= 0, `straight to store ${direct}`)}` +
    or(prefetch >= 0, `prefetches %${prefetch}`) +
    or(isKept, 'kept') +
    or(hasEdges, 'edges alone')
  );
}

function printChain(op: Extract<TapeOp, { kind: 'chain' }>, { kernel }: TapePlan): string[] {
  const { chain, offsets, directs, edges, reducedOffsets } = op;
  const outputs = chain.outputs.map((output, k) => {
    const direct = directs[k]!;
    return `  %${output} at ${offsets[k]}${or(direct >= 0, `straight to store ${direct}`)}${or(edges[k]!, 'edges alone')}`;
  });
  const reductions = chain.reductions.map((position, k) => {
    const reduce = kernel.tape[position]!;
    return `  %${position} = ${nameOf(reduce)} ${values(argumentsOf(reduce))}, at ${reducedOffsets[k]}`;
  });
  const steps = chain.steps.map(
    ({ name, operands }) => `  ${name} ${operands.map(({ kind, index }) => `${kind} ${index}`).join(', ')}`,
  );
  return [`chain of ${values(chain.inputs)} with ${chain.slots} slots`, ...steps, ...outputs, ...reductions];
}
