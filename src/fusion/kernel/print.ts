/**
 * Prints a kernel as text: domain, buffers, tape with levels and phases, stores. Golden files and `explain()`
 * use it.
 */
import { formatScalar } from '../../graph/format.js';
import type { ElementLoop, ElementStep, StepValue } from '../../graph/loop-step.js';
import { formatBatch } from '../../graph/print.js';
import { givenValue } from '../../graph/runtime-scalar.js';
import {
  type Access,
  type AccessIndex,
  type Affine,
  type Bound,
  formOf,
  type Instruction,
  type Kernel,
} from './kernel.js';
import { levelsOf } from './levels.js';

const AXES = 'ijklmnopqrstuvwxyzabcdefgh';
const axisName = (axis: number): string => AXES[axis] ?? `a${axis}`;

function formatAffine({ offset, strides }: Affine): string {
  const terms = strides.flatMap((stride, axis) => {
    if (stride === 0) return [];
    return [stride === 1 ? axisName(axis) : `${stride} ${axisName(axis)}`];
  });
  if (offset !== 0 || terms.length === 0) terms.push(String(offset));
  return terms.join(' + ');
}

const formatBound = ({ fold, ...bound }: Bound): string =>
  `0 <= ${formatAffine(bound)} < ${bound.size}${fold === undefined ? '' : ` else ${fold.mode} ${fold.stride}`}`;
const formatBounds = (bounds: readonly Bound[]): string =>
  bounds.length === 0 ? '' : ` if ${bounds.map(formatBound).join(' and ')}`;
const formatIndex = (index: AccessIndex | undefined): string =>
  index === undefined ? '' : ` + ${index.stride} %${index.value} of ${index.size}`;
const formatPlace = (place: Affine | undefined): string =>
  place === undefined ? '' : `, taken to ${formatAffine(place)}`;
const formatAccess = (access: Access): string =>
  `b${access.buffer}[${formatAffine(access)}${formatIndex(access.index)}${formatPlace(access.place)}]`;
const formatArgs = (args: readonly number[]): string => args.map((arg) => ` %${arg}`).join('');

/** `while %5; %5 = less %0 %2; %6 = add %0 %1; %0 = %6`; arguments come first. */
const formatLoop = (loop: ElementLoop): string => `while %${loop.condition}; ${formatStep(loop)}`;

function formatStep({ arguments: own, values, next }: ElementStep): string {
  const lines = values.map((value, k) => `%${own.length + k} = ${formatStepValue(value)}`);
  const states = next.flatMap((at, k) => (at === k ? [] : [`%${k} = %${at}`]));
  return [...lines, ...states].join('; ');
}

function formatStepValue(value: StepValue): string {
  switch (value.kind) {
    case 'map':
      return `${value.op}${formatArgs(value.args)}`;
    case 'cast':
      return `cast${formatArgs(value.args)}`;
    case 'const':
      return `const ${formatScalar(value.value)}`;
    case 'repeat':
      return `repeat${formatArgs(value.args)}, state ${value.result} of { ${formatLoop(value.loop)} }`;
    case 'function':
      return formatCuda(value);
  }
}

const formatCuda = ({ function: own, result, args }: Extract<StepValue, { kind: 'function' }>): string =>
  `function${formatArgs(args)}, result ${result} of ${own.operation.file}`;

function formatInstruction(instruction: Instruction): string {
  const i = formOf(instruction);
  switch (i.kind) {
    case 'load':
      return `load ${formatAccess(i.access)}${formatBounds(i.access.bounds)}`;
    case 'const':
      return `const ${formatScalar(givenValue(i.value))}`;
    case 'index':
      return `index ${formatAffine(i.affine)}`;
    case 'inside':
      return `inside${formatBounds(i.bounds)}`;
    case 'map':
      return `${i.op}${formatArgs(i.args)}`;
    case 'cast':
      return `cast${formatArgs(i.args)}`;
    case 'repeat':
      return `repeat${formatArgs(i.args)}, state ${i.result} of { ${formatLoop(i.loop)} }`;
    case 'function':
      return formatCuda(i);
    case 'reduce':
      if (i.monoid === undefined) return `reduce ${i.reduction}${formatArgs(i.args)}${formatBatch(i)}`;
      return `reduce monoid${formatArgs(i.args)}${formatBatch(i)}, part ${i.monoid.part} of { ${formatStep(i.monoid.of.combine)} }`;
  }
}

export function printKernel(kernel: Kernel): string {
  const { element, phase, phases } = levelsOf(kernel);
  const axes = (sizes: readonly number[], first: number): string =>
    sizes.map((n, k) => `${axisName(first + k)}: ${n}`).join(', ');
  const lines = [`kernel ${kernel.name}`];
  lines.push(
    `  parallel [${axes(kernel.parallel, 0)}] reduced [${axes(kernel.reduced, kernel.parallel.length)}]`,
  );
  kernel.buffers.forEach((buffer, k) => {
    const windows = buffer.isTakenInWindows === true ? ' in windows of indices' : '';
    lines.push(`  ${buffer.role} b${k}: ${buffer.dtype} x ${buffer.elementCount}${windows}`);
  });
  kernel.tape.forEach((i, k) => {
    const level = kernel.reduced.length === 0 ? '' : element[k] ? 'element' : 'row';
    const note = level === '' ? '' : `  ; ${level}${phases > 1 ? ` ${phase[k]}` : ''}`;
    lines.push(`  %${k} = ${formatInstruction(i)} : ${i.dtype}${note}`);
  });
  for (const store of kernel.stores) lines.push(`  store ${formatAccess(store.access)} = %${store.value}`);
  return `${lines.join('\n')}\n`;
}
